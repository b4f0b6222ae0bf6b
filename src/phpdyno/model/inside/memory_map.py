"""The memory map of a worker, by what is mapped."""

from typing import Literal

from msgspec import Struct

MapKind = Literal["program", "libraries", "heap", "anonymous", "shared", "files", "stack"]
"""`program`: code and data of PHP itself. `heap`: what malloc has. `anonymous`: PHP's own memory
manager and everything else without a file. `shared`: memory that all workers share (opcache with
the JIT's buffer, APCu, the scoreboard). `files`: other mapped files."""


class Mapped(Struct, frozen=True):
    """All mappings of one kind in KiB. PSS charges a shared page to its users in equal parts;
    `private_kib` nobody else has mapped."""

    pss_kib: int
    private_kib: int
    rss_kib: int


MemoryMap = dict[MapKind, Mapped]
