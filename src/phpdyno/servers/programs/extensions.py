"""Shared extensions of PHP: what kind a file is, and which line of which ini file loads one."""

import hashlib
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from phpdyno.errors import UsageError

Kind = Literal["extension", "zend_extension"]

_ENTRIES: tuple[tuple[bytes, Kind], ...] = ((b"zend_extension_entry", "zend_extension"), (b"get_module", "extension"))
"""What PHP looks up in the file, by kind. One that has both (Xdebug) is loaded as the first."""
_SHARED_OBJECT = 3
_SECTION_DYNSYM = 11
_LOADING = re.compile(r"""^[ \t]*((?:zend_)?extension)[ \t]*=[ \t]*["']?([^"';\r\n]*?)["']?[ \t]*(;.*)?$""", re.MULTILINE | re.IGNORECASE)


def extension_kind(path: Path, *, where: str) -> Kind:
    """How PHP wants to load this file. Raises UsageError: no such file, no ELF shared object, no
    extension of PHP."""
    try:
        data = path.read_bytes()
    except OSError as error:
        what = "there is no such extension" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise UsageError(what, where=f"{where}: {path}", next_step="give the path of the extension's .so file") from error
    try:
        exported = _exported(data)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise UsageError("this is no ELF shared object", where=f"{where}: {path}", next_step="give an extension's .so file") from error
    for symbol, kind in _ENTRIES:
        if symbol in exported:
            return kind
    raise UsageError("this shared object is no extension of PHP", where=f"{where}: {path}", next_step="it exports no get_module")


def extension_digests(settings: Mapping[str, str]) -> dict[str, str]:
    """The files that an arm's `ext.NAME` settings name, each with the first 16 digits of its
    SHA-256; '' for one that is gone."""
    paths = [Path(value) for key, value in settings.items() if key.startswith("ext.") and value != "off"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else "" for path in paths}


def _exported(data: bytes) -> set[bytes]:
    """Names of the dynamic symbols that a 64-bit little-endian ELF shared object defines. Raises
    ValueError when it is none."""
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != _SHARED_OBJECT:
        raise ValueError("not a shared object")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    # Of a section: type, offset, size and link (for symbols: the section that holds their names).
    sections = [struct.unpack_from("<4xI16xQQI", data, table + size * number) for number in range(count)]
    found = set()
    for kind, offset, length, link in sections:
        if kind == _SECTION_DYNSYM:
            names = sections[link][1]
            for at in range(offset, offset + length, 24):
                name, defined = struct.unpack_from("<I2xH", data, at)
                if defined:
                    found.add(data[names + name : data.index(b"\0", names + name)])
    return found


def loaded_name(value: str) -> str:
    """The name of the extension that `extension = VALUE` loads: `/x/php_redis.so` is redis."""
    return value.rsplit("/", 1)[-1].removesuffix(".so").removeprefix("php_").lower()


def loads(text: str) -> list[str]:
    """Names of the extensions that an ini file loads, in its order."""
    return [loaded_name(match[2]) for match in _LOADING.finditer(text)]


def with_other_extensions(text: str, wanted: dict[str, str]) -> str:
    """An ini file in which the lines that load the extensions of `wanted` load other files (their
    new line) or nothing ('')."""

    def line(match: re.Match[str]) -> str:
        return wanted.get(loaded_name(match[2]), match[0])

    return _LOADING.sub(line, text)
