"""A SPEC, one arm's settings as the command line writes them:
`ini.opcache.jit=tracing;pool.pm=static`, or `@file.toml`."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from phpdyno.config.nearest import suggestion
from phpdyno.config.values import absolute, as_text, check_env_name, flatten, kind_of, read_toml
from phpdyno.errors import UsageError

LAYERS = ("ini", "pool", "web", "env", "os", "php", "build", "ext", "source", "app", "live")
PHP_NAMES = frozenset({"fpm", "extension_dir", "ini", "scan_dir", "settings_dir"})
WHOLE = ("php", "build", "source", "live")
"""Layers whose name alone is a setting."""
NONE = "none"
"""Instead of a path in php.ini and php.scan_dir: no such file is read."""
LIVE = "live:"
"""What a value starts with that is kept out of plan and journal: it is asked of the running pool
whenever an instance starts."""
PHP_VALUE = re.compile(r"php_(?:admin_)?(?:value|flag)\[([^\[\]=;]+)\]")
"""A pool's own php.ini setting, as the pool's file writes it."""
INSTALLED_PHP = re.compile(r"(?:php-fpm|php)?\d+\.\d+")
"""A PHP of this host by its version (`8.4`) or its program (`php-fpm8.4`)."""
_EXTENSION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"""\s*(?:ini\.|pool\.php_)[^=;]*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*')[^;]*|[^;]+""")
"""Up to the next ';' that is not in the quotes which a php.ini value begins with."""
_EXTENSIONS = frozenset(
    (
        *("apc", "bcmath", "blackfire", "curl", "datadog", "exif", "ffi", "gd", "igbinary", "imagick", "imap", "intl", "ldap", "mbstring"),
        *("memcache", "memcached", "mongodb", "mysqli", "newrelic", "oci8", "opcache", "openswoole", "pcov", "pgsql", "phar", "redis"),
        *("session", "soap", "sqlsrv", "swoole", "tideways", "tidy", "uopz", "uploadprogress", "xdebug", "yac", "yaml", "zlib"),
    )
)
"""Extensions that have settings, by the prefix of these; only one of them has another name."""
_OFF = frozenset({"", "0", "off", "no", "false"})


class KnownNames(Struct, frozen=True):
    """The names that exist in each layer, without the layer's prefix. Environment variables may
    have any name."""

    ini: frozenset[str] = frozenset()
    pool: frozenset[str] = frozenset()
    web: frozenset[str] = frozenset()
    app: frozenset[str] = frozenset()
    os: frozenset[str] = frozenset()


KnownFor = Callable[[Mapping[str, str]], KnownNames]
"""Given the SPEC's own PHP (`php`, `php.extension_dir`; empty for the default one), the names which
that PHP knows."""


Builds = Callable[[str], Mapping[str, str]]
"""Given the name of a build, the settings that it stands for, by their full names. Raises
UsageError."""


def no_builds(name: str) -> Mapping[str, str]:
    """Where no build is known."""
    raise UsageError(f"there is no build {name!r}", where="build", next_step="see which there are with: phpdyno build --list")


class _Item(Struct, frozen=True):
    layer: str
    name: str
    value: str
    where: str

    @property
    def key(self) -> str:
        if self.layer in WHOLE and self.name in {"fpm", ""}:
            return self.layer
        return f"{self.layer}.{self.name}"


def parse_spec(
    text: str, *, known: KnownNames | KnownFor, base_dir: Path, live: bool = False, builds: Builds = no_builds
) -> dict[str, str]:
    """Settings by full knob name (`ini.opcache.jit`, `env.NAME`, `php`), values as text; an empty
    SPEC is an empty dict.

    Paths (`@file`, the layers php and ext) are relative to `base_dir`, those inside a file to the
    file. `known` may depend on the PHP that the SPEC itself names (and on `live` and `ext`). Only
    with `live` may it name a running pool: the key `live`, its value '' for the only one.
    `build=NAME` stands for the settings that `builds` gives.

    Raises UsageError naming the part or file and key, with the nearest valid name.
    """
    settings: dict[str, str] = {}
    items: list[_Item] = []
    for item in (each for found in _items(text, base_dir) for each in _resolved(found, builds)):
        if item.key in settings:
            raise UsageError(f"{item.key} is set twice", where=item.where, next_step="keep one of the two")
        if item.layer == "live" and not live:
            raise UsageError("a running pool can be the control only", where=item.where, next_step="give it with --control")
        settings[item.key] = item.value
        items.append(item)
    php = {key: value for key, value in settings.items() if key in {"php", "live"} or key.startswith(("php.", "ext."))}
    names = known if isinstance(known, KnownNames) else known(php)
    for item in items:
        _check_name(item, names)
    return settings


def _items(text: str, base_dir: Path) -> Iterator[_Item]:
    for part in (piece.strip() for piece in _PART.findall(text)):
        if part.startswith("@"):
            yield from _file_items(absolute(base_dir, part[1:], where=f"SPEC part {part!r}"))
        elif part:
            yield _text_item(part, base_dir)


def _resolved(item: _Item, builds: Builds) -> Iterator[_Item]:
    if item.layer != "build":
        yield item
        return
    for key, value in builds(item.value).items():
        layer, _, name = key.partition(".")
        yield _Item(layer, name or "fpm", value, item.where)


