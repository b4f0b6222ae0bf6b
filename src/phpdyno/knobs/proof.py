"""Proof of effect: was a setting seen at work in the running worker? Pure predicates over
WorkerFacts."""

from collections.abc import Callable

from phpdyno.config.ini_syntax import meant
from phpdyno.knobs.domain import BOOLEAN, FALSE, JIT, TEXT, TRUE, Domain, size_bytes
from phpdyno.knobs.hardened import SETTING, without_asked
from phpdyno.model.arm import names_apache
from phpdyno.model.facts import WorkerFacts

Proof = Callable[[WorkerFacts, str], tuple[bool, str]]
"""Takes the facts and the wanted value; gives whether it is at work, and what was read. What needs
the control's facts too is a `contrast` (contrast.py)."""

OPCACHE_OFF = "opcache is off, so this setting does nothing"
FILES_ONLY = "opcache keeps its code only in files (opcache.file_cache_only), so this setting does nothing"
FROM_FILES = frozenset({"opcache.optimization_level", "opcache.validate_timestamps", "opcache.save_comments"})
"""Settings that act without shared memory too (php-src: ext/opcache, `file_cache_compile_file`)."""
CARRIED = "carried-"
"""What the name of an ini file begins with that is a copy of another one without the lines that
load extensions."""


def in_force(name: str, domain: Domain = TEXT) -> Proof:
    """The worker itself reports the wanted ini value; `On` and `1`, `Off` and an empty text are the
    same to PHP."""

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        if name not in facts.ini:
            return False, f"the worker knows no {name}"
        wanted = meant(wanted)
        same = domain.same(facts.ini[name], wanted) or (_is_word(wanted) and BOOLEAN.same(facts.ini[name], wanted))
        return same, f"{name} = {facts.ini[name]!r} in the worker"

    return proof


