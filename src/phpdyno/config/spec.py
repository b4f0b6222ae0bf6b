"""A SPEC, one arm's settings as the command line writes them: `ini.opcache.jit=tracing;pool.pm=static`, or `@file.toml`."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from phpdyno.config.nearest import suggestion
from phpdyno.config.values import absolute, as_text, check_env_name, flatten, kind_of, read_toml
from phpdyno.errors import UsageError

LAYERS = ("ini", "pool", "web", "env", "php")
LATER = ("os", "ext", "build", "source", "app", "live")
PHP_NAMES = frozenset({"fpm", "extension_dir"})


class KnownNames(Struct, frozen=True):
    """The names that exist in each layer, without the layer's prefix. Environment variables may have any name."""

    ini: frozenset[str] = frozenset()
    pool: frozenset[str] = frozenset()
    web: frozenset[str] = frozenset()


KnownFor = Callable[[Mapping[str, str]], KnownNames]
"""Given the SPEC's own PHP (`php`, `php.extension_dir`; empty for the default one), the names which that PHP knows."""


class _Item(Struct, frozen=True):
    layer: str
    name: str
    value: str
    where: str

    @property
    def key(self) -> str:
        if self.layer == "php" and self.name == "fpm":
            return "php"
        return f"{self.layer}.{self.name}"


def parse_spec(text: str, *, known: KnownNames | KnownFor, base_dir: Path) -> dict[str, str]:
    """Settings by full knob name (`ini.opcache.jit`, `env.NAME`, `php`), values as text; an empty SPEC is an empty dict.

    Paths (`@file`, `php`, `php.extension_dir`) are relative to `base_dir`, those inside a file to the file. `known` may depend on the
    PHP that the SPEC itself names. Raises UsageError naming the part or file and key, with the nearest valid name.
    """
    settings: dict[str, str] = {}
    items: list[_Item] = []
    for item in _items(text, base_dir):
        if item.key in settings:
            raise UsageError(f"{item.key} is set twice", where=item.where, next_step="keep one of the two")
        settings[item.key] = item.value
        items.append(item)
    php = {key: value for key, value in settings.items() if key == "php" or key.startswith("php.")}
    names = known if isinstance(known, KnownNames) else known(php)
    for item in items:
        _check_name(item, names)
    return settings


def _items(text: str, base_dir: Path) -> Iterator[_Item]:
    for part in (piece.strip() for piece in text.split(";")):
        if part.startswith("@"):
            yield from _file_items(absolute(base_dir, part[1:], where=f"SPEC part {part!r}"))
        elif part:
            yield _text_item(part, base_dir)


def _text_item(part: str, base_dir: Path) -> _Item:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    where = f"SPEC part {part!r}"
    layer, _, rest = name.partition(".")
    _check_layer(layer.partition(":")[0], where)
    if not equals:
        raise UsageError("has no '='", where=where, next_step="write LAYER.NAME=value; a value that holds ';' goes into @file.toml")
    if layer == "php" and not rest:
        rest = "fpm"
    if not rest:
        raise UsageError(f"names no setting of the layer {layer}", where=where, next_step=f"write {layer}.NAME=value")
    return _item(layer, rest, as_text(value, where=where), where, base_dir)


def _file_items(path: Path) -> Iterator[_Item]:
    for layer, table in read_toml(path).items():
        where = f"{path}: {layer}"
        _check_layer(layer, where)
        if layer == "php" and isinstance(table, str):
            yield _item("php", "fpm", as_text(table, where=where), where, path.parent)
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
        value = str(absolute(base_dir, value, where=where))
    return _Item(layer, name, value, where)


def _check_layer(layer: str, where: str) -> None:
    if layer in LATER:
        raise UsageError(f"the layer {layer} is not available in this version", where=where, next_step="available: " + ", ".join(LAYERS))
    if layer not in LAYERS:
        raise UsageError(f"{layer!r} is not a layer of settings", where=where, next_step=suggestion(layer, LAYERS))


def _check_name(item: _Item, known: KnownNames) -> None:
    if item.layer == "env":
        check_env_name(item.name, where=item.where)
        return
    names = {"ini": known.ini, "pool": known.pool, "web": known.web, "php": PHP_NAMES}[item.layer]
    if item.name in names:
        return
    holder = next((name for name in names if item.name.startswith(name + ".")), None)
    if holder and not any(name.startswith(holder + ".") for name in names):
        raise UsageError(f"a table where the value of {item.layer}.{holder} belongs", where=item.where, next_step=f"write {holder} = value")
    kind = {"ini": "this PHP has no ini setting", "pool": "no pool setting is called", "web": "no web server setting is called"}
    what = kind.get(item.layer, "the layer php has no setting")
    raise UsageError(f"{what} {item.name!r}", where=item.where, next_step=suggestion(item.name, names, prefix=f"{item.layer}."))
