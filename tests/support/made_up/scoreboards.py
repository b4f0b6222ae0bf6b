"""Scoreboards of php-fpm as bytes, field by field as the headers of its versions declare them
(x86-64: natural alignment)."""

import mmap
import struct
from collections.abc import Sequence

from msgspec import Struct

from phpdyno.servers.live.scoreboard import SLOT_BYTES, ScoreboardLayout

START = 0x7F00_0000_0000
"""Where the mapping lies."""


class Laid(Struct):
    """A worker in a slot."""

    pid: int
    requests: int = 1
    stage: int = 1
    accepted_s: float = 5.5
    duration_s: float = 0.25


def slot_bytes(worker: Laid | None) -> bytes:
    """`struct fpm_scoreboard_proc_s`: lock 16, used, start_epoch, pid, requests, stage, four times,
    then texts and CPU times."""
    if worker is None:
        return bytes(SLOT_BYTES)
    times = b"".join(struct.pack("=qq", int(value), round(value % 1 * 1e6)) for value in (worker.accepted_s, worker.duration_s))
    head = struct.pack("=16xi4xqi4xQi4x", 1, 1_700_000_000, worker.pid, worker.requests, worker.stage) + times
    texts = b"/index.php".ljust(128, b"\0") + b"a=1".ljust(512, b"\0") + b"GET".ljust(16, b"\0")
    return (head + struct.pack("=qqq", 1_700_000_000, 5, 0) + texts + struct.pack("=Q", 0) + b"/srv/index.php").ljust(SLOT_BYTES, b"\0")


def scoreboard(
    layout: ScoreboardLayout,
    workers: Sequence[Laid | None],
    *,
    pool: str = "www",
    pm: int = 2,
    idle: int = 1,
    active: int = 1,
    requests: int = 77,
    started_s: int = 1_700_000_000,
) -> bytes:
    """`struct fpm_scoreboard_s` with its slots, filled up to whole pages."""
    data = bytes(16)
    if layout.name_at == 28:
        data += struct.pack("=QI", 0, 0)  # writer_active, reader_count
    data += pool.encode()[:31].ljust(32, b"\0") + struct.pack("=i", pm)
    data += bytes(-len(data) % 8) + struct.pack("=qiii", started_s, idle, active, 9)
    data += bytes(-len(data) % 8) + struct.pack("=QIiiIIi", requests, 3, 0, 0, 0, len(workers), 0)
    data += bytes(-len(data) % 8) + struct.pack("=Q", 4)  # slow_rq
    data += struct.pack("=Q", 1 << 20) * layout.peak + struct.pack("=Q", 0) * layout.shared
    if layout.pointers:
        first = START + len(data) + 8 * len(workers)
        data += struct.pack(f"={len(workers)}Q", *(first + at * SLOT_BYTES for at in range(len(workers))))
    data += b"".join(map(slot_bytes, workers))
    return data + bytes(-len(data) % mmap.PAGESIZE)