def _text_item(part: str, base_dir: Path) -> _Item:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    where = f"SPEC part {part!r}"
    if part == "live" or part.startswith(LIVE):
        return _Item("live", "", part[len(LIVE) :].strip(), where)
    layer, _, rest = name.partition(".")
    _check_layer(layer.partition(":")[0], where)
    if layer == "live":
        raise UsageError("a running pool takes no value", where=where, next_step="write live, or live:POOL")
    if not equals:
        raise UsageError(
            "has no '='", where=where, next_step="write LAYER.NAME=value; a value that holds ';' is written in quotes, or in @file.toml"
        )
    if layer == "php" and not rest:
        rest = "fpm"
    if not rest and layer not in {"source", "build"}:
        raise UsageError(f"names no setting of the layer {layer}", where=where, next_step=f"write {layer}.NAME=value")
    return _item(layer, rest, as_text(value, where=where), where, base_dir)


def _file_items(path: Path) -> Iterator[_Item]:
    for layer, table in read_toml(path).items():
        where = f"{path}: {layer}"
        _check_layer(layer, where)
        if layer in WHOLE and isinstance(table, str):
            yield _item(layer, "fpm" if layer == "php" else "", as_text(table, where=where), where, path.parent)
        elif layer in {"source", "build", "live"}:
            raise UsageError(f"{kind_of(table)} where a string belongs", where=where, next_step=f'write {layer} = "NAME"')
        elif not isinstance(table, dict):
            raise UsageError(f"{kind_of(table)} where a table belongs", where=where, next_step=f"write [{layer}] and NAME = value below it")
        else:
            for name, value in flatten(table):
                key = f"{path}: {layer}.{name}"
                yield _item(layer, name, as_text(value, where=key), key, path.parent)


def _item(layer: str, name: str, value: str, where: str, base_dir: Path) -> _Item:
    if layer == "php":
        if not value:
            raise UsageError("the path is empty", where=where, next_step="leave the setting out for the distribution's PHP")
        value = _php_path(name, value, where, base_dir)
    if layer == "ext":
        value = "off" if value.lower() in _OFF else str(absolute(base_dir, value, where=where))
    if layer == "build" and (not value or name):
        raise UsageError("names no build", where=where, next_step="write build=NAME, as phpdyno build --list shows it")
    if layer == "source" and (not value or name):
        raise UsageError("names no commit", where=where, next_step="write source=REF: a tag, a branch or a commit")
    if value.startswith(LIVE) and layer != "env":
        raise UsageError("only a variable can be asked of the running pool", where=where, next_step="write the value out")
    return _Item(layer, name, value, where)


def _php_path(name: str, value: str, where: str, base_dir: Path) -> str:
    """A path, or `none`, or (scan_dir) several joined by colons, an empty one for the compiled-in
    directory; of the program also a version or a name, where no such file is there."""
    if value == NONE and name in {"ini", "scan_dir"}:
        return value
    if name == "fpm" and INSTALLED_PHP.fullmatch(value) and not (base_dir / value).exists():
        return value
    if name == "scan_dir":
        return os.pathsep.join(str(absolute(base_dir, part, where=where)) if part else "" for part in value.split(os.pathsep))
    return str(absolute(base_dir, value, where=where))


def unknown_ini(name: str, known: Collection[str], *, where: str, prefix: str = "") -> UsageError:
    """The error for a php.ini setting that a PHP has not: of an extension that it does not load, or
    mistyped."""
    first = name.partition(".")[0]
    if "." in name and first in _EXTENSIONS and not any(other.startswith(f"{first}.") for other in known):
        extension = "apcu" if first == "apc" else first
        what = f"{name} belongs to the extension {extension}, which this PHP does not load"
        return UsageError(what, where=where, next_step=f"load it with ext.{extension}=/path/of/{extension}.so, or leave the setting out")
    return UsageError(f"this PHP has no ini setting {name!r}", where=where, next_step=suggestion(name, known, prefix=prefix))


def _check_layer(layer: str, where: str) -> None:
    if layer not in LAYERS:
        raise UsageError(f"{layer!r} is not a layer of settings", where=where, next_step=suggestion(layer, LAYERS))


def _check_name(item: _Item, known: KnownNames) -> None:
    if item.layer == "env":
        check_env_name(item.name, where=item.where)
    if item.layer == "ext" and not _EXTENSION.fullmatch(item.name):
        raise UsageError(f"{item.name!r} is no name of an extension", where=item.where, next_step="write ext.NAME=/path/of/the.so")
    if item.layer in {"env", "ext", "source", "live"}:
        return
    own = PHP_VALUE.fullmatch(item.name) if item.layer == "pool" else None
    if own is not None:
        _check_pool_ini(own[1], item, known)
        return
    names = {"ini": known.ini, "pool": known.pool, "web": known.web, "php": PHP_NAMES, "app": known.app, "os": known.os}[item.layer]
    if item.name in names:
        return
    holder = next((name for name in names if item.name.startswith(name + ".")), None)
    if holder and not any(name.startswith(holder + ".") for name in names):
        raise UsageError(f"a table where the value of {item.layer}.{holder} belongs", where=item.where, next_step=f"write {holder} = value")
    if item.layer == "ini":
        raise unknown_ini(item.name, names, where=item.where, prefix="ini.")
    kind = {"pool": "no pool setting is called", "web": "no web server setting is called"}
    kind["os"] = "no setting of the host is called"
    kind["app"] = "the app has no setting" if names else "the app has no settings, so none is called"
    what = kind.get(item.layer, "the layer php has no setting")
    raise UsageError(f"{what} {item.name!r}", where=item.where, next_step=suggestion(item.name, names, prefix=f"{item.layer}."))


def _check_pool_ini(name: str, item: _Item, known: KnownNames) -> None:
    """A php.ini setting in the pool's section; what opcache reads when it starts comes too late
    there."""
    if name.startswith("opcache."):
        raise UsageError("opcache is set up before a pool's own values count", where=item.where, next_step=f"write ini.{name}={item.value}")
    if name not in known.ini:
        raise unknown_ini(name, known.ini, where=item.where)
