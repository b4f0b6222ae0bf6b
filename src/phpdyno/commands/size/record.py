"""The record of a run of `size`, `size.jsonl`: what was asked, the host, every pool that was
measured, and what was decided of it."""

from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from phpdyno.commands.size.request import SizeRequest
from phpdyno.errors import DynoError
from phpdyno.journal.reader import decode_lines, there
from phpdyno.journal.records import ReachedFor
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.bottleneck import Bottleneck
from phpdyno.model.runs.sweep import Visit
from phpdyno.model.workload import Workload

SIZE_FILE = "size.jsonl"
SIZE_SCHEMA = 1
Stage = Literal["search", "confirm"]
Manager = Literal["static", "dynamic", "ondemand"]
MOST_ROUNDS = 8
"""Rounds of one confirmation at most; those after a revision are numbered from here on."""
Reason = Literal["knee", "objective", "unsure", "nothing", "cap"]


class SizeHeader(Struct, frozen=True, tag="header"):
    """First line. `arm` is a pool of one worker: all others differ from it in their number of
    workers.

    `own_workers` is how many the control names (the running pool, with `live`), None where it names
    none.
    """

    schema: int
    phpdyno: str
    started: str
    argv: tuple[str, ...]
    asked: SizeRequest
    app: str
    app_version: str
    workload: Workload
    arm: Arm
    own_workers: int | None = None


class SizeHost(Struct, frozen=True, tag="host"):
    """The host before a session, and what it warned of."""

    host: HostFacts
    warnings: tuple[str, ...]
    argv: tuple[str, ...] = ()


class PoolLimit(Struct, frozen=True):
    """One limit on the number of workers: its kind, its value (KiB, or a count), and where it was
    read. `value` is None where it is known that there is none, `unread` says why it could not be
    read."""

    kind: Literal["memory", "process_max", "connections", "asked"]
    value: int | None
    source: str
    unread: str = ""


class LimitsRead(Struct, frozen=True, tag="limits"):
    """What limits the pool, read once. `free_kib` is what the host could still give then; `others`
    are other pools that run here, each with what it may grow by (KiB). `connections_here` is what
    the private database allows, None without one."""

    limits: tuple[PoolLimit, ...]
    free_kib: int
    others: dict[str, int] = {}
    connections_here: int | None = None


class PoolMeasured(Struct, frozen=True, tag="pool"):
    """A fresh static pool of so many workers and its visits, each at another number of requests in
    flight; `at_s` is when it ended, in seconds of the budget. `threads` is on how many the
    generator drove. The first visit's `memory` is the pool's after that load."""

    stage: Stage
    workers: int
    round: int
    visits: tuple[Visit, ...]
    at_s: float
    threads: int = 1


class TargetsChosen(Struct, frozen=True, tag="chosen"):
    """Which targets are looked at by themselves, by their labels, and how many are not."""

    labels: tuple[str, ...]
    left_out: int


class MemoryStep(Struct, frozen=True):
    """One worker after so many requests in all: what is its own and its PSS, KiB."""

    requests: int
    private_kib: int
    pss_kib: int


class TargetMeasured(Struct, frozen=True, tag="target"):
    """What one target costs by itself, on a fresh worker that served nothing else: its memory as
    requests go on, the median CPU of PHP and the mean time of an answer, nanoseconds.
    `php_limit_kib` is PHP's own memory_limit, None without one."""

    label: str
    steps: tuple[MemoryStep, ...]
    cpu_ns: int
    wall_ns: int
    php_limit_kib: int | None
    at_s: float


class ManagerMeasured(Struct, frozen=True, tag="manager"):
    """One way to manage workers, through idle, burst and idle again.

    `first_ms` is the time of the first answer after the idle spell, None where it was no valid one.
    `burst` is the open visit: `rate_per_s` for `burst_s`. `workers` are counts over time, (seconds
    from the burst's start, workers), until some seconds after its end. `forks` is how many were
    started in the burst, `idle_pss_kib` the memory of the pool before it.
    """

    manager: Manager
    settings: dict[str, str]
    first_ms: float | None
    burst: Visit
    burst_s: float
    workers: tuple[tuple[float, int], ...]
    forks: int
    idle_workers: int
    idle_pss_kib: int | None
    at_s: float


class ManagerFailed(Struct, frozen=True, tag="manager-failed"):
    """One way to manage workers that could not be tried, and why."""

    manager: Manager
    why: str


