"""The processor's counters per request, by `perf stat` on a warm worker. Virtual machines often
have none."""

import math
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from phpdyno.drive.driver import failures
from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.experiment.comparison.schedule import deal
from phpdyno.explain.tracing.attached import attached
from phpdyno.host.checkup.trials import try_cycles
from phpdyno.host.cores import on_cores
from phpdyno.model.arm import Arm
from phpdyno.model.inside.counters import CounterReading, HardwareCounters
from phpdyno.model.plan import Panel
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

EVENTS = ("instructions", "cycles", "branch-misses", "cache-misses", "iTLB-load-misses")
ROUNDS = 5
ROUND_S = 0.6
ATTACH_S = 10.0
NONE_HERE = "this machine has no hardware counters (virtual machines often have none)"
FORBIDDEN = "hardware counters are forbidden here"
_OPEN = "anon_inode:[perf_event]"


class CannotReadCounters(DynoError):  # noqa: N818 (it names the finding: this host has none to read)
    """There are no hardware counters here, or we may not read them. Whatever else was asked for
    goes on."""


class Count(Struct, frozen=True):
    """How often an event happened, and in what share of the time it was really counted."""

    value: float
    running: float


class CountersRead(Struct):
    """Filled when the counting ends; an event that is not counted here is not in it."""

    counts: dict[str, Count] = field(default_factory=dict)


def need_counters() -> str:
    """Path of perf, on a machine that counts. Raises CannotReadCounters in one line."""
    trial = try_cycles()
    if trial.outcome == "absent":
        raise CannotReadCounters(NONE_HERE)
    if trial.outcome == "forbidden":
        raise CannotReadCounters(FORBIDDEN, next_step="run as root, or: sudo sysctl -w kernel.perf_event_paranoid=2")
    try:
        return find_program("perf")
    except DynoError as error:
        raise CannotReadCounters(error.what, next_step=error.next_step) from error


def counts_in(table: str) -> dict[str, Count]:
    """What `perf stat -x,` says of each event that was counted. Pure."""
    found = {}
    for line in table.splitlines():
        cells = line.split(",")
        if len(cells) < 5 or line.startswith("#"):
            continue
        try:
            found[cells[2]] = Count(float(cells[0]), float(cells[4]) / 100)
        except ValueError:
            continue  # <not supported>, <not counted>
    return found


@contextmanager
def counting(supervisor: Supervisor, name: str, pids: Sequence[int], events: Sequence[str], *, perf: str) -> Iterator[CountersRead]:
    """Count events of processes while the block lasts; the result is filled when it ends. Raises
    CannotReadCounters."""
    folder = supervisor.live / "perf"
    folder.mkdir(mode=0o700, exist_ok=True)
    table = folder / f"{name}.csv"
    argv = [perf, "stat", "-x,", "-e", ",".join(events), "-o", str(table), "-p", ",".join(map(str, pids))]
    found = CountersRead()
    with attached(supervisor, f"perf-{name}", argv, _await_open):
        yield found
    try:
        found.counts = counts_in(table.read_text(errors="replace"))
    except OSError as error:
        raise CannotReadCounters(f"perf left no table of its counts: {error.strerror}", where=str(table)) from error


def _await_open(child: Child) -> None:
    """perf says nothing when it begins: it holds its counters open by then. Raises
    CannotReadCounters."""
    deadline = time.monotonic() + ATTACH_S
    while not _holds_counter(child.pid):
        if not child.alive():
            raise CannotReadCounters(f"perf {child.ended_how()}: {child.tail()}")
        if time.monotonic() > deadline:
            raise CannotReadCounters(NONE_HERE)
        time.sleep(0.005)
    # Opened all, it writes to its own table next: one look more than the first counter needs.
    time.sleep(0.05)


def _holds_counter(pid: int) -> bool:
    try:
        return any(os.readlink(link) == _OPEN for link in Path(f"/proc/{pid}/fd").iterdir())  # noqa: PTH115 (it leads nowhere)
    except OSError:
        return False


def count_events(
    bench: Bench, arm: Arm, shared: SharedMeters, *, events: Sequence[str] = EVENTS, rounds: int = ROUNDS, seed: int = 1, progress: Progress
) -> HardwareCounters:
    """Events per request of an arm's worker, in user space and the kernel, several rounds of
    requests in their mix.

    Raises CannotReadCounters, ArmFailed when the arm does not start or its requests fail.
    """
    perf = need_counters()
    return count_with(perf, bench, arm, shared, events=events, rounds=rounds, seed=seed, progress=progress)


def count_with(
    perf: str, bench: Bench, arm: Arm, shared: SharedMeters, *, events: Sequence[str], rounds: int, seed: int, progress: Progress
) -> HardwareCounters:
    """The same with events that need not be the processor's (`page-faults`)."""
    workload = bench.app_of(arm).workload
    weights = [target.weight for target in workload.targets]
    found: list[Mapping[str, Count]] = []
    with on_cores(bench.cores.helpers), bench.running([arm]) as (instance,):
        driven = driven_instance(instance, bench, Panel("cpu", arm, (), 1), workload=workload, transport=bench.transport, lengths={})
        with closing(driven.driver):
            warm = warm_up(driven, shared, metric="cpu", weights=weights, env_names=(), workers=1)
            requests = max(len(weights), math.ceil(ROUND_S * 1e9 / max(1, warm.request_wall_ns)))
            for number in range(rounds):
                progress.tick(number, rounds, "reading hardware counters")
                deck = deal(np.random.default_rng(seed + number), weights, requests)
                with counting(
                    bench.supervisor, f"counters-{instance.number}-{number}", children_of(instance.php_pid), events, perf=perf
                ) as one:
                    failure = failures(driven.driver.drive(deck))
                    instance.await_idle()
                if failure:
                    raise ArmFailed(arm, f"requests fail while perf counts: {failure}")
                found.append(one.counts)
    return counters_in(arm.name, found, events, requests)


def counters_in(arm: str, rounds: Sequence[Mapping[str, Count]], events: Sequence[str], requests: int) -> HardwareCounters:
    """What rounds of `requests` each say of a request; an event that one of them lacks is absent.
    Pure. Raises CannotReadCounters."""
    readings = []
    for event in events:
        if all(event in each for each in rounds):
            per_request = tuple(each[event].value / requests for each in rounds)
            running = min(each[event].running for each in rounds)
            readings.append(CounterReading(event, per_request, statistics.median(per_request), min(per_request), max(per_request), running))
    if not readings:
        raise CannotReadCounters(NONE_HERE)
    absent = tuple(event for event in events if event not in {each.event for each in readings})
    return HardwareCounters(arm, requests * len(rounds), tuple(readings), absent)
