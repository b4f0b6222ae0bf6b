"""Which cores the measured instance gets, and which the generator, the database and we ourselves
share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct


class Cores(Struct, frozen=True):
    """`measured` for the instance under test, `helpers` for everything else; the same single core
    when there is only one.

    `nginx` are nginx's own; empty: it is one of the helpers.
    """

    measured: tuple[int, ...]
    helpers: tuple[int, ...]
    nginx: tuple[int, ...] = ()


LOADED_SHARE = 3
"""Where throughput is compared a third of the cores is for generator, nginx and database: with one
of many they are full before PHP is, and nothing can be said."""


def split_cores(
    available: tuple[int, ...] | None = None, workers: int = 1, *, nginx_beside_php: bool = False, compared: bool = False
) -> Cores:
    """The last core(s) for the instance, as many as it has busy workers, at least one core for the
    rest.

    Core 0 stays with the helpers: interrupts of most machines land there. `nginx_beside_php`: nginx
    runs where PHP does, as it must where it is compared with a web server that has PHP in itself:
    on cores of its own it would be a gift to one side. `compared`: arms under load are held against
    each other, so that it matters more that the rest has room than how many cores PHP has.
    """
    cores = tuple(sorted(os.sched_getaffinity(0))) if available is None else available
    if len(cores) == 1:
        return Cores(cores, cores)
    rest = max(1, len(cores) // LOADED_SHARE) if compared else 1
    count = max(1, min(workers, len(cores) - rest))
    measured = cores[-count:]
    return Cores(measured, cores[:-count], measured if nginx_beside_php else ())


def near(cores: Cores, root: Path = Path("/")) -> tuple[int, ...]:
    """The measured cores and those helpers that share a memory node with one of them."""
    home = {_node(core, root) for core in cores.measured}
    return tuple(sorted({*cores.measured, *(core for core in cores.helpers if _node(core, root) in home)}))


def _node(core: int, root: Path) -> str:
    """The memory node of a core (`node0`); '' on a host that tells none."""
    return next((place.name for place in (root / f"sys/devices/system/cpu/cpu{core}").glob("node[0-9]*")), "")


@contextmanager
def on_cores(cores: tuple[int, ...]) -> Iterator[None]:
    """Keep this process, and so the generator, on some cores for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
