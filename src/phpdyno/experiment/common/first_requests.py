"""The first requests of fresh instances, side by side: they compile every script (most of a
warm-up's CPU time), and none is measured."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from phpdyno._native import OUTCOMES
from phpdyno.drive.driver import Response
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.experiment.common.stage import LiveInstance
from phpdyno.host.cores import Cores, near
from phpdyno.servers.facts.meter import children_of, is_asleep
from phpdyno.servers.instance import ArmFailed

NO_END = "timed_out"
"""The outcome of a request that was waited for as long as for any."""
HOME_S = 10.0
"""A master that is still forking after so long never ends."""
POLL_S = 0.001


def make_first_requests(
    driven_instances: Sequence[DrivenInstance], targets: int, cores: Cores, *, at_once: bool = True
) -> list[list[Response]]:
    """Ask every driven instance for every target once; the answers by driven instance and target.

    Several driven instances `at_once`: meanwhile the instances may use all cores that share the
    memory of the measured ones (a page stays where it was first touched), and are back on the
    measured cores afterwards. One request at a time otherwise, and where there is one core.

    Raises ArmFailed for an instance whose processes do not come back.
    """
    if not at_once:
        return [_first_answers(driven, targets) for driven in driven_instances]
    with contextlib.ExitStack() as stack:
        for driven in driven_instances:
            stack.enter_context(_spread(driven.instance, near(cores), cores.measured))
        threads = ThreadPoolExecutor(max_workers=len({*cores.measured, *cores.helpers}))
        try:
            return list(threads.map(lambda driven: _first_answers(driven, targets), driven_instances))
        finally:
            # When we are interrupted, the end of its servers ends a request that hangs.
            threads.shutdown(wait=False, cancel_futures=True)


def _first_answers(driven: DrivenInstance, targets: int) -> list[Response]:
    """A fresh instance's answer to every target. One that hangs is asked no further: each request
    would wait for half a minute, and what it did not answer to the first stands for all."""
    given: list[Response] = []
    for target in range(targets):
        given.append(driven.driver.fetch(target))
        if OUTCOMES[given[-1].outcome] == NO_END:
            return given + [given[-1]] * (targets - len(given))
    return given


@contextlib.contextmanager
def _spread(instance: LiveInstance, wide: Sequence[int], home: Sequence[int]) -> Iterator[None]:
    """Let an instance's processes run on the cores `wide` for a while, then on `home` again. Raises
    ArmFailed."""
    if set(wide) == set(home) or not _move(instance.php_pid, wide):
        yield
        return
    try:
        yield
    except BaseException:
        # An interrupt is what is told then, whatever becomes of its processes.
        _move(instance.php_pid, home)
        raise
    _bring_home(instance, home)


def _bring_home(instance: LiveInstance, home: Sequence[int]) -> None:
    """Move an instance's processes to `home`, those included that its leader is forking just now.
    Raises ArmFailed when some stay away.

    A large pool is still being forked when its first worker answers, and the fork that is under way
    while the leader is moved makes a worker with the leader's former cores, which nobody sees yet.
    (One of a hundred with a core to itself took half of all requests.) Whoever is seen asleep
    afterwards has no fork under way.
    """
    leader, deadline = instance.php_pid, time.monotonic() + HOME_S
    while True:
        _move(leader, home)
        if is_asleep(leader) and _is_home(leader, home):
            return
        if time.monotonic() > deadline:
            raise ArmFailed(instance.arm, f"its processes are not all on the cores that it is measured on after {HOME_S:.0f} s")
        time.sleep(POLL_S)


def _is_home(leader: int, home: Sequence[int]) -> bool:
    for pid in _tree(leader):
        with contextlib.suppress(ProcessLookupError):
            if os.sched_getaffinity(pid) != set(home):
                return False
    return True


def _move(leader: int, cores: Sequence[int]) -> bool:
    """Keep a process and all below it on some cores; parents first, so that what they fork
    meanwhile follows. False where we may not."""
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
