"""What of a running pool is taken over as settings of an arm, what is left out and why, what stays
a secret."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from phpdyno.config.fpm_conf import ConfEntry, Variables, ini_text
from phpdyno.config.spec import LIVE, NONE
from phpdyno.config.values import is_utf8
from phpdyno.knobs.catalogue import POOL_NAMES
from phpdyno.knobs.secrets import is_secret
from phpdyno.server_files.php import ini_value
from phpdyno.servers.live.masters import LiveMaster
from phpdyno.servers.programs.extensions import loaded_name

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
"""Pool directives that are named but not taken over, with the reason. What is missing here gets
UNKNOWN."""
UNKNOWN = "phpdyno has no such setting"
INI_LEFT_OUT = {
    **dict.fromkeys(("error_log", "session.save_path", "session.save_handler", "sendmail_path", "mail.log", "upload_tmp_dir"), WRITES),
    **dict.fromkeys(("sys_temp_dir", "soap.wsdl_cache_dir", "opcache.file_cache", "opcache.error_log", "opcache.lockfile_path"), WRITES),
    **dict.fromkeys(("xdebug.output_dir", "newrelic.logfile"), WRITES),
    "opcache.restrict_api": "a script of ours asks opcache what it holds",
}
"""Settings of PHP that are named but not taken over, with the reason."""
OF_THE_PROCESS = re.compile(r"LD_PRELOAD|LD_LIBRARY_PATH|GLIBC_TUNABLES|MALLOC_\w+|MIMALLOC_\w+|USE_ZEND_ALLOC\w*|OPENSSL_CONF|TZ|LC_\w+")
"""Variables of the master that act on the process itself, whatever the pool lets its workers see;
none of them is a secret."""
BEFORE_WORKERS = re.compile(r"PHPRC|PHP_INI_SCAN_DIR|LD_\w+|GLIBC_TUNABLES|MALLOC_\w+|MIMALLOC_\w+|USE_ZEND_ALLOC\w*|OPENSSL_CONF")
"""Variables that are heeded when a program starts. A pool gives them to workers that run already;
ours would give them to our php-fpm."""
PRELOADING = frozenset({"opcache.preload", "opcache.preload_user"})
TOO_LATE_TO_PRELOAD = "php-fpm preloads before it has pools"
TOO_LATE = "a worker that runs already does not heed it"
OF_THE_SESSION = re.compile(
    r"PATH|HOME|PWD|OLDPWD|USER|LOGNAME|SHELL|SHLVL|TERM|_|LANG|HOSTNAME|PHPRC|PHP_INI_SCAN_DIR|FPM_SOCKETS|SUDO_\w+|SSH_\w+|XDG_\w+"
    r"|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_\w+|SYSTEMD_\w+|MEMORY_PRESSURE_\w+|MAINPID|TMPDIR"
)


ARGUMENTS = {"c": "php-ini", "d": "define", "g": "pid", "p": "prefix", "y": "fpm-config", "z": "zend-extension"}
FLAGS = {"n": "no-php-ini"}


class Taken:
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

    def put(self, key: str, name: str, value: str) -> None:
        """A php.ini setting. A text that would be a keyword in a file (`"None"`) is asked for like
        a secret: such values are quoted. So is one that no plan can hold."""
        if not is_utf8(value):
            self.notes.append(f"{name} is not UTF-8 text: its value stays in the running pool")
            self.hide(key, value)
        elif is_secret(name, value) or _is_keyword(value):
            self.hide(key, value)
        else:
            self.settings[key] = value

    def drop(self, key: str) -> None:
        """Forget a setting that another one takes the place of."""
        self.settings.pop(key, None)
        self.secrets.pop(key, None)


def _is_keyword(value: str) -> bool:
    """Whether our files would name this value without quotes, and PHP would read another one."""
    return ini_value(value) == value and ini_text(value, Variables({}), where="live") != value


def take_entries(taken: Taken, entries: Sequence[ConfEntry], master: LiveMaster) -> None:
    """The lines of a pool. Of two for the same pool directive the last one counts; php-fpm turns
    its lists of php.ini settings and of variables around, so there the first one does, and an admin
    value counts more than any other.
    """
    clears = [entry.value for entry in entries if entry.key == "clear_env"]
    for entry in entries:
        if entry.key not in {*PHP_KEYS, "env", "clear_env"}:
            _take_directive(taken, entry)
    turned = list(reversed(entries))
    for admin in (False, True):
        for entry in turned:
            if entry.key in PHP_KEYS and entry.key.startswith("php_admin") == admin:
                _take_php_value(taken, entry)
    for entry in turned:
        if entry.key == "env":
            _take_variable(taken, entry, master)
    _take_environment(taken, master, all_of_it=clears[-1:] not in ([], ["1"]))


def _take_directive(taken: Taken, entry: ConfEntry) -> None:
    """A pool directive of php-fpm's own."""
    if entry.key in POOL_NAMES:
        taken.settings[f"pool.{entry.key}"] = entry.value.lower() if entry.key == "pm" else entry.value
    else:
        taken.left_out[entry.key] = LEFT_OUT.get(entry.key, OF_THE_SERVERS if entry.key.startswith("listen.") else UNKNOWN)
    if entry.key == "listen":
        taken.settings["web.socket"] = "tcp" if ":" in entry.value or entry.value.isdecimal() else "unix"


