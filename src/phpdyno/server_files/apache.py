"""httpd.conf of an arm whose PHP runs in Apache's own processes: one server, MPM prefork,
mod_php."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from phpdyno.config.ini_syntax import meant
from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm, names_apache
from phpdyno.model.workload import Scheme
from phpdyno.server_files.php import POOL_DEFAULTS, pool_values

TRUE = frozenset({"1", "on", "yes", "true"})
NOTHING = "none"
"""What mod_php takes for an empty text; Apache itself refuses an empty argument."""

_MODULES = ("mpm_prefork", "authz_core", "dir", "mime", "alias", "env")
_TYPES = "text/html html|text/css css|application/javascript js|image/png png|image/jpeg jpg jpeg|image/svg+xml svg"
_OWN_INI = re.compile(r"php_(admin_)?(value|flag)\[([A-Za-z0-9_.]+)\]")
_OWN_BACKLOG = "listen.backlog"
_MOST_BACKLOG = 65_535
_AT_START = frozenset({"disable_functions", "disable_classes"})
_LOADING = frozenset({"extension", "zend_extension"})
_FIXED = r"""ErrorLog /proc/self/fd/2
ErrorLogFormat "%M"
LogLevel notice
UseCanonicalName Off
UseCanonicalPhysicalPort Off
AllowEncodedSlashes On
ServerTokens Prod
ServerSignature Off
TraceEnable Off
HostnameLookups Off
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 100
TypesConfig /dev/null
<Directory />
    AllowOverride None
    Require all denied
</Directory>
<LocationMatch "\.php(/|$)">
    FallbackResource disabled
</LocationMatch>
<FilesMatch "\.php$">
    SetHandler application/x-httpd-php
</FilesMatch>
"""
"""Connections are kept as Debian has it. Links are made for the port that the app believes in, as
behind our nginx."""


class PreforkProcesses(Struct, frozen=True):
    """How many processes there may be, how many are started, and of how many idle ones Apache keeps
    between so many and so many."""

    most: int
    start: int
    least_idle: int
    most_idle: int

    @property
    def sure(self) -> int:
        """As many are there at any moment: Apache ends one only where more than `most_idle` are
        idle."""
        return min(self.most, self.start, self.most_idle)


def is_apache(arm: Arm) -> bool:
    """Whether an arm is served by Apache with mod_php."""
    return names_apache(arm.settings.get("web.server", ""))


def of_both_kinds(arms: Iterable[Arm]) -> bool:
    """Whether some of these arms are served by Apache and others by nginx and php-fpm."""
    return len({is_apache(arm) for arm in arms}) > 1


def check_apache(settings: Mapping[str, str], asked: Mapping[str, str], *, where: str) -> None:
    """Raise UsageError for settings of a pool or of nginx that Apache has nothing for.

    Of those that change nothing, only what was `asked` for: a pool that was taken over has a socket
    whatever serves it.
    """

    def refuse(name: str, next_step: str) -> None:
        raise UsageError(f"{name}={settings[name]} means nothing to Apache with mod_php", where=where, next_step=next_step)

    for name, next_step in (
        ("web.socket", "leave it out: PHP runs in the web server itself"),
        ("web.workers", "set pool.pm.max_children: its processes are the workers"),
        ("pool.pm.process_idle_timeout", "leave it out"),
        ("web.fastcgi_keepalive", "leave it out: PHP runs in the web server itself"),
        ("web.fastcgi_buffers", "leave it out: PHP runs in the web server itself"),
        ("web.fastcgi_buffer_size", "leave it out: PHP runs in the web server itself"),
        ("web.access_log", "leave it out: our Apache writes none"),
    ):
        if name in asked:
            refuse(name, next_step)
    for name, harmless, next_step in (
        ("pool.pm", ("static", "dynamic"), "use static or dynamic"),
        ("pool.pm.max_requests", ("0",), "give pool.pm.max_requests=0: Apache counts connections, not requests"),
    ):
        if settings.get(name, harmless[0]) not in harmless:
            refuse(name, next_step)
    if settings.get(f"pool.{_OWN_BACKLOG}") == "0":
        refuse(f"pool.{_OWN_BACKLOG}", "give at least 1")
    for name in settings:
        if name.startswith("pool.php_") and (wrong := _no_setting(name.removeprefix("pool."))):
            refuse(name, wrong)


def _no_setting(name: str) -> str:
    """What to do instead where mod_php has no such setting of a pool; '' where it has."""
    match = _OWN_INI.fullmatch(name)
    if match is None:
        return "write php_admin_value[NAME]"
    return "load it with ext.NAME=PATH" if match[3] in _LOADING else ""


def render_apache(
    *,
    listen: str,
    modules: Path,
    mod_php: Path,
    php_ini: str,
    docroot: Path,
    front_controller: str,
    run: Path,
    probe_path: str,
    probe: Path,
    pool: Mapping[str, str],
    variables: Sequence[str] = (),
    scheme: Scheme = "http",
) -> str:
    """A complete configuration. `listen` is ADDRESS:PORT; `run` holds Apache's own files; `php_ini`
    is the main php.ini, a file.

    `probe` answers at the URL path `probe_path`, which only we know. `variables` are names of the
    environment that PHP finds in $_SERVER as well, as php-fpm hands them over. Raises UsageError
    for what a configuration cannot hold.
    """
    loading = "\n".join(f"LoadModule {name}_module {_quoted(modules / f'mod_{name}.so')}" for name in _MODULES)
    types = "\n".join(f"AddType {line}" for line in _TYPES.split("|"))
    front = quote(front_controller)  # mod_dir takes it for a URL path
    # The scheme and the port that the app believes in: nothing of ours is encrypted.
    name = "https://localhost:443\nSetEnv HTTPS on" if scheme == "https" else "localhost"
    passed = "".join(f"PassEnv {_quoted(name)}\n" for name in variables)
    # CGIPassAuth: nginx tells PHP of an Authorization header as of any other.
    return f"""{loading}
