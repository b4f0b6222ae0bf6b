"""The operator's own running pool as settings of an arm: what is taken over, what is left out and why, what stays a secret."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from phpdyno.config.fpm_conf import GLOBAL, Entry, read_fpm_conf
from phpdyno.config.nearest import suggestion
from phpdyno.config.spec import LIVE, NONE
from phpdyno.errors import DynoError, UsageError
from phpdyno.knobs.catalogue import POOL_NAMES
from phpdyno.knobs.secrets import is_secret
from phpdyno.stack.extensions import loaded_name
from phpdyno.stack.live_master import LiveMaster, live_masters
from phpdyno.stack.php import fpm_prefix

PHP_KEYS = ("php_value", "php_flag", "php_admin_value", "php_admin_flag")
OF_THE_SERVERS = "our servers have an account, a socket and a directory of their own"
WRITES = "it writes where your site writes"
WATCHES = "it watches production and changes no answer"
LEFT_OUT = {
    **dict.fromkeys(("user", "group", "chroot", "chdir", "prefix", "listen", "apparmor_hat"), OF_THE_SERVERS),
    **dict.fromkeys(("access.log", "access.format", "access.suppress_path", "slowlog", "request_slowlog_trace_depth"), WRITES),
    **dict.fromkeys(("pm.status_path", "pm.status_listen", "ping.path", "ping.response", "request_slowlog_timeout"), WATCHES),
    **dict.fromkeys(("request_terminate_timeout", "request_terminate_timeout_track_finished"), "a request cut short is no valid one"),
    **dict.fromkeys(("catch_workers_output", "decorate_workers_output"), "ours always tell us what workers say"),
}
"""Pool directives that are named but not taken over, with the reason. What is missing here gets UNKNOWN."""
UNKNOWN = "phpdyno has no such setting"
OURS_TO_WRITE = frozenset(
    {"error_log", "session.save_path", "session.save_handler", "sendmail_path", "mail.log", "upload_tmp_dir", "sys_temp_dir"}
    | {"soap.wsdl_cache_dir", "opcache.file_cache", "opcache.error_log", "opcache.lockfile_path", "xdebug.output_dir", "newrelic.logfile"}
)
OF_THE_PROCESS = re.compile(r"LD_PRELOAD|LD_LIBRARY_PATH|GLIBC_TUNABLES|MALLOC_\w+|MIMALLOC_\w+|USE_ZEND_ALLOC\w*|OPENSSL_CONF|TZ|LC_\w+")
"""Variables of the master that act on the process itself, whatever the pool lets its workers see; none of them is a secret."""
OF_THE_SESSION = re.compile(
    r"PATH|HOME|PWD|OLDPWD|USER|LOGNAME|SHELL|SHLVL|TERM|_|LANG|HOSTNAME|PHPRC|PHP_INI_SCAN_DIR|FPM_SOCKETS|SUDO_\w+|SSH_\w+|XDG_\w+"
    r"|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_\w+|SYSTEMD_\w+|MEMORY_PRESSURE_\w+|MAINPID|TMPDIR"
)


class LivePool(Struct, frozen=True):
    """A running pool as an arm's settings. `left_out` names what was not taken over, with the reason; `notes` are in words.

    `secrets` are the values behind the markers `live:POOL` in `settings`, by full setting name: for a starting instance only.
    """

    selector: str
    settings: dict[str, str]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    secrets: dict[str, str] = field(default_factory=dict)

    def in_words(self) -> tuple[str, ...]:
        """Every note, what was left out first, one line for each reason."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            reasons.setdefault(reason, []).append(name)
        return (
            *(f"not taken over from the pool {self.selector}: {', '.join(names)} ({why})" for why, names in reasons.items()),
            *self.notes,
        )


