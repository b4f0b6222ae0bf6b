"""php-fpm's scoreboard as it lies in shared memory: the layouts of its versions, told apart by what
they hold. Pure.

A pool's scoreboard is a mapping of its own: a head (name, counters), then a slot for each worker
that the pool may have. The head gained fields over the years: `shared` in 8.0, a lock for readers
before the name in 8.3.15, `memory_peak` in 8.4. Slots were reached by pointers until 7.4.24 and
8.0.11. No version number lies in it, so a layout counts only where everything in it fits. 64 bits,
as php-fpm has on x86-64 and on ARM.
"""

import mmap
import struct
from collections.abc import Container

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

SLOT_BYTES = 1168
NAME_BYTES = 32
LEAST_BYTES = 160
MOST_CHILDREN = 1 << 14
OLDEST_S = 946_684_800
"""The year 2000: no pool was started before."""
STRANGER = "none of its workers"
MOST_STRANGERS = 0.5
"""Of its workers: some come and go between a look at the scoreboard and one at the master's
children; in a wrong layout all are."""
STYLES = {1: "static", 2: "dynamic", 3: "ondemand"}
ACCEPTING = 1
"""The stage of a worker that waits for a request; 0 before its first wait, 2 to 6 in a request."""
LAST_STAGE = 6
_COUNTS = struct.Struct("=i4xq3i4xQI3iIi")
"""pm, start_epoch, idle, active, active_max, requests, max_children_reached, lq, lq_max, lq_len,
nprocs, free_proc: from behind the name on, in a head whose name ends at a multiple of 8."""
_SLOT = struct.Struct("=16xi4xqi4xQi4xqqqq")
"""used, start_epoch, pid, requests, request_stage, accepted and duration (each seconds and
microseconds)."""


class ScoreboardLayout(Struct, frozen=True):
    """Where things lie in the scoreboards of some versions of PHP."""

    versions: str
    name_at: int = 16
    shared: bool = True
    peak: bool = False
    pointers: bool = False

    @property
    def counts_at(self) -> int:
        """Where `pm` lies."""
        return self.name_at + NAME_BYTES

    @property
    def counts(self) -> struct.Struct:
        """The counters behind the name, `start_epoch` at the next multiple of 8."""
        return _COUNTS if self.counts_at % 8 == 0 else _COUNTS_CLOSE

    @property
    def procs_at(self) -> int:
        """Where slots, or the pointers to them, begin: behind `slow_rq` and what came after it."""
        return self.counts_at + self.counts.size + 8 * (1 + self.peak + self.shared)

    @property
    def counts_wrong(self) -> bool:
        """Whether these versions' own counters are known to be wrong (php-src issue 16932)."""
        return self.peak and self.name_at == 16


_COUNTS_CLOSE = struct.Struct("=iq3i4xQI3iIi")
"""The same where `pm` lies 4 bytes before a multiple of 8."""
LAYOUTS = (
    ScoreboardLayout("8.0.12 to 8.3.14"),
    ScoreboardLayout("8.3.15 and later of 8.3", name_at=28),
    ScoreboardLayout("8.4.2 and later", name_at=28, peak=True),
    ScoreboardLayout("8.4.0 and 8.4.1", peak=True),
    ScoreboardLayout("7.4.25 and later of 7.4", shared=False),
    ScoreboardLayout("8.0.0 to 8.0.11", pointers=True),
    ScoreboardLayout("up to 7.4.24", shared=False, pointers=True),
)


class Head(Struct, frozen=True):
    """A pool's own counters. `started_s` is in seconds since 1970; a reload makes it anew and sets
    the counters to 0."""

    pool: str
    pm: str
    started_s: int
    idle: int
    active: int
    most_active: int
    requests: int
    max_children_reached: int
    max_children: int
    slow_requests: int


class Slot(Struct, frozen=True, gc=False):
    """A worker. `accepted_s` is by the monotonic clock, 0 before its first request; `duration_s` is
    of its last finished request."""

    pid: int
    requests: int
    stage: int
    accepted_s: float
    duration_s: float

    @property
    def busy(self) -> bool:
        """Whether it is in a request."""
        return self.stage > ACCEPTING


def holds_name(data: bytes, pool: str) -> bool:
    """Whether a mapping begins as the scoreboard of this pool does, in any layout."""
    name = _cut(pool)
    return any(data[at : at + len(name) + 1] == name + b"\0" for at in {layout.name_at for layout in LAYOUTS})


