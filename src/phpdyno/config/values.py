"""TOML tables and scalars as the text that php.ini would hold."""

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from phpdyno.errors import UsageError

RESERVED_ENV = {"PHP_INI_SCAN_DIR": "set php.ini values in the layer ini"}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORDS = {dict: "a table", list: "an array", str: "a string", bool: "a boolean", int: "a whole number", float: "a number"}


def kind_of(value: object) -> str:
    """The TOML kind of a value in words."""
    return WORDS.get(type(value), "a date or time")


def read_toml(path: Path) -> dict[str, object]:
    """The tables of a TOML file. Raises UsageError: missing, unreadable, not UTF-8, syntax (with
    its line)."""
    return read_toml_of(path)[0]


def read_toml_of(path: Path) -> tuple[dict[str, object], os.stat_result]:
    """The tables, and the state of the very file that they were read from. Raises UsageError as
    `read_toml`."""
    try:
        with path.open(encoding="utf-8") as file:
            return tomllib.loads(file.read()), os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise UsageError("there is no such file", where=str(path)) from error
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"is not UTF-8 text (byte {error.start})", where=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        doubled = "overwrite" in str(error) or "mutate" in str(error) or "twice" in str(error)
        hint = 'a name that holds both a value and further names is written in quotes: "pm.max_children" = 8' if doubled else ""
        raise UsageError(f"is not valid TOML: {str(error).splitlines()[0]}", where=str(path), next_step=hint) from error
    except ValueError as error:
        raise UsageError(f"{str(path)!r} cannot be the name of a file") from error


def absolute(base: Path, text: str, *, where: str) -> Path:
    """A path as written, made absolute from `base` and freed of `..`; nothing is looked at. Raises
    UsageError for an unknown `~user`."""
    try:
        return Path(os.path.normpath((base / Path(text).expanduser()).absolute()))
    except RuntimeError as error:
        raise UsageError(f"the home directory in {text!r} is not known", where=where, next_step="write the path out") from error


def as_text(value: object, *, where: str) -> str:
    """A scalar as php.ini writes it: true is 1, false 0. Raises UsageError for arrays, tables,
    dates, control characters."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if not isinstance(value, str):
        kind = f"the number {value}" if isinstance(value, float) else kind_of(value)
        raise UsageError(f"{kind} where a string, a finite number or a boolean belongs", where=where)
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise UsageError("the value holds a control character, such as a line break", where=where, next_step="write it on one line")
    return value


def flatten(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The values of nested tables under their dotted names: `[opcache] jit = 1` yields
    `opcache.jit`; an empty table yields itself."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def is_utf8(text: str) -> bool:
    """Whether a text from outside can be written down: bytes of it that are no UTF-8 were read as
    surrogates."""
    return text.encode(errors="ignore").decode() == text


def check_env_name(name: str, *, where: str) -> None:
    """Raise UsageError unless `name` can be set as an environment variable of the servers."""
    if not _ENV_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of an environment variable", where=where, next_step="use letters, digits and _")
    if name in RESERVED_ENV:
        raise UsageError(f"{name} is set by phpdyno itself", where=where, next_step=RESERVED_ENV[name])
