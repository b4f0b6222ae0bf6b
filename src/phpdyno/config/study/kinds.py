"""Study files of one kind: read, their `kind` checked, every key checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from phpdyno.config.toml_faults import toml_fault
from phpdyno.config.values import read_toml
from phpdyno.errors import UsageError

T = TypeVar("T")


def read_kind(path: Path, kind: str, into: type[T], *, called: str, keys: Mapping[str, tuple[str, ...]]) -> T:
    """Read a study file whose `kind` is this one. `called` names what it studies; `keys` are the
    valid keys of each table.

    Raises UsageError naming the file and the key.
    """
    table = read_toml(path)
    if table.get("kind") != kind:
        raise UsageError(f'this is no study of {called}: its kind is not "{kind}"', where=str(path), next_step=f"phpdyno study {path}")
    try:
        return msgspec.convert(table, into)
    except msgspec.ValidationError as error:
        raise toml_fault(error, path, keys=keys) from error