def fault_of(
    data: bytes, layout: ScoreboardLayout, pool: str, *, start: int, mapped: int, now_s: float, workers: Container[int] | None
) -> str:
    """Why `data` is no scoreboard of this layout; '' where everything fits. `start` and `mapped`
    are address and size of its mapping.

    `workers` are the processes that may be in it, None where they are not known.
    """
    name = _cut(pool)
    if data[layout.name_at : layout.name_at + len(name) + 1] != name + b"\0":
        return "the pool's name is not where it should be"
    pm, started, idle, active, _, _, _, _, _, _, nprocs, _ = layout.counts.unpack_from(data, layout.counts_at)
    for wrong, why in (
        (pm not in STYLES, f"pm is {pm}"),
        (not OLDEST_S < started < now_s + 86_400, "its start time is none"),
        (not 1 <= nprocs <= MOST_CHILDREN, f"it has room for {nprocs} workers"),
        (not 0 <= min(idle, active) <= max(idle, active) <= MOST_CHILDREN, f"{active} workers are active and {idle} idle"),
    ):
        if wrong:
            return why
    size = _slots_at(layout, nprocs) + nprocs * SLOT_BYTES
    if mapped != -(-size // mmap.PAGESIZE) * mmap.PAGESIZE or len(data) < size:
        return f"its mapping has {mapped} bytes, and {nprocs} workers want {size}"
    if not _pointers_fit(data, layout, nprocs, start, mapped):
        return "its pointers do not lead to its slots"
    return _fault_of_slots(data, layout, nprocs, workers)


def _pointers_fit(data: bytes, layout: ScoreboardLayout, nprocs: int, start: int, mapped: int) -> bool:
    """Whether every pointer to a slot is its address, and `shared` leads nowhere or to another
    pool: what else stands there is of another layout, where zeros in the wrong place look like
    slots that are free."""
    if layout.shared:
        (shared,) = struct.unpack_from("=Q", data, layout.procs_at - 8)
        if start <= shared < start + mapped:
            return False
    if not layout.pointers:
        return True
    first = start + _slots_at(layout, nprocs)
    return all(found == first + at * SLOT_BYTES for at, found in enumerate(struct.unpack_from(f"={nprocs}Q", data, layout.procs_at)))


def _fault_of_slots(data: bytes, layout: ScoreboardLayout, nprocs: int, workers: Container[int] | None) -> str:
    at = _slots_at(layout, nprocs)
    used, stages, pids = (column(data, at, nprocs, offset) for offset in (16, 48, 32))
    if ((used != 0) & (used != 1)).any():
        return "a slot is neither used nor free"
    taken = used == 1
    if (stages[taken] < 0).any() or (stages[taken] > LAST_STAGE).any():
        return f"a worker is in stage {int(stages[taken].max())}"
    if ((pids[~taken] != 0) | (stages[~taken] != 0)).any():
        return "a free slot has a process"
    strangers = [int(pid) for pid in pids[taken] if pid != 0 and workers is not None and int(pid) not in workers]
    if len(strangers) > MOST_STRANGERS * np.count_nonzero(taken):
        return f"process {strangers[0]} is {STRANGER}"
    return ""


def head_of(data: bytes, layout: ScoreboardLayout) -> Head:
    """The counters of a scoreboard that was found to fit."""
    name = data[layout.name_at : layout.name_at + NAME_BYTES].partition(b"\0")[0]
    pm, started, idle, active, most, requests, reached, _, _, _, nprocs, _ = layout.counts.unpack_from(data, layout.counts_at)
    (slow,) = struct.unpack_from("=Q", data, layout.counts_at + layout.counts.size)
    return Head(
        pool=name.decode("utf-8", "replace"),
        pm=STYLES.get(pm, "?"),
        started_s=started,
        idle=idle,
        active=active,
        most_active=most,
        requests=requests,
        max_children_reached=reached,
        max_children=nprocs,
        slow_requests=slow,
    )


def slots_of(data: bytes, layout: ScoreboardLayout, nprocs: int) -> list[Slot]:
    """The workers that are there now."""
    found, at = [], _slots_at(layout, nprocs)
    for start in range(at, at + nprocs * SLOT_BYTES, SLOT_BYTES):
        used, _, pid, requests, stage, accepted, accepted_us, took, took_us = _SLOT.unpack_from(data, start)
        if used == 1 and pid:
            found.append(Slot(pid, requests, stage, accepted + accepted_us / 1e6, took + took_us / 1e6))
    return found


def busy_of(data: bytes, layout: ScoreboardLayout, nprocs: int) -> int:
    """How many workers are in a request: 3 µs for a hundred."""
    at = _slots_at(layout, nprocs)
    return int(np.count_nonzero(column(data, at, nprocs, 48) > ACCEPTING))


def column(data: bytes, at: int, count: int, offset: int) -> NDArray[np.int32]:
    """A 32-bit field of all slots, without a copy."""
    return np.ndarray((count,), np.int32, data, at + offset, (SLOT_BYTES,))


def _slots_at(layout: ScoreboardLayout, nprocs: int) -> int:
    return layout.procs_at + (8 * nprocs if layout.pointers else 0)


def _cut(pool: str) -> bytes:
    return pool.encode("utf-8", "surrogateescape")[: NAME_BYTES - 1]
