"""app.toml: where an app's files and database dump are, what prepares it, and what is asked of
it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import msgspec
from msgspec import Struct, field

from phpdyno.config.nearest import suggestion
from phpdyno.config.peers import distinct, parse_peer, refuse_served
from phpdyno.config.requests import TARGET_HINTS, check_labels, check_request, refuse_variables
from phpdyno.config.services import parse_services, refuse_root_variables
from phpdyno.config.trusted import steered_by
from phpdyno.config.values import absolute, as_text, check_env_name, flatten, read_toml_of
from phpdyno.errors import UsageError
from phpdyno.model.app import AppSetting
from phpdyno.model.services.service import Service, Tcp
from phpdyno.model.workload import BROWSER_ENCODING, Scheme, Target

FILE_NAME = "app.toml"
DB_SOCKET = "{db_socket}"
DEFAULT_DATABASE = "app"
LIVE_NGINX = "live"
"""In the place of a file: the server block of the running nginx."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DATABASE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FRONT = re.compile(r"[A-Za-z0-9._/-]+")
_SETTING = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9_.:\[\]-]{1,255}")
_ENCODINGS = re.compile(r"[A-Za-z0-9*;=., -]{0,128}")
_PATH = re.compile(r"/[!-~]*")
_AT = re.compile(r" - at `\$?\.?(.*?)`$")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_MISSING = re.compile(r"missing required field `(.*?)`")
_EXAMPLES = {
    "name": 'add name = "shop"',
    "docroot": 'add docroot = "public", relative to this file',
    "target": 'add [[target]] with path = "/"',
    "path": 'add path = "/"',
    "env": 'add env = "APP_DEBUG", the variable that the app reads',
    "default": 'add default = "0", what it is in an arm that does not set it',
}
_INDEX = re.compile(r"\[\d+\]")


class AppFile(Struct, frozen=True):
    """One app as its app.toml describes it; paths are absolute, nothing of them has been looked at
    yet.

    `root` is what gets copied, `docroot` lies in it. `database` is a database's name, None for an
    app without one; `sql` is the dump that fills it. `prepare` is an argv, run in the copy of
    `root`. `{db_socket}` in `ini` and `env` stands for the database's socket. `exclude` are paths
    in `root` that are left out: of a directory what is in it. `settings` are those that an arm may
    change as `app.NAME`; `services` stand at production's addresses of them. `network` are peers of
    the host's network that it may reach. `author` is the account whose word the file is where we
    are root and that account is not: what it names is read with its rights. `scheme`, `forwarded`
    and `accept_encoding` are as a Workload has them. `nginx` is the file of its server block,
    `live[:POOL]` for that of the running nginx before a running pool, '' for none. `also` are
    files and directories elsewhere that the app has at their own paths. `root_named`: the file
    says what is copied; else that is found (`notices` say what), and it is the docroot until then.
    """

    file: Path
    name: str
    root: Path
    docroot: Path
    targets: tuple[Target, ...]
    front_controller: str = "index.php"
    host: str = "localhost"
    sql: Path | None = None
    database: str | None = None
    prepare: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    ini: dict[str, str] = field(default_factory=dict)
    settings: dict[str, AppSetting] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    exclude: tuple[str, ...] = ()
    author: int = 0
    network: tuple[Tcp, ...] = ()
    scheme: Scheme = "http"
    forwarded: bool = False
    accept_encoding: str = BROWSER_ENCODING
    nginx: str = ""
    also: tuple[Path, ...] = ()
    root_named: bool = True
    notices: tuple[str, ...] = ()


class _RawSetting(Struct, frozen=True, forbid_unknown_fields=True):
    env: str
    default: Any
    values: tuple[Any, ...] = ()


