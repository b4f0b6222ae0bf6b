"""A sweep: what an app does as more is asked of it at once. Its plan, and what one visit of a point
yields."""

from collections.abc import Iterable

from msgspec import Struct, field

from phpdyno.model.arm import Arm
from phpdyno.model.arrival import Arrivals
from phpdyno.model.plan import MAX_LAG, MeasuringTerms
from phpdyno.model.runs.readings import PoolMemory, PoolStatus, QueueLevels
from phpdyno.model.workload import Workload

MAX_STEAL_OF_A_VISIT = 0.25
"""Less than of a block: a sweep shows absolute figures."""


class Point(Struct, frozen=True, order=True):
    """A load: `concurrency` requests in flight (closed loop), or, where `open_share` is above 0,
    arrivals at that share of saturation as the first round showed it (open loop; `concurrency` is
    then the most connections)."""

    concurrency: int
    open_share: float = 0.0


OPEN_CONNECTIONS = 100
"""At least so many in an open loop: arrivals that come close together should meet the server, not
our own limit."""


def points_of(loads: Iterable[int], open_share: float = 0.0, *, kept: bool = False) -> tuple[Point, ...]:
    """Closed loops, the smallest first, and one open loop unless its share is 0; it has as many
    connections as the largest, or 100.

    Never 100 where FastCGI connections are `kept`: each holds a worker. What is due while all are
    busy then waits for one of them, as it does in a web server with so many kept connections; the
    wait is in its response time.
    """
    closed = tuple(Point(load) for load in sorted(loads))
    if not open_share:
        return closed
    least = 1 if kept else OPEN_CONNECTIONS
    return (*closed, Point(max([least, *(point.concurrency for point in closed)]), open_share))


POINTS = points_of((1, 3, 5, 10, 20, 30, 40, 50, 100), 0.7)
"""The loads of a sweep of which nobody said any."""


class SweepTerms(MeasuringTerms, frozen=True, kw_only=True):
    """What a request to measure says and the plan of the sweep takes over as it is: declared once
    for both.

    Every round visits each of `points`. A closed visit lasts `visit_s` or 20 requests for each in
    flight, whichever is longer; `arrivals` says how those of an open loop follow each other. Where
    the fewest rounds with an interval need more than the budget, it grows up to `most_budget_s`
    (0: it does not).
    `cross_check`: other people's generators take turns with ours afterwards, beside the budget.
    `keep_conn`: with FastCGI, a visit's connections are kept (FCGI_KEEP_CONN).
    """

    points: tuple[Point, ...] = POINTS
    visit_s: float = 1.0
    arrivals: Arrivals = "poisson"
    cross_check: bool = False
    keep_conn: bool = False
    most_budget_s: float = 0.0


class SweepPlan(SweepTerms, frozen=True):
    """Everything that was decided before a sweep.

    A round starts one fresh instance of every arm and visits every point of each once, in an order
    drawn from `seed`; rounds are what intervals are over. `confidence` holds for each figure by
    itself.
    """

    app: str
    app_version: str
    workload: Workload
    arms: tuple[Arm, ...]
    max_steal: float = MAX_STEAL_OF_A_VISIT
    max_lag: float = MAX_LAG


class VisitCpu(Struct, frozen=True):
    """CPU over one visit in nanoseconds, by component, and of the cores; `network_ns` is time in
    (soft) interrupts on them, which is contained in the components' own unless `network_apart`.
    `wall_ns` is how long it was between the readings, a little longer than the driving; 0 where
    that was not noted. None is what could not be read or is not there. `services_ns` is by the name
    of the service."""

    php_ns: int
    generator_ns: int
    web_ns: int | None = None
    database_ns: int | None = None
    php_cores_ns: int | None = None
    helper_cores_ns: int | None = None
    stolen_ns: int | None = None
    network_ns: int | None = None
    network_apart: bool | None = None
    wall_ns: int = 0
    services_ns: dict[str, int] = field(default_factory=dict)


class TargetTimes(Struct, frozen=True):
    """Times of one target's valid answers over one visit as an HDR histogram (three significant
    digits): which times (nanoseconds, ascending) were seen how often. Service times in a closed
    loop, response times in an open one."""

    target: int
    times_ns: tuple[int, ...]
    counts: tuple[int, ...]


class Visit(Struct, frozen=True):
    """One point of one arm in one round.

    `requests` were sent (open loop: intended), `valid` of them answered as expected, `kinds` counts
    the others. `drive_ns` is the time from the first request to the last answer; `rate_per_s` what
    was offered (open loop, else 0). `busy_workers` is the mean of the status page's active ones
    where it could be asked. `lag_p99_ns` and `queued` (requests that waited for a connection) are
    an open loop's. The generator drove on `threads`. `excluded` names the covariate, declared
    beforehand, for which the visit does not count; '' when it counts.
    """

    arm: str
    point: Point
    round: int
    requests: int
    valid: int
    drive_ns: int
    cpu: VisitCpu
    times: tuple[TargetTimes, ...]
    rate_per_s: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    status: PoolStatus | None = None
    queue: QueueLevels | None = None
    memory: PoolMemory | None = None
    busy_workers: float | None = None
    lag_fraction: float = 0.0
    lag_p99_ns: int = 0
    queued: int = 0
    excluded: str = ""
    threads: int = 1
