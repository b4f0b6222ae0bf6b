"""What an ELF program says of its text and of the libraries that it is linked with. Source: elf(5)."""

import struct
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError

_LOAD, _DYNAMIC = 1, 2
_EXECUTE = 1
_NEEDED, _STRINGS = 1, 5
_HEADER, _PROGRAM_HEADER, _ENTRY = 64, 56, 16


class _Segment(Struct, frozen=True):
    """One of a program, with its place in the file and in memory; sizes in bytes."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


def text_kib(binary: Path) -> int:
    """KiB of a 64-bit little-endian program's executable segments. Raises DynoError for any other file."""
    segments = _segments(binary.read_bytes(), binary)
    return -(-sum(each.memory_size for each in segments if each.kind == _LOAD and each.flags & _EXECUTE) // 1024)


def libraries_of(binary: Path) -> tuple[str, ...]:
    """File names of the libraries that a 64-bit little-endian program is linked with; none of any other file."""
    data = binary.read_bytes()
    try:
        segments = _segments(data, binary)
    except DynoError:
        return ()
    places = [(each.offset, each.offset + each.file_size) for each in segments if each.kind == _DYNAMIC]
    entries = [struct.unpack_from("<QQ", data, at) for start, end in places for at in range(start, end - _ENTRY + 1, _ENTRY)]
    names = next((value for tag, value in entries if tag == _STRINGS), 0)
    at = next(
        (names - each.address + each.offset for each in segments if each.kind == _LOAD and 0 <= names - each.address < each.file_size), 0
    )
    return tuple(data[at + value : data.index(b"\0", at + value)].decode(errors="replace") for tag, value in entries if tag == _NEEDED)


def _segments(data: bytes, binary: Path) -> list[_Segment]:
    if len(data) < _HEADER or data[:6] != b"\x7fELF\x02\x01":
        raise DynoError("this is no 64-bit ELF program", where=str(binary))
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    places = range(start, min(start + size * count, len(data) - _PROGRAM_HEADER + 1), max(size, _PROGRAM_HEADER))
    return [_Segment(*struct.unpack_from("<IIQQ8xQQ", data, at)) for at in places]
