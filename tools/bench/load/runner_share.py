"""Section `runner`: what measuring itself costs, on a real comparison."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.errors import DynoError
from phpdyno.host.cores import split_cores
from phpdyno.host.lock import MeasuringLock
from phpdyno.servers.instance import Instance
from phpdyno.servers.supervision.supervisor import Supervisor
from tools.bench.figures import Figure, Target, share_figure
from tools.bench.results import Room, Say, Sizes
from tools.bench.stand import control_arm, prepared, require_answer, standing

SHARE_TARGET = Target("≤ 2 %", at_most=0.02)
IDLE_TARGET = Target("≤ 1 %", at_most=0.01)
ARMS = 4
SETTLE_S = 1.0
GRACE_S = 60.0


class Share(Struct, frozen=True):
    """Of the span from a block's first slot to its last: the part between slots, and the part with
    no request under way."""

    between: float
    unused: float


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    room.say(f"phpdyno compare hello --aa --budget {sizes.budget_s:.0f}s")
    run = compare_once(sizes, room.logs)
    blocks = list(read_shares(run))
    unused = sum(block.unused for block in blocks) / len(blocks)
    share = share_figure(
        "the runner's own time between slots, of the measuring time: `compare hello --aa`",
        [block.between for block in blocks],
        of="blocks",
        target=SHARE_TARGET,
        detail=f"{100 * unused:.1f} % of it without a request under way, the wait for idle workers included",
    )
    return [share, measure_idle(sizes, room.logs, room.say)]


# ---- between slots ---------------------------------------------------------------------------


def compare_once(sizes: Sizes, logs: Path) -> Path:
    """A real comparison as a command of its own, below our guardian; the run's directory."""
    runs = logs.parent / "compare"
    shutil.rmtree(runs, ignore_errors=True)
    argv = [sys.executable, "-m", "phpdyno", "compare", "hello", "--aa", "--budget", f"{sizes.budget_s:.0f}s", "--runs", str(runs)]
    with Supervisor(logs) as supervisor:
        child = supervisor.run("compare", argv, env=dict(os.environ), as_service=False, timeout_s=sizes.budget_s + GRACE_S)
        if child.status != 0:
            raise DynoError(f"phpdyno compare {child.ended_how()}: {child.tail()}")
    (run,) = runs.iterdir()
    return run


def read_shares(run: Path) -> Iterator[Share]:
    """The shares of every block of a run, from its samples."""
    for path in sorted((run / "samples").glob("block-*.npz")):
        with np.load(path) as samples:
            yield share_of(samples["slot"], samples["slot_wall_ns"], samples["sent_ns"], samples["done_ns"])


def share_of(slot: NDArray[np.int64], wall_ns: NDArray[np.int64], sent_ns: NDArray[np.uint64], done_ns: NDArray[np.uint64]) -> Share:
    """`slot` gives the row in `wall_ns` of each request. A slot begins, to within microseconds,
    with its first request."""
    count = len(wall_ns)
    first, last = np.full(count, np.iinfo(np.int64).max), np.zeros(count, dtype=np.int64)
    np.minimum.at(first, slot, sent_ns.astype(np.int64))
    np.maximum.at(last, slot, done_ns.astype(np.int64))
    span = int((first + wall_ns).max() - first.min())
    return Share(between=1.0 - int(wall_ns.sum()) / span, unused=1.0 - int((last - first).sum()) / span)


# ---- idle arms -------------------------------------------------------------------------------


def measure_idle(sizes: Sizes, logs: Path, say: Say) -> Figure:
    """CPU of arms that nobody drives, as a share of one core: the worst of them, and the range."""
    say(f"{ARMS} idle arms for {sizes.idle_s:.0f} s")
    with (
        MeasuringLock(),
        prepared("hello", logs, say) as (supervisor, app),
        standing(supervisor, app, split_cores()) as stand,
        stand.bench.running([control_arm()] * ARMS) as instances,
    ):
        for instance in instances:
            require_answer(stand, instance)
        time.sleep(SETTLE_S)
        before, start_ns = [_used_ns(instance) for instance in instances], time.monotonic_ns()
        time.sleep(sizes.idle_s)
        wall_ns = time.monotonic_ns() - start_ns
        shares = sorted((_used_ns(instance) - used) / wall_ns for instance, used in zip(instances, before, strict=True))
    name = "CPU of an idle arm of hello (php-fpm and nginx), of one core"
    basis = f"worst and range of {ARMS} arms over {sizes.idle_s:.0f} s"
    return Figure(name, "%", shares[-1], shares[0], shares[-1], basis, IDLE_TARGET)


def _used_ns(instance: Instance) -> int:
    return sum(meter.read_ns() for meter in (instance.php_meter, instance.web_meter) if meter is not None)