LoadModule php_module {_quoted(mod_php)}
ServerRoot {_quoted(run)}
DefaultRuntimeDir {_quoted(run)}
PidFile {_quoted(run / "apache.pid")}
PHPIniDir {_quoted(php_ini)}
{_processes(pool)}
Listen {listen}
ListenBacklog {_backlog(pool)}
ServerName {name}
{_FIXED}{types}
DirectoryIndex {front} index.html
DocumentRoot {_quoted(docroot)}
<Directory {_quoted(docroot)}>
    Options FollowSymLinks
    Require all granted
    CGIPassAuth On
    FallbackResource /{front}
</Directory>
Alias {_quoted(probe_path)} {_quoted(probe)}
<Directory {_quoted(probe.parent)}>
    Require all granted
</Directory>
{passed}{_own_ini(pool)}"""


def processes_of(pool: Mapping[str, str]) -> PreforkProcesses:
    """A worker of a pool is a process here: all of them from the start (static), or as many as are
    wanted (dynamic)."""
    values = pool_values(pool)
    most = int(values["pm.max_children"])
    if values["pm"] != "dynamic":
        return PreforkProcesses(most, most, most, most)
    return PreforkProcesses(most, int(values["pm.start_servers"]), int(values["pm.min_spare_servers"]), int(values["pm.max_spare_servers"]))


def _processes(pool: Mapping[str, str]) -> str:
    found = processes_of(pool)
    return "\n".join(
        [
            f"ServerLimit {found.most}",
            f"MaxRequestWorkers {found.most}",
            f"StartServers {found.start}",
            f"MinSpareServers {found.least_idle}",
            f"MaxSpareServers {found.most_idle}",
            "MaxConnectionsPerChild 0",
        ]
    )


def _backlog(pool: Mapping[str, str]) -> int:
    """Below 0 it is as long as the kernel lets it be; Apache has no word for that."""
    asked = int(pool.get(_OWN_BACKLOG, POOL_DEFAULTS[_OWN_BACKLOG]))
    return asked if asked >= 0 else _MOST_BACKLOG


def ini_at_start(pool: Mapping[str, str]) -> dict[str, str]:
    """The pool's own php.ini settings, by name, that mod_php cannot have for itself: they belong
    into PHP's ini files.

    php-fpm disables functions when a worker starts, mod_php never; and the text `none` is an empty
    one to it.
    """
    found = {}
    for name, value in pool.items():
        match = _OWN_INI.fullmatch(name)
        if match and (match[3] in _AT_START or (match[2] == "value" and value.lower() == NOTHING)):
            found[match[3]] = value
    return found


def _own_ini(pool: Mapping[str, str]) -> str:
    """The pool's own php.ini settings, which mod_php has by the same names."""
    lines = []
    elsewhere = ini_at_start(pool)
    for name, value in sorted(pool.items()):
        match = _OWN_INI.fullmatch(name)
        if match is None or match[3] in elsewhere:
            continue
        # To mod_php, every flag but On and 1 is off.
        said = ("On" if value.strip().lower() in TRUE else "Off") if match[2] == "flag" else _quoted(meant(value)) if value else NOTHING
        lines.append(f"php_{match[1] or ''}{match[2]} {match[3]} {said}\n")
    return "".join(lines)


def _quoted(value: str | Path) -> str:
    """A text as Apache takes it literally. ${NAME} would be a variable and cannot be escaped."""
    text = str(value)
    if "${" in text or any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise UsageError(f"Apache's configuration cannot hold {text!r}", next_step="leave out '${' and control characters")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
