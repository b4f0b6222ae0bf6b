"""What an ELF program says of its text."""

import struct
from pathlib import Path

from phpdyno.errors import DynoError

_LOAD, _EXECUTE = 1, 1
_HEADER, _PROGRAM_HEADER = 64, 56


def text_kib(binary: Path) -> int:
    """KiB of a 64-bit little-endian program's executable segments. Raises DynoError for any other file. Source: elf(5)."""
    with binary.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER or header[:6] != b"\x7fELF\x02\x01":
            raise DynoError("this is no 64-bit ELF program", where=str(binary))
        start, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        file.seek(start)
        table = file.read(size * count)
    total = 0
    for at in range(0, len(table) - _PROGRAM_HEADER + 1, size):
        kind, flags = struct.unpack_from("<II", table, at)
        if kind == _LOAD and flags & _EXECUTE:
            total += struct.unpack_from("<Q", table, at + 40)[0]
    return -(-total // 1024)