class Stopped(Struct, frozen=True, tag="stopped"):
    """A pool that was ended before it exhausted the host's memory: its workers, and what was free
    then."""

    stage: str
    workers: int
    free_kib: int


class Recommended(Struct, frozen=True, tag="recommended"):
    """What was decided before it was confirmed: workers, and the reason by its kind.

    `reason` is `knee` (the smallest pool near the best throughput), `objective` (the smallest that
    holds it), `unsure` (the one that comes closest to it, but not for certain), `nothing` (none
    holds it: the knee is taken) or `cap` (a limit is met before). `share` is its throughput over
    the best as the search saw it. `cap` is the most workers that the limits allow, None without a
    limit, by the limit named in `cap_by`.
    """

    workers: int
    reason: Reason
    share: float
    cap: int | None
    cap_by: str
    knee: int
    beside: tuple[int, ...]
    rate_per_s: float
    predicted_p99_ms: float | None
    predicted_low_ms: float | None
    predicted_high_ms: float | None


class ForetoldAt(Struct, frozen=True):
    """One rate of arrivals: the 99th percentile of the response times (ms) by the simulation and by
    M/G/c, and the share that waits."""

    rate_per_s: float
    p99_ms: float
    mgc_p99_ms: float | None
    waits: float


class Foretold(Struct, frozen=True, tag="foretold"):
    """Response times of the recommended pool over the rate of arrivals, from the search's curve."""

    workers: int
    points: tuple[ForetoldAt, ...]


class SizeConcluded(Struct, frozen=True, tag="concluded"):
    """What limited the recommended pool when it was saturated, judged when it had been confirmed;
    None where that could not be read. `somaxconn` is the kernel's longest listen queue."""

    bottleneck: Bottleneck | None
    somaxconn: int | None


class SizeEnded(Struct, frozen=True, tag="end"):
    """How a session ended."""

    outcome: Literal["finished", "interrupted", "failed"]
    detail: str
    spent_s: float


SizeRecord = (
    SizeHeader
    | SizeHost
    | ReachedFor
    | LimitsRead
    | PoolMeasured
    | TargetsChosen
    | TargetMeasured
    | ManagerMeasured
    | ManagerFailed
    | Stopped
    | Recommended
    | Foretold
    | SizeConcluded
    | SizeEnded
)
_DECODER: msgspec.json.Decoder[SizeRecord] = msgspec.json.Decoder(SizeRecord)
_R = TypeVar("_R", bound=Struct)


def cores_of(host: HostFacts) -> int:
    """Cores' worth of CPU that php-fpm has: those it may use, unless the cgroup's limit gives less
    time."""
    here = len(host.measured_cores)
    return here if host.cpu_quota_cores is None else max(1, min(here, round(host.cpu_quota_cores)))


class SizeRun(Struct, frozen=True):
    """All that is recorded of a run, in order."""

    header: SizeHeader
    records: tuple[SizeRecord, ...]

    def all_of(self, kind: type[_R]) -> tuple[_R, ...]:
        """The records of one kind."""
        return tuple(record for record in self.records if isinstance(record, kind))

    def last(self, kind: type[_R]) -> _R | None:
        """The last record of one kind; None without one."""
        return next(reversed(self.all_of(kind)), None)

    @property
    def finished(self) -> bool:
        """Whether the last session got to its end."""
        end = self.last(SizeEnded)
        return end is not None and end.outcome == "finished"

    @property
    def spent_s(self) -> float:
        """Seconds of the budget that are used up."""
        told = [float(getattr(record, "at_s", 0.0) or getattr(record, "spent_s", 0.0)) for record in self.records]
        return max(told, default=0.0)


def read_size(run: Path) -> SizeRun:
    """What is recorded; a last line that was cut off is left out.

    Raises UsageError where there is nothing, DynoError for a damaged or newer record.
    """
    path = there(run / SIZE_FILE if run.is_dir() else run, run, what="run of size", like="runs/<time>-size-<app>")
    records = decode_lines(path.read_bytes().split(b"\n")[:-1], _DECODER, path=path, what="run of size", schema=SIZE_SCHEMA)
    if not records or not isinstance(records[0], SizeHeader):
        raise DynoError("this run cannot be used: it does not begin with a header", where=str(path))
    return SizeRun(records[0], tuple(records))