def import_pool(selector: str) -> LivePool:
    """The pool that `selector` names: its section, PROGRAM/SECTION or PID/SECTION; '' for the only one. Nothing is touched.

    Raises UsageError (no such pool, more than one) and DynoError (none runs, not readable), each with what to do.
    """
    pools, refused = _pools()
    fitting = [pool for pool in pools if selector in {"", *pool.names}]
    if not fitting and refused:
        raise refused[0]
    if not pools:
        raise DynoError("no php-fpm runs here", where="live", next_step="start it, or give its settings by hand (ini.NAME=…;pool.pm=…)")
    if len(fitting) == 1:
        return _imported(fitting[0], _selector(fitting[0], pools))
    known = ", ".join(_selector(pool, pools) for pool in (fitting or pools))
    if fitting:
        what = f"more than one pool runs: {known}" if not selector else f"more than one pool is called {selector}: {known}"
        raise UsageError(what, where=f"live:{selector}" if selector else "live", next_step=f"name one, as in live:{known.split(', ')[0]}")
    near = suggestion(selector, [_selector(pool, pools) for pool in pools])
    raise UsageError("no such pool runs", where=f"live:{selector}", next_step=near or f"running: {known}")


def secrets_behind(marker: str) -> dict[str, str]:
    """The values that `live:POOL` stands for now, by full setting name. Raises as `import_pool` does."""
    return import_pool(marker.removeprefix(LIVE)).secrets


class _Pool(Struct, frozen=True):
    master: LiveMaster
    section: str
    entries: list[Entry]
    newest_s: float

    @property
    def names(self) -> tuple[str, str, str]:
        """All that it may be called, the shortest first."""
        return self.section, f"{Path(self.master.exe).name}/{self.section}", f"{self.master.pid}/{self.section}"


def _pools() -> tuple[list[_Pool], list[DynoError]]:
    """Every pool that can be read, and why others cannot."""
    masters = live_masters()
    found: list[_Pool] = []
    refused = list(masters.refused)
    for master in masters.found:
        try:
            found += _pools_of(master)
        except DynoError as error:
            refused.append(error)
    return found, refused


def _pools_of(master: LiveMaster) -> Iterator[_Pool]:
    prefix = _option(master.argv or (), "-p", "--prefix")
    sections = read_fpm_conf(master.config, prefix=Path(prefix[0]) if prefix else fpm_prefix(master.exe), env=master.env or {})
    for name, entries in sections.items():
        if name != GLOBAL:
            files = {Path(entry.where.rpartition(":")[0]) for entry in entries}
            newest = max((path.stat().st_mtime for path in files), default=0.0)
            yield _Pool(master, name, [_expanded(entry, name) for entry in entries], newest)


def _expanded(entry: Entry, pool: str) -> Entry:
    return Entry(entry.key, entry.index, entry.value.replace("$pool", pool), entry.where)


def _selector(pool: _Pool, pools: Sequence[_Pool]) -> str:
    """The shortest name that no other pool has."""
    return next((name for name in pool.names if sum(name in other.names for other in pools) == 1), pool.names[-1])


def _imported(pool: _Pool, selector: str) -> LivePool:
    taken = _Taken(selector)
    master = pool.master
    taken.settings["php"] = master.exe
    _take_command_line(taken, master)
    clears = True
    for entry in pool.entries:
        if entry.key in PHP_KEYS:
            _take_php_value(taken, entry)
        elif entry.key == "env":
            value = entry.value
            taken.hide(f"env.{entry.index}", (master.env or {}).get(value[1:], "") if value.startswith("$") else value)
        elif entry.key == "clear_env":
            clears = entry.value == "1"
        elif entry.key in POOL_NAMES:
            taken.settings[f"pool.{entry.key}"] = entry.value
        else:
            taken.left_out[entry.key] = LEFT_OUT.get(entry.key, OF_THE_SERVERS if entry.key.startswith("listen.") else UNKNOWN)
        if entry.key == "listen":
            taken.settings["web.socket"] = "unix" if entry.value.startswith("/") else "tcp"
    _take_environment(taken, master, all_of_it=not clears)
    if pool.newest_s > master.started_s + 1.0:  # the kernel tells the second of its own start only
        taken.notes.append(f"the pool {selector}'s file is newer than its php-fpm: without a reload since, what runs may be older")
    return LivePool(selector, taken.settings, taken.left_out, tuple(taken.notes), taken.secrets)


