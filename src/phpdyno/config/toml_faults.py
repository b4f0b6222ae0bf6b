"""msgspec's complaint about a TOML file, as one of ours: file, key, what, and the nearest valid
key."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from phpdyno.config.nearest import suggestion
from phpdyno.errors import UsageError

_AT = re.compile(r" - at `(?:key in )?\$?\.?(.*?)`$")
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_MISSING = re.compile(r"missing required field `(.*?)`")
_INDEX = re.compile(r"\[(?:\d+|\.\.\.)\]")


def toml_fault(
    error: msgspec.ValidationError,
    path: Path,
    *,
    keys: Mapping[str, tuple[str, ...]],
    hints: Mapping[str, str] | None = None,
    within: str = "",
) -> UsageError:
    """`keys` are the valid keys of each table by its name without indices (`arm`, '' for the file's
    own); `hints` next steps by key.

    `within` is the table that was looked at where that is not the whole file.
    """
    text = str(error)
    at = _AT.search(text)
    place = ".".join(part for part in (within, at[1] if at else "") if part)
    table = _INDEX.sub("", place)
    what = _AT.sub("", text)
    unknown = _UNKNOWN.search(what)
    if unknown:
        key = f"{place}.{unknown[1]}" if place else unknown[1]
        prefix = f"{table}." if table else ""
        return UsageError("unknown key", where=f"{path}: {key}", next_step=suggestion(unknown[1], keys.get(table, ()), prefix=prefix))
    missing = _MISSING.search(what)
    named = missing[1] if missing else table.rpartition(".")[2]
    what = what.replace("Object missing required field", "misses the key").replace("enum value", "value").replace("`", "")
    return UsageError(what, where=f"{path}: {place}" if place else str(path), next_step=(hints or {}).get(named, ""))