def _take_variable(taken: Taken, entry: ConfEntry, master: LiveMaster) -> None:
    """`env[NAME] = $OTHER` stands for the master's variable."""
    if BEFORE_WORKERS.fullmatch(entry.index):
        taken.left_out[f"env[{entry.index}]"] = TOO_LATE
    else:
        value = entry.value
        taken.hide(f"env.{entry.index}", (master.env or {}).get(value[1:], "") if value.startswith("$") else value)


def _take_php_value(taken: Taken, entry: ConfEntry) -> None:
    """One php_value and its kin: written into our pool as it is in theirs, since an admin value
    cannot be changed by the app."""
    name = entry.index
    value = ("1" if entry.value == "1" else "0") if entry.key.endswith("flag") else entry.value
    if name in {"extension", "zend_extension"}:
        taken.settings[f"ext.{loaded_name(value)}"] = value
    elif name in PRELOADING:
        taken.left_out[f"{entry.key}[{name}]"] = TOO_LATE_TO_PRELOAD
    elif name in INI_LEFT_OUT:
        taken.left_out[f"{entry.key}[{name}]"] = INI_LEFT_OUT[name]
    else:
        key = f"pool.{entry.key}[{name}]"
        for kind in PHP_KEYS:
            taken.drop(f"pool.{kind}[{name}]")
        taken.put(key, name, value)


def take_command_line(taken: Taken, master: LiveMaster, variables: Variables) -> None:
    """-c, -n, -d, and where the environment says that ini files lie."""
    options, env = list(options_of(master.argv or ())), master.env or {}
    given = [value for letter, value in options if letter == "c"]
    if place := (given[-1] if given else env.get("PHPRC", "")):
        taken.settings["php.ini"] = str(_absolute(master, place))
    if "PHP_INI_SCAN_DIR" in env:
        parts = [str(_absolute(master, part)) if part else "" for part in env["PHP_INI_SCAN_DIR"].split(":")]
        taken.settings["php.scan_dir"] = ":".join(parts) if env["PHP_INI_SCAN_DIR"] else NONE
    if any(letter == "n" for letter, _ in options):
        taken.settings |= {"php.ini": NONE, "php.scan_dir": NONE}
    for definition in [value for letter, value in options if letter == "d"]:
        name, equals, text = definition.partition("=")
        value = _defined(name, text, variables) if equals else "1"
        if name in {"extension", "zend_extension"}:
            taken.settings[f"ext.{loaded_name(value)}"] = value
        elif name in INI_LEFT_OUT:
            taken.left_out[f"-d {name}"] = INI_LEFT_OUT[name]
        else:
            taken.drop(f"ini.{name}")
            taken.put(f"ini.{name}", name, value)
    if master.argv is None:
        what = "what php-fpm was started with cannot be read: if its command line has -c, -d or -n, add php.ini=…, ini.NAME=… by hand"
        taken.notes.append(what)


def _defined(name: str, text: str, variables: Variables) -> str:
    """The value of `-d NAME=text`: php-fpm puts quotes around one that does not begin with a
    letter, a digit or a quote."""
    bare = not text or text[0] in "\"'" or (text[0].isascii() and text[0].isalnum())
    return ini_text(text if bare else f'"{text}"', variables, where=f"php-fpm's -d {name}")


def _take_environment(taken: Taken, master: LiveMaster, *, all_of_it: bool) -> None:
    """Take those of the master's own variables that act on the process; with clear_env = no the
    workers see the rest too."""
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


def options_of(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Letter and value ('' without one) of each option: `-c X`, `-cX`, `-Fc X`, `--php-ini X`,
    `--php-ini=X`."""
    rest = list(argv[1:])
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            letter = next((letter for letter, long in (ARGUMENTS | FLAGS).items() if long == name), "")
            if letter in ARGUMENTS and not equals:
                value = rest.pop(0) if rest else ""
            yield letter, value
        elif word.startswith("-"):
            cluster = word[1:]
            while cluster:
                letter, cluster = cluster[0], cluster[1:]
                if letter in ARGUMENTS:
                    yield letter, cluster.removeprefix("=") or (rest.pop(0) if rest else "")
                    break
                yield letter, ""
