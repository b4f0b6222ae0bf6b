"""Which file carries which accepted setting, and what no file can carry. Pure.

php-fpm continues a section that it has met before. Of two lines for a directive (`pm.…`) it heeds
the last one; of two for one php.ini setting or one variable (`php_admin_value[…]`, `env[…]`) the
first one, and an admin value before any other. So what a pool's own file says is outdone by two
fragments: one that is included before it and one after it.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec import Struct, field

from phpdyno.bundle.manifest import Kind, PhpPlace
from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import pool_ini
from phpdyno.server_files.php import add_spares, without_unfit_spares

BEFORE_WORKERS = re.compile(r"LD_\w+|GLIBC_TUNABLES|MALLOC_\w+|MIMALLOC_\w+|USE_ZEND_ALLOC\w*|OPENSSL_CONF|PHP_INI_SCAN_DIR|PHPRC")
"""Variables that are heeded when php-fpm starts: its service sets them, a pool would be too
late."""
NGINX_HTTP = frozenset({"fastcgi_buffers", "fastcgi_buffer_size"})
"""Settings of the layer web that are nginx directives which may stand in `http`."""
SYSCTL = re.compile(r"os\.((?:vm|net|kernel|fs)\.[A-Za-z0-9_.]+)")
PRELOAD = "ini.opcache.preload"
MARK = "PHPDYNO_POOL"
"""A variable that the last fragment gives to the workers: a worker that has it was started by a
php-fpm that has read the fragments."""
BY_HAND = {
    "web.workers": "write `worker_processes {value};` at the top of nginx.conf, in place of the line that is there",
    "web.socket": "give the pool and nginx a {value} socket: `listen` in the pool's file, `fastcgi_pass` wherever nginx names the pool",
    "web.server": "serve the site with {value}",
    "web.fastcgi_keepalive": "name the pool in an `upstream` with `keepalive {value};`, pass requests to that, add `fastcgi_keep_conn on;`",
    "web.access_log": "write `access_log FILE combined;` where the site's log is named (buffered: add `buffer=64k flush=5s`)",
    "os.thp": "start php-fpm through a program that calls prctl(PR_SET_THP_DISABLE) first",
    "php": "let the service run {value}",
    "source": "deploy the commit {value}",
}
BY_LAYER = {
    "ini": "write `{name} = {value}` into the php.ini that php-fpm reads: it scans no directory",
    "app": "set {name} to {value} where the app keeps its own settings",
    "ext": "load {value} as the extension {name}: its line in an ini file, in place of the one that is there",
    "php": "start php-fpm with {name} = {value}",
    "build": "deploy the build {value}",
    "web": "set {name} to {value} in nginx",
    "os": "set {name} to {value} on the host",
}
DEFINED = "change `-d {name}=…` on php-fpm's command line to {value}: no file outdoes it"
ELSEWHERE = "write `{key} = {value}` into the section [{pool}] of {file}: that file counts after all that it includes"


class Division(Struct, frozen=True):
    """Names (without their layer) and values by kind of file; `by_hand` full names with what to do,
    `of` full names by kind."""

    texts: dict[Kind, dict[str, str]] = field(default_factory=dict)
    of: dict[Kind, list[str]] = field(default_factory=dict)
    by_hand: dict[str, str] = field(default_factory=dict)

    def put(self, kind: Kind, name: str, key: str, value: str) -> None:
        """One setting into one file."""
        self.texts.setdefault(kind, {})[key] = value
        self.of.setdefault(kind, []).append(name)

    def leave(self, name: str, todo: str) -> None:
        """One setting to a person."""
        self.by_hand[name] = todo


class _Destination(Struct, frozen=True):
    """What the settings are placed on: the control's own, the php-fpm, and where the bundle's
    preload script will lie ('' for none)."""

    control: Mapping[str, str]
    php: PhpPlace
    preload: str


def divide(settings: Mapping[str, str], control: Mapping[str, str], php: PhpPlace, *, preload: str = "") -> Division:
    """Every accepted setting in one file, or left to a person; `preload` is where the bundle's own
    preload script will lie.

    Raises UsageError for a value that is a secret of the running pool or has more than one line.
    """
    division, onto = Division(), _Destination(control, php, preload)
    for name, value in settings.items():
        if value.startswith("live:"):
            raise UsageError("its value is a secret of the running pool", where=name, next_step="leave it to the pool")
        if not value.isprintable():
            raise UsageError("a value of more than one line, or with characters that cannot be seen", where=name)
        _place(division, onto, name, value)
    own_preload = PRELOAD in division.of.get("ini", ()) and preload
    if own_preload and "ini.opcache.preload_user" not in settings and php.user:
        division.texts["ini"]["opcache.preload_user"] = php.user
    _finish_pool(division, settings, onto)
    return division


def _place(division: Division, onto: _Destination, name: str, value: str) -> None:
    layer, _, rest = name.partition(".")
    sysctl = SYSCTL.fullmatch(name)
    if layer == "ini":
        _place_ini(division, onto, name, value)
    elif layer == "env" and BEFORE_WORKERS.fullmatch(rest):
        division.put("systemd", name, rest, value)
    elif layer == "env":
        _into_pool(division, onto, name, (f"env[{rest}]", value), first=True)
    elif layer == "pool" and (own := pool_ini(name)):
        admin = any("admin" in key for key in _owned(own, onto.control))
        key = f"php_admin_{'flag' if 'flag[' in rest else 'value'}[{own}]" if admin else rest
        _into_pool(division, onto, name, (key, value), first=True)
    elif layer == "pool":
        _into_pool(division, onto, name, (rest, value), first=False)
    elif (layer == "web" and rest in NGINX_HTTP) or (name == "web.access_log" and value == "off"):
        division.put("nginx", name, rest, value)
    elif sysctl:
        division.put("sysctl", name, sysctl[1], value)
    else:
        todo = BY_HAND.get(name) or BY_LAYER.get(layer, "set {name} to {value}")
        division.leave(name, todo.format(name=rest or name, value=value))


def _place_ini(division: Division, onto: _Destination, name: str, value: str) -> None:
    """A php.ini setting: in a file that is scanned, but in the pool where the pool has a value of
    its own, which counts more."""
    rest = name.removeprefix("ini.")
    if _owned(rest, onto.control):
        _into_pool(division, onto, name, (f"php_admin_value[{rest}]", value), first=True)
    elif rest in onto.php.defined:
        division.leave(name, DEFINED.format(name=rest, value=value))
    elif not onto.php.ini_dir:
        division.leave(name, BY_LAYER["ini"].format(name=rest, value=value))
    else:
        division.put("ini", name, rest, onto.preload if name == PRELOAD and onto.preload else value)


def _into_pool(division: Division, onto: _Destination, name: str, line: tuple[str, str], *, first: bool) -> None:
    """A line of the pool's section; left to a person where the pool's own file would be read later
    than any fragment."""
    key, value = line
    php = onto.php
    if php.pool_file and PurePosixPath(php.pool_file).parent != PurePosixPath(php.pool_dir):
        division.leave(name, ELSEWHERE.format(key=key, value=value, pool=php.pool, file=php.pool_file))
    else:
        division.put("pool-first" if first else "pool-last", name, key, value)


def _owned(ini: str, control: Mapping[str, str]) -> list[str]:
    """Settings of the control by which its pool has a php.ini value of its own."""
    return [name for name in control if pool_ini(name) == ini]


def _finish_pool(division: Division, settings: Mapping[str, str], onto: _Destination) -> None:
    """Spare workers of a dynamic pool, as it was measured with where nobody named any or what was
    there are too many; and the mark."""
    last = division.texts.get("pool-last")
    if last is None:
        return
    most = settings.get("pool.pm.max_children") or onto.control.get("pool.pm.max_children")
    changed = not last.keys().isdisjoint({"pm", "pm.max_children"})
    if changed and (last.get("pm") or onto.control.get("pool.pm", "")).lower() == "dynamic" and most is not None:
        theirs = {name.removeprefix("pool."): value for name, value in onto.control.items() if name.startswith("pool.pm.")}
        values = without_unfit_spares({**theirs, "pm.max_children": most, **last}, last)
        add_spares(values)
        last.update({key: value for key, value in values.items() if key not in last and theirs.get(key) != value})
    last[f"env[{MARK}]"] = mark_of(last)


def mark_of(lines: Mapping[str, str]) -> str:
    """Twelve digits that stand for the lines of a fragment."""
    whole = "\n".join(f"{key}={value}" for key, value in sorted(lines.items()) if key != f"env[{MARK}]")
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def fragment_names(pool_file: str) -> tuple[str, str]:
    """File names that are included before and after a pool's own file: php-fpm reads a directory in
    the order of bytes."""
    own = PurePosixPath(pool_file).name
    first = "00-phpdyno.conf" if not own or own > "00-phpdyno.conf" else f"!{own}"
    last = "zz-phpdyno.conf" if own < "zz-phpdyno.conf" else f"zz{own}"
    return first, last
