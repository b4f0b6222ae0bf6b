"""How many workers there may be at most, and which limit says so."""

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from phpdyno.stats.capacity.memory import PoolCost, Tenant

CORES_FULL = 0.95
"""From this utilisation of the cores on no number of workers brings more throughput."""

CapKey = Literal["memory", "memory_worst", "process_max", "max_connections", "asked"]
"""memory: of the pool as it is. memory_worst: each worker having served the heaviest target.
process_max: php-fpm's. max_connections: the database's. asked: the user's."""

_WORDS: dict[CapKey, str] = {
    "memory": "memory: {workers} workers fit",
    "memory_worst": "memory: {workers} workers fit once each has served the heaviest target",
    "process_max": "php-fpm's process.max leaves this pool {workers} workers",
    "max_connections": "the database's max_connections leaves this pool {workers} workers",
    "asked": "{workers} workers were asked for at most",
}


class Cap(Struct, frozen=True):
    """At most `workers`, because of `limit` (KiB for memory, else a number of processes or
    connections) of which `taken` is others'."""

    key: CapKey
    workers: int
    limit: float
    taken: float = 0.0

    @property
    def words(self) -> str:
        """One line for a reader."""
        return _WORDS[self.key].format(workers=self.workers)


class Caps(Struct, frozen=True):
    """All that limit the number of workers, tightest first. `unreadable` names limits that are
    there but could not be read: a cap that is not known is not "no cap". `cores_full`: the cores
    have no time left; None where that is not known. It is no cap by itself."""

    caps: tuple[Cap, ...]
    unreadable: tuple[str, ...] = ()
    cores_full: bool | None = None

    @property
    def tightest(self) -> Cap | None:
        """The one that decides; None where nothing is limited by what could be read."""
        return self.caps[0] if self.caps else None

    @property
    def most(self) -> int | None:
        """The most workers; 0 where not even one fits, None without a cap."""
        return self.caps[0].workers if self.caps else None


def all_caps(caps: Sequence[Cap | None], *, unreadable: Sequence[str] = (), cores_used: float | None = None, cores: float = 1.0) -> Caps:
    """Puts them in order; None stands for a limit that is not there. `cores_used`: busy cores with
    the pool at work, of `cores`.

    Raises ValueError: no cores, or negative use of them.
    """
    if not cores > 0.0 or (cores_used is not None and not cores_used >= 0.0):
        raise ValueError(f"{cores_used} of {cores} cores cannot be busy")
    full = None if cores_used is None else cores_used >= CORES_FULL * cores
    return Caps(tuple(sorted((cap for cap in caps if cap is not None), key=lambda cap: cap.workers)), tuple(unreadable), full)


def memory_cap(
    cost: PoolCost, limit_kib: float | None, *, reserve_kib: float = 0.0, others: Sequence[Tenant] = (), worst: bool = False
) -> Cap | None:
    """What a memory limit leaves beside a reserve and other pools that are full at the same time;
    None without a limit."""
    if limit_kib is None:
        return None
    taken = reserve_kib + math.fsum(other.cost.total_kib(other.workers) for other in others)
    return Cap("memory_worst" if worst else "memory", cost.most_workers(limit_kib, taken), limit_kib, taken)


def process_max_cap(process_max: int, others: int = 0) -> Cap | None:
    """What php-fpm's process.max (0: no limit) leaves beside `others`, the workers of its other
    pools. Raises ValueError: negative."""
    _not_negative(process_max, others)
    return Cap("process_max", max(0, process_max - others), process_max, others) if process_max else None


def connections_cap(max_connections: int, *, reserved: int = 0, others: int = 0, each: float = 1.0) -> Cap:
    """What the database's max_connections leaves beside `reserved` (for its administrators) and
    `others`, of which a worker uses `each`.

    Raises ValueError: negative numbers, or workers that use no connection.
    """
    _not_negative(max_connections, reserved, others)
    if not each > 0.0:
        raise ValueError(f"a worker uses a positive number of connections, not {each}")
    taken = reserved + others
    return Cap("max_connections", max(0, math.floor((max_connections - taken) / each + 1e-9)), max_connections, taken)


def asked_cap(most: int) -> Cap:
    """The user's own limit. Raises ValueError: below one."""
    if most < 1:
        raise ValueError(f"at least one worker may be asked for, not {most}")
    return Cap("asked", most, most)


def _not_negative(*numbers: int) -> None:
    if min(numbers) < 0:
        raise ValueError(f"limits and what others take are not negative: {numbers}")