def disabled(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The worker disables every function of the list, but for those that it is asked with."""
    now, asked = (
        {name.strip() for name in value.split(",") if name.strip()} for value in (facts.ini.get(SETTING, ""), without_asked(wanted))
    )
    return now == asked, f"{len(now)} functions are disabled in the worker"


def _is_word(value: str) -> bool:
    return value.strip().lower() in (TRUE | FALSE) - {"0", "1"}


def with_opcache(name: str, domain: Domain = TEXT) -> Proof:
    """Proves a setting that is in force while opcache is on: without it the setting does
    nothing."""
    inner = in_force(name, domain)

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        if facts.opcache is None and not (name in FROM_FILES and _files_only(facts)):
            return False, why_off(facts)
        return inner(facts, wanted)

    return proof


def why_off(facts: WorkerFacts) -> str:
    """Why a setting of opcache does nothing in a worker that tells nothing of it."""
    return FILES_ONLY if _files_only(facts) else OPCACHE_OFF


def _files_only(facts: WorkerFacts) -> bool:
    """Whether opcache is at work without shared memory, which its own status calls off."""
    on = all(BOOLEAN.canonical(facts.ini.get(f"opcache.{name}", "") or "0") == "1" for name in ("enable", "file_cache_only"))
    return facts.opcache is None and on and bool(facts.ini.get("opcache.file_cache"))


def opcache_switch(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """On: scripts are cached and served from the cache. Off: the worker has no opcache status."""
    if BOOLEAN.canonical(wanted) == "0":
        return facts.opcache is None, "no opcache in the worker" if facts.opcache is None else "opcache is still on"
    if _files_only(facts):
        return True, "opcache keeps its code only in files (opcache.file_cache_only)"
    if facts.opcache is None:
        return False, "no opcache in the worker"
    status = facts.opcache
    return (
        status.scripts > 0 and status.hits > 0,
        f"{status.scripts} scripts cached, {status.hits} hits, mapped {facts.opcache_so or 'statically'}",
    )


def jit_mode(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """On: the JIT is on and has put code into its buffer. Off: it is off."""
    jit = facts.opcache.jit if facts.opcache else None
    running = jit is not None and jit.on
    if JIT.canonical(wanted) in {"off", "disable"}:
        return not running, "the JIT is off" if not running else "the JIT is still on"
    if jit is None or not running:
        size = size_bytes(facts.ini.get("opcache.jit_buffer_size", "0"))
        return False, "the JIT is off: opcache.jit_buffer_size is 0 (add ini.opcache.jit_buffer_size=64M)" if not size else "the JIT is off"
    # Since the start: the JIT places some code of its own in the buffer before it compiles
    # anything.
    compiled = jit.free_at_start_bytes - jit.buffer_free_bytes
    ok, detail = in_force("opcache.jit", JIT)(facts, wanted)
    return ok and compiled > 0, f"{compiled / 1024:.1f} KiB of machine code compiled; {detail}"


def jit_buffer(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The JIT runs with a buffer of about the wanted size (it is rounded to pages)."""
    size = size_bytes(wanted) or 0
    jit = facts.opcache.jit if facts.opcache else None
    if size == 0:
        return jit is None or not jit.on, "no JIT buffer" if jit is None or not jit.on else "the JIT is still on"
    if jit is None or not jit.on:
        return False, "the JIT is off, so its buffer does nothing"
    # What opcache reports leaves out the stubs that it places in the buffer first.
    return size * 0.9 <= jit.buffer_size_bytes <= size * 1.1, f"JIT buffer of {jit.buffer_size_bytes / 1048576:.1f} MiB"


def realpath_cache(name: str, domain: Domain) -> Proof:
    """Proves a setting that is in force while the realpath cache is in use (open_basedir
    switches it off silently)."""
    inner = in_force(name, domain)

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        ok, detail = inner(facts, wanted)
        if facts.realpath_cache_bytes == 0 and size_bytes(facts.ini.get("realpath_cache_size", "0")):
            return False, "the realpath cache holds nothing (open_basedir switches it off)"
        return ok, f"{detail}; {facts.realpath_cache_bytes} bytes in use"

    return proof


def socket_family(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The pool listens on a socket of the wanted family."""
    return facts.socket_family == wanted, f"the pool listens on a {facts.socket_family} socket"


def web_server(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """PHP runs in Apache's own process, or in php-fpm's."""
    in_apache = facts.exe.rpartition("/")[2] == "apache2"
    return in_apache == names_apache(wanted), f"PHP runs in {facts.exe}"


def environment(name: str) -> Proof:
    """The worker's environment holds the value; a preloaded library is mapped, and PHP's huge pages
    are really in use."""

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        if facts.env.get(name) != wanted:
            return False, f"{name}={facts.env.get(name, '(unset)')} in the worker's environment"
        if name == "LD_PRELOAD":
            missing = [path for path in wanted.replace(":", " ").split() if path not in facts.preloaded]
            return not missing, f"not mapped: {', '.join(missing)}" if missing else f"mapped: {', '.join(facts.preloaded)}"
        if name == "USE_ZEND_ALLOC_HUGE_PAGES" and wanted == "1":
            found = facts.anon_huge_kib + facts.hugetlb_kib  # reserved ones, where some are free
            return found > 0, f"{found} KiB of huge pages in the worker"
        return True, f"{name} is set in the worker's environment; what it does there cannot be seen"

    return proof


def executable(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The worker runs the wanted binary."""
    return facts.exe == wanted, f"the worker runs {facts.exe}, PHP {facts.php_version}, build id {facts.build_id or 'unknown'}"


def app_setting(name: str) -> Proof:
    """The worker's environment holds the value that the app reads; whether the app heeds it cannot
    be seen."""

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        if facts.app.get(name) != wanted:
            return False, f"the app's setting {name} is {facts.app.get(name, '(unset)')!r} in the worker's environment"
        return True, f"the app's setting {name} is {wanted!r} in the worker's environment"

    return proof


def commit(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The worker has opened files of this commit's export."""
    if facts.source != wanted:
        return False, f"the worker was given {facts.source[:12] or 'the work tree'} to serve"
    if facts.preloaded_elsewhere:
        return False, f"the worker preloaded {facts.preloaded_elsewhere}, which is not of this commit"
    return facts.served_files > 0, f"the worker knows {facts.served_files} files of commit {wanted[:12]}"


def ini_file(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The worker read this php.ini, or one in this directory; `none`: it read none."""
    read = facts.ini_files[0] if facts.ini_files else ""
    if wanted == "none":
        return not read, f"the worker read {read or 'no php.ini'}"
    return read == wanted or read.rpartition("/")[0] == wanted, f"the worker read {read or 'no php.ini'}"


def scan_dir(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The worker read ini files from each of these directories; `none`: from ours only."""
    places = {path.rpartition("/")[0] for path in facts.ini_files[1:]}
    if wanted == "none":
        return len(places) <= 1, f"ini files scanned in {len(places)} directories"
    missing = [place for place in wanted.split(":") if place and place not in places]
    return not missing, f"nothing read from {', '.join(missing)}" if missing else f"{len(facts.ini_files) - 1} ini files scanned"


def settings_dir(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The worker read copies of this directory's ini files, in which no line loads an extension."""
    read = sum(path.rpartition("/")[2].startswith(CARRIED) for path in facts.ini_files[1:])
    return read > 0, f"{read} ini files of {wanted} read without the extensions that they load"


def accepted(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """Nothing in the worker shows it: php-fpm or nginx accepted the configuration, which is all
    that can be said."""
    return True, f"the server accepted {wanted!r} ({facts.workers} workers run); nothing in the worker shows it"


def extension(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The extension is loaded. Its file's name and the name that it gives itself agree but for
    case, opcache's excepted."""
    name = wanted.rsplit("/", 1)[-1].removesuffix(".so").lower()
    loaded = {known.lower() for known in facts.extensions}
    return name in loaded or (name == "opcache" and "zend opcache" in loaded), f"{len(loaded)} extensions are loaded"


def extension_file(name: str) -> Proof:
    """The worker lists the extension, and exactly the wanted file is mapped; `off`: the worker does
    not list it."""
    called = {name.lower(), f"zend {name.lower()}"}

    def proof(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
        loaded = any(known.lower() in called for known in facts.extensions)
        if wanted == "off":
            return not loaded, f"the extension {name} is {'still loaded' if loaded else 'not loaded'}"
        if not loaded:
            return False, f"the worker has no extension {name}"
        if wanted in facts.mapped_extensions:
            return True, f"{name} is loaded, {wanted} is mapped"
        other = [path for path in facts.mapped_extensions if path.rpartition("/")[2].lower() == f"{name.lower()}.so"]
        return False, f"{name} is loaded from {', '.join(other) or 'elsewhere'}, not from {wanted}"

    return proof