class _Taken:
    """What has been taken over so far."""

    def __init__(self, selector: str) -> None:
        self.selector = selector
        self.settings: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.notes: list[str] = []
        self.secrets: dict[str, str] = {}

    def hide(self, key: str, value: str) -> None:
        """A setting whose value stays in the running pool."""
        self.settings[key] = LIVE + self.selector
        self.secrets[key] = value


def _take_php_value(taken: _Taken, entry: Entry) -> None:
    """One php_value and its kin: written into our pool as it is in theirs, since an admin value cannot be changed by the app."""
    name = entry.index
    value = ("1" if entry.value == "1" else "0") if entry.key.endswith("flag") else entry.value
    if name in {"extension", "zend_extension"}:
        taken.settings[f"ext.{loaded_name(value)}"] = value
    elif name in OURS_TO_WRITE:
        taken.left_out[f"{entry.key}[{name}]"] = WRITES
    else:
        key = f"pool.{entry.key}[{name}]"
        for kind in PHP_KEYS:
            taken.settings.pop(f"pool.{kind}[{name}]", None)
            taken.secrets.pop(f"pool.{kind}[{name}]", None)
        _put(taken, key, name, value)


def _put(taken: _Taken, key: str, name: str, value: str) -> None:
    if is_secret(name, value):
        taken.hide(key, value)
    else:
        taken.settings[key] = value


def _take_command_line(taken: _Taken, master: LiveMaster) -> None:
    """-c, -n, -d, and where the environment says that ini files lie."""
    argv, env = master.argv or (), master.env or {}
    for place in (*_option(argv, "-c", "--php-ini"), *([env["PHPRC"]] if env.get("PHPRC") else []))[:1]:
        taken.settings["php.ini"] = str(_absolute(master, place))
    if "PHP_INI_SCAN_DIR" in env:
        parts = [str(_absolute(master, part)) if part else "" for part in env["PHP_INI_SCAN_DIR"].split(":")]
        taken.settings["php.scan_dir"] = ":".join(parts) if env["PHP_INI_SCAN_DIR"] else NONE
    if {"-n", "--no-php-ini"} & set(argv):
        taken.settings |= {"php.ini": NONE, "php.scan_dir": NONE}
    for definition in _option(argv, "-d", "--define"):
        name, equals, value = definition.partition("=")
        value = value.strip("\"'") if equals else "1"
        if name in {"extension", "zend_extension"}:
            taken.settings[f"ext.{loaded_name(value)}"] = value
        elif name in OURS_TO_WRITE:
            taken.left_out[f"-d {name}"] = WRITES
        else:
            _put(taken, f"ini.{name}", name, value)
    if master.argv is None:
        what = "what php-fpm was started with cannot be read: if its command line has -c, -d or -n, add php.ini=…, ini.NAME=… by hand"
        taken.notes.append(what)


def _take_environment(taken: _Taken, master: LiveMaster, *, all_of_it: bool) -> None:
    """Of the master's own variables those that act on the process; with clear_env = no the workers see the rest too."""
    if master.env is None:
        taken.notes.append("the environment of php-fpm cannot be read: add what matters by hand (env.NAME=…, php.scan_dir=…)")
        return
    for name, value in master.env.items():
        if f"env.{name}" in taken.settings or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            continue
        if OF_THE_PROCESS.fullmatch(name):
            taken.settings[f"env.{name}"] = value
        elif all_of_it and not OF_THE_SESSION.fullmatch(name):
            taken.hide(f"env.{name}", value)


def _absolute(master: LiveMaster, place: str) -> Path:
    return Path(os.path.normpath(master.cwd / place))


def _option(argv: Sequence[str], short: str, long: str) -> list[str]:
    """Values of an option of php-fpm, given as `-c X`, `-cX`, `--php-ini X` or `--php-ini=X`."""
    values, rest = [], list(argv[1:])
    while rest:
        word = rest.pop(0)
        if word in {short, long} and rest:
            values.append(rest.pop(0))
        elif word.startswith(long + "="):
            values.append(word[len(long) + 1 :])
        elif word.startswith(short) and not word.startswith("--"):
            values.append(word[2:].removeprefix("="))
    return values