class _Raw(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    docroot: str
    target: tuple[Target, ...]
    front_controller: str = "index.php"
    host: str = "localhost"
    sql: str | None = None
    database: str | None = None
    prepare: tuple[str, ...] = ()
    root: str | None = None
    exclude: tuple[str, ...] = ()
    env: dict[str, Any] = field(default_factory=dict)
    ini: dict[str, Any] = field(default_factory=dict)
    setting: dict[str, Any] = field(default_factory=dict)
    service: dict[str, Any] = field(default_factory=dict)
    network: tuple[str, ...] = ()
    scheme: Scheme | None = None
    forwarded_proto: bool = False
    accept_encoding: str = BROWSER_ENCODING
    nginx: str | None = None
    also: tuple[str, ...] = ()


def load_app_toml(path: Path) -> AppFile:
    """Read and check one app.toml. Raises UsageError naming the file and the key, with the nearest
    valid key for an unknown one."""
    path = path.absolute()
    try:
        tables, file = read_toml_of(path)
        raw = msgspec.convert(tables, _Raw)
    except msgspec.ValidationError as error:
        raise _translated(error, path) from error
    _check(raw, path)
    root = absolute(path.parent, raw.root if raw.root is not None else raw.docroot, where=f"{path}: root")
    docroot = absolute(path.parent, raw.docroot, where=f"{path}: docroot")
    if not docroot.is_relative_to(root):
        what = f"docroot {raw.docroot!r} does not lie in root {raw.root!r}"
        raise UsageError(what, where=f"{path}: docroot", next_step="let root be the directory above both")
    host, scheme = parse_host(raw.host, where=f"{path}: host")
    if scheme and raw.scheme and scheme != raw.scheme:
        raise UsageError(f"host says {scheme}", where=f"{path}: scheme", next_step="say it once, in scheme or in host")
    has_database = raw.sql is not None or raw.database is not None
    app = AppFile(
        file=path,
        name=raw.name,
        root=root,
        docroot=docroot,
        targets=raw.target,
        front_controller=raw.front_controller,
        host=host,
        scheme=raw.scheme or scheme or "http",
        forwarded=raw.forwarded_proto,
        nginx=nginx_source(raw.nginx or "", path.parent, where=f"{path}: nginx"),
        accept_encoding=check_accept_encoding(raw.accept_encoding, where=f"{path}: accept_encoding"),
        sql=absolute(path.parent, raw.sql, where=f"{path}: sql") if raw.sql is not None else None,
        database=(raw.database or DEFAULT_DATABASE) if has_database else None,
        prepare=raw.prepare,
        env=_texts(raw.env, path, "env"),
        ini=_texts(raw.ini, path, "ini"),
        settings={name: _setting(name, setting, path) for name, setting in raw.setting.items()},
        services=parse_services(raw.service, path),
        exclude=tuple(_excluded(text, docroot.relative_to(root), where=f"{path}: exclude[{at}]") for at, text in enumerate(raw.exclude)),
        author=steered_by(path, file),
        network=_network(raw.network, path),
        also=_also(raw.also, root, path),
        # A place that is left out is named from the root.
        root_named=raw.root is not None or bool(raw.exclude),
    )
    refuse_served(app.network, app.services, where=f"{path}: network")
    _check_env_and_ini(app)
    _check_variables(app)
    refuse_variables(app.targets, app.author, where=str(path))
    refuse_root_variables(app.services, app.author, path)
    return app


def _excluded(text: str, docroot: Path, *, where: str) -> str:
    """A path in `root` as it is compared and left out. Raises UsageError."""
    path = PurePosixPath(text)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in text:
        raise UsageError(f"{text!r} does not name a place in root", where=where, next_step='write it relative to root: "var/log"')
    if docroot.is_relative_to(path):
        raise UsageError(f"{text!r} holds the docroot", where=where, next_step="leave out what is in it")
    return str(path)


def check_target_path(path: str, *, where: str) -> None:
    """Raise UsageError unless `path` can stand in a request line as it is."""
    if not path.startswith("/"):
        raise UsageError(
            f"the path {path!r} does not start with '/'", where=where, next_step="write path and query only, as in /shop?page=2"
        )
    if not _PATH.fullmatch(path) or "#" in path:
        what = f"the path {path!r} holds a character that a request line cannot carry"
        raise UsageError(what, where=where, next_step="percent-encode it (a space is %20)")


def check_host(host: str, *, where: str) -> None:
    """Raise UsageError unless `host` can stand in a Host header."""
    if not _HOST.fullmatch(host):
        raise UsageError(f"{host!r} is no host name", where=where, next_step="write it as a Host header holds it")


def parse_host(text: str, *, where: str) -> tuple[str, Scheme | None]:
    """Host and scheme of `shop.example`, `https://shop.example` or `http://shop.example`; the
    scheme None where none is named. Raises UsageError."""
    scheme: Scheme | None = None
    for each in get_args(Scheme):
        if text.lower().startswith(f"{each}://"):
            scheme, text = each, text[len(each) + 3 :].removesuffix("/")
    check_host(text, where=where)
    return text, scheme


def nginx_source(text: str, base: Path, *, where: str) -> str:
    """`live`, `live:POOL`, or the absolute path of a file with a server block; '' for none. Raises
    UsageError."""
    if not text or text == LIVE_NGINX or text.startswith(f"{LIVE_NGINX}:"):
        return text
    return str(absolute(base, text, where=where))


def check_accept_encoding(text: str, *, where: str) -> str:
    """What an Accept-Encoding header says, '' for none of it. Raises UsageError."""
    plain = "" if text.strip().lower() in {"", "none"} else text.strip()
    if not _ENCODINGS.fullmatch(plain):
        raise UsageError(f"{text!r} is no list of codings", where=where, next_step=f'write "{BROWSER_ENCODING}", or "none"')
    return plain


def _check(raw: _Raw, path: Path) -> None:
    def refuse(key: str, what: str, next_step: str) -> None:
        raise UsageError(what, where=f"{path}: {key}", next_step=next_step)

    if not _NAME.fullmatch(raw.name):
        refuse("name", f"{raw.name!r} cannot name a run's directory", "use letters, digits, '.', '_' and '-'")
    if raw.database is not None and not _DATABASE.fullmatch(raw.database):
        refuse("database", f"{raw.database!r} is no plain database name", "use letters, digits, '_' and '-'")
    front = Path(raw.front_controller)
    if not raw.front_controller or front.is_absolute() or ".." in front.parts:
        refuse("front_controller", f"{raw.front_controller!r} does not lie in docroot", "write it relative to docroot, e.g. index.php")
    if not _FRONT.fullmatch(raw.front_controller):
        what = f"{raw.front_controller!r} cannot stand in a server's configuration"
        refuse("front_controller", what, "use letters, digits, '.', '_', '-' and '/'")
    if raw.prepare and not raw.prepare[0]:
        refuse("prepare[0]", "names no program", 'write the command as a list: ["php", "bin/setup.php"]')
    check_targets(raw.target, path)


def check_targets(targets: Sequence[Target], path: Path) -> None:
    """Raise UsageError unless the file names at least one target, each can be asked, and no two are
    called the same."""
    if not targets:
        raise UsageError("there is no target", where=f"{path}: target", next_step=TARGET_HINTS["target"])
    for number, target in enumerate(targets):
        check_target(target, where=f"{path}: target[{number}]")
    check_labels(targets, where=str(path))


def check_target(target: Target, *, where: str) -> None:
    """Raise UsageError unless the target can be asked as it is written and its weight and status
    are possible."""
    check_target_path(target.path, where=f"{where}.path")
    if not 0 < target.weight < float("inf"):
        raise UsageError(f"the weight {target.weight} is not above 0", where=f"{where}.weight", next_step="leave the target out instead")
    if not 100 <= target.status <= 599:
        raise UsageError(f"{target.status} is no HTTP status", where=f"{where}.status", next_step="use 100 to 599")
    check_request(target, where=where)


def _check_env_and_ini(app: AppFile) -> None:
    for layer, settings in (("env", app.env), ("ini", app.ini)):
        for name, value in settings.items():
            where = f"{app.file}: {layer}.{name}"
            if layer == "env":
                check_env_name(name, where=where)
            if DB_SOCKET in value and app.database is None:
                raise UsageError(f"{DB_SOCKET} is used but the app has no database", where=where, next_step="add sql or database")


def _network(texts: Sequence[str], path: Path) -> tuple[Tcp, ...]:
    peers = [parse_peer(text, where=f"{path}: network[{number}]") for number, text in enumerate(texts)]
    return distinct(peers, where=f"{path}: network")


def _also(texts: Sequence[str], root: Path, path: Path) -> tuple[Path, ...]:
    """Directories and files beside the root, as absolute paths. Raises UsageError."""
    found: list[Path] = []
    for number, text in enumerate(texts):
        where = f"{path}: also[{number}]"
        place = absolute(path.parent, text, where=where)
        if place.is_relative_to(root):
            raise UsageError(f"{text!r} lies in root", where=where, next_step="leave it out: the root is copied whole")
        if root.is_relative_to(place):
            raise UsageError(f"{text!r} holds the root", where=where, next_step="let root be that directory, or name a smaller one")
        if any(place.is_relative_to(each) or each.is_relative_to(place) for each in found):
            raise UsageError(f"{text!r} is named twice", where=where, next_step="keep one of the two")
        found.append(place)
    return tuple(found)


def _setting(name: str, table: object, path: Path) -> AppSetting:
    """One `[setting.NAME]`. Raises UsageError."""
    where = f"{path}: setting.{name}"
    try:
        raw = msgspec.convert(table, _RawSetting)
    except msgspec.ValidationError as error:
        raise _translated(error, path, f"setting.{name}") from error
    if not _SETTING.fullmatch(name):
        raise UsageError(f"{name!r} cannot stand in app.NAME=value", where=where, next_step="use letters, digits, '_' and '-'")
    check_env_name(raw.env, where=f"{where}.env")
    values = tuple(as_text(value, where=f"{where}.values[{number}]") for number, value in enumerate(raw.values))
    default = as_text(raw.default, where=f"{where}.default")
    if values and default not in values:
        raise UsageError(f"{default!r} is none of the values", where=f"{where}.default", next_step="the values are " + ", ".join(values))
    return AppSetting(raw.env, values, default)


def _check_variables(app: AppFile) -> None:
    """Refuse a variable with two masters."""
    masters = {name: f"env.{name}" for name in app.env}
    for name, setting in app.settings.items():
        other = masters.setdefault(setting.env, f"setting.{name}")
        if other != f"setting.{name}":
            what = f"{other} sets {setting.env} as well"
            raise UsageError(what, where=f"{app.file}: setting.{name}.env", next_step="keep one of the two")


def _texts(table: Mapping[str, Any], path: Path, layer: str) -> dict[str, str]:
    return {name: as_text(value, where=f"{path}: {layer}.{name}") for name, value in flatten(table)}


def _translated(error: msgspec.ValidationError, path: Path, table: str = "") -> UsageError:
    """msgspec's message (`Expected `str`, got `int` - at `$.target[0].path``) about the file, or
    one table of it, as one of ours."""
    text = str(error)
    at = _AT.search(text)
    place = ".".join(part for part in (table, at[1] if at else "") if part)
    what = _AT.sub("", text)
    unknown = _UNKNOWN.search(what)
    if unknown is None:
        missing = _MISSING.search(what)
        hint = _EXAMPLES.get(missing[1], "") if missing else ""
        hint = TARGET_HINTS.get(place.removesuffix("[...]").rpartition(".")[2], hint) if place.startswith("target") else hint
        what = what.replace("Object missing required field", "misses the key").replace("enum value", "value").replace("`", "")
        return UsageError(what, where=f"{path}: {place}" if place else str(path), next_step=hint)
    kind: type[Struct] = Target if place.startswith("target") else _RawSetting if place.startswith("setting") else _Raw
    known = kind.__struct_fields__
    key = f"{place}.{unknown[1]}" if place else unknown[1]
    prefix = _INDEX.sub("", place) + "." if place else ""
    return UsageError("unknown key", where=f"{path}: {key}", next_step=suggestion(unknown[1], known, prefix=prefix))
