"""opcache: what it keeps, how it checks, what it preloads. The JIT is beside (jit.py)."""

from typing import Any

from phpdyno.knobs import proof, proof_opcache
from phpdyno.knobs.contrast import code_moved, other_table
from phpdyno.knobs.domain import BITS, BOOLEAN, TEXT, Domain, integer
from phpdyno.knobs.knob import Knob
from phpdyno.model.facts import HostFacts, OpcacheFacts, WorkerFacts

MANUAL = "PHP manual: OPcache, Runtime Configuration"
SOURCE = "php-src: ext/opcache"
STALE_CODE = "a deployment needs a reload of php-fpm, else old code is served"
TIGHT = 0.2
"""Less than this share free, and the value may be what hurts."""
SIMPLE = "the worker reports the value, and opcache is on"
_MIB = 1 << 20


def _opcache(name: str, domain: Domain, risk: str = "", **more: Any) -> Knob:
    options = {"seen": SIMPLE, "reference": MANUAL, **more}
    return Knob(f"ini.{name}", domain, "restart", options.pop("proof", None) or proof.with_opcache(name, domain), risk, **options)


def _switch(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """On, where the control runs without: nobody who has it is helped by none."""
    return ("1",) if facts.opcache is None else ()


def more_memory(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Twice and four times of what the control has, in MiB, where that is short or full; else more
    of it changes nothing."""
    status = facts.opcache
    if status is None:
        return ()
    total = status.used_bytes + status.free_bytes + status.wasted_bytes
    return _larger(facts, "opcache.memory_consumption") if status.full or status.restarts or status.free_bytes < TIGHT * total else ()


def more_strings(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Twice and four times, where the buffer is short: a string that does not fit in is kept by
    each worker for itself."""
    status = facts.opcache
    short = status is not None and status.strings_bytes > 0 and status.strings_free_bytes < TIGHT * status.strings_bytes
    return _larger(facts, "opcache.interned_strings_buffer", most=4095) if short else ()


def more_files(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Twice and four times, where the table is nearly full."""
    status = facts.opcache
    short = status is not None and status.keys > (1 - TIGHT) * status.most_keys > 0
    return _larger(facts, "opcache.max_accelerated_files", most=1_000_000) if short else ()


def _larger(facts: WorkerFacts, name: str, *, most: int = 1 << 16) -> tuple[str, ...]:
    now = facts.ini.get(name, "")
    return tuple(str(int(now) * factor) for factor in (2, 4) if int(now) * factor <= most) if now.isdecimal() and int(now) else ()


def _huge_code(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Where there are huge pages of either kind to move the code to. Apache's own code is left
    where it is."""
    there = host.hugetlb_pages > 0 or host.thp in {"always", "madvise"}
    return ("1",) if there and not facts.exe.endswith("/apache2") else ()


def pages_for(opcache: OpcacheFacts | None, text_kib: int, instances: int, *, huge_kib: int = 2048) -> int:
    """Reserved huge pages that so many instances take: opcache's shared memory and the JIT's
    buffer, which try them first and take all or none, and the program's code. Workers share their
    master's.
    """
    jit = opcache.jit.buffer_size_bytes if opcache and opcache.jit else 0
    shared = (opcache.used_bytes + opcache.free_bytes + opcache.wasted_bytes + jit) if opcache else 0
    return instances * (-(-shared // (huge_kib << 10)) + -(-text_kib // huge_kib))


OPCACHE = (
    Knob(
        "ini.opcache.enable",
        BOOLEAN,
        "restart",
        proof.opcache_switch,
        seen="scripts are cached and there were hits; off: the worker has no opcache status",
        tries=_switch,
        promise="much",
        untried="tried where the control runs without",
        price="opcache.memory_consumption, once per pool",
        reference=MANUAL,
    ),
    _opcache(
        "opcache.memory_consumption",
        integer(8, 1 << 16),
        proof=proof_opcache.memory,
        seen="used, free and wasted memory make up the value",
        tries=more_memory,
        promise="much",
        untried="tried where the control's is short, full, or was restarted",
        price=lambda value: int(value) << 10,
    ),
    _opcache(
        "opcache.interned_strings_buffer",
        integer(0, 4095),
        proof=proof_opcache.interned_strings,
        seen="the buffer has that size, less its hash table (an eighth to a quarter)",
        tries=more_strings,
        promise="much",
        untried="tried where less than a fifth of the control's is free",
        price="part of opcache.memory_consumption",
    ),
    _opcache(
        "opcache.max_accelerated_files",
        integer(200, 1_000_000),
        proof=proof_opcache.table_of_files,
        contrast=other_table,
        seen="the table holds as many keys or more, and not as many as the control's: values are rounded up to a few primes",
        tries=more_files,
        promise="much",
        untried="tried where more than four fifths of the control's table are taken",
        price="part of opcache.memory_consumption",
    ),
    _opcache("opcache.validate_timestamps", BOOLEAN, STALE_CODE, tries=("0",)),
    _opcache(
        "opcache.revalidate_freq",
        integer(0, 1 << 31),
        "old code is served for that many seconds",
        untried="validate_timestamps=0 saves more than any number of seconds, and one of the two has no effect beside the other",
    ),
    _opcache("opcache.revalidate_path", BOOLEAN, untried="off is the default and the cheaper one"),
    _opcache("opcache.enable_file_override", BOOLEAN, "file_exists() sees deleted scripts in the cache", tries=("1",), promise="little"),
    _opcache(
        "opcache.save_comments",
        BOOLEAN,
        "code that reads doc comments (annotations) breaks",
        untried="it saves memory, not time, and breaks code on pages that nobody asked for here",
    ),
    _opcache(
        "opcache.optimization_level",
        BITS,
        "passes that are off by default are not safe for every code",
        untried="the default has all passes that are safe",
        reference=f"{MANUAL}; {SOURCE}, list of optimizer passes",
    ),
    _opcache(
        "opcache.huge_code_pages",
        BOOLEAN,
        "profilers and debuggers lose the symbols of the code that was moved",
        contrast=code_moved,
        seen="more code on huge pages in the worker than in the control's. php-fpm 8.2 of Debian has 3.1 MiB of code: one page of 2 MiB, "
        "or none where the address space was drawn badly. Of a program that BOLT laid out it is the code that was left in place",
        tries=_huge_code,
        drawn=True,
        untried="tried where the host has huge pages, reserved or transparent; not in Apache, where it is not heeded",
        price="the code once per pool, in pages of 2 MiB",
        reference=f"{MANUAL}; {SOURCE}, huge code pages",
    ),
    _opcache(
        "opcache.preload",
        TEXT,
        "preloaded code changes with a restart of php-fpm only; a class that is declared conditionally may be declared at once",
        proof=proof_opcache.preload,
        seen="the number of preloaded scripts; none where the value is empty",
        least_php=(7, 4),
        untried="its script is made for the app, see phpdyno tune",
        price="part of opcache.memory_consumption, and the workers' memory for linked classes",
        reference="PHP manual: OPcache, Preloading",
    ),
)
