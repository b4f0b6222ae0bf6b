"""The first requests of fresh instances, side by side: they compile every script (most of a warm-up's CPU time), and none is measured."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from phpdyno.drive.driver import Response
from phpdyno.experiment.slot import Lane
from phpdyno.host.cores import Cores, near
from phpdyno.stack.meter import children_of


def wake(lanes: Sequence[Lane], targets: int, cores: Cores, *, at_once: bool = True) -> list[list[Response]]:
    """Ask every lane for every target once; the answers by lane and target.

    Several lanes `at_once`: meanwhile the instances may use all cores that share the memory of the measured ones (a page stays where it was
    first touched), and are back on the measured cores afterwards. One request at a time otherwise, and where there is one core.
    """
    if not at_once:
        return [[lane.driver.fetch(target) for target in range(targets)] for lane in lanes]
    with contextlib.ExitStack() as stack:
        for lane in lanes:
            stack.enter_context(_spread(lane.instance.php_pid, near(cores), cores.measured))
        threads = ThreadPoolExecutor(max_workers=len({*cores.measured, *cores.helpers}))
        try:
            return list(threads.map(lambda lane: [lane.driver.fetch(target) for target in range(targets)], lanes))
        finally:
            # When we are interrupted, the end of its servers ends a request that hangs.
            threads.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _spread(leader: int, wide: Sequence[int], home: Sequence[int]) -> Iterator[None]:
    """Let a process and all below it run on the cores `wide` for a while, then on `home` again."""
    if set(wide) == set(home) or not _move(leader, wide):
        yield
        return
    try:
        yield
    finally:
        _move(leader, home)


def _move(leader: int, cores: Sequence[int]) -> bool:
    """Keep a process and all below it on some cores; parents first, so that what they fork meanwhile follows. False where we may not."""
    moved: set[int] = set()
    while left := [pid for pid in _tree(leader) if pid not in moved]:
        for pid in left:
            moved.add(pid)
            try:
                os.sched_setaffinity(pid, cores)
            except PermissionError:
                return False
            except ProcessLookupError:
                continue
    return True


def _tree(leader: int) -> list[int]:
    """A process and its descendants, parents before their children."""
    found = [leader]
    for pid in found:
        found += children_of(pid)
    return found
