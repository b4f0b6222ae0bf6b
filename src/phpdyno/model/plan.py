"""A plan: what is compared on which workload, by which metric and margin, within which budget.
Frozen before anything starts."""

from typing import Any, Literal, get_args

from msgspec import Struct, field

from phpdyno.model.arm import Arm
from phpdyno.model.workload import Workload

Metric = Literal["cpu", "throughput"]
"""`cpu`: CPU nanoseconds of the arm's PHP processes per valid request. `throughput`: valid
completions per second in a closed loop."""

Transport = Literal["http", "fastcgi", "script", "connector"]
"""`http`: HTTP/1.1 keep-alive through nginx; `fastcgi`: straight to php-fpm; `script`: operations
of a long-lived command-line PHP; `connector`: operations of a client of Tarantool, as many in
flight as its engine keeps there."""

Settle = Literal["direction", "relevance", "never"]
"""When a treatment has been measured for long enough."""

Unit = Literal["request", "operation"]
UNIT: dict[Transport, Unit] = {"http": "request", "fastcgi": "request", "script": "operation", "connector": "operation"}
"""What a workload consists of, by how it is driven; names of fields say `request` for both."""

REQUESTS_PER_FLIGHT = 20
"""With several requests in flight a slot holds 20 for each, so that filling and draining weigh
little."""

CARRY_OVER_LENGTHS = (1, 20)
"""Requests per slot at which an effect on CPU is looked at besides the plan's own length."""

MAX_STEAL = 0.6
"""Share of a block's busy time that the hypervisor may take: more than it leaves. Arms take turns
within a block by a coin, so steal makes a ratio noisier and not one-sided. Where requests are short
and the core sleeps between them, each wake-up waits for the hypervisor: 40 % and more on some VMs
with no neighbour at work, and with a tenth allowed nothing would be left to judge by."""
MAX_LAG = 0.25
"""Share of the driving in which the generator may keep the server waiting: it is in the figure of a
throughput, and in a script's CPU."""
MAX_LAG_OF_CPU = 0.6
"""The same where a server's CPU is judged: a worker that waits costs nothing, and with much steal
the generator's wake-ups wait too."""


class AppSource(Struct, frozen=True):
    """How the app was named on the command line, with absolute paths, so that a resumed run
    prepares the same one.

    `requests` is the access log or workload file that the plan's workload was made of; '' when it
    is the app's own. `network` are the peers that the command line let through. `host` is how it is
    to be asked ('' as it says itself; `https://NAME` as if over TLS), `accept_encoding` what its
    requests say that they take (None: as the app has it), `nginx` the server block that stands in
    for the app's own.
    """

    reference: str = ""
    docroot: str = ""
    urls: tuple[str, ...] = ()
    script: str = ""
    requests: str = ""
    network: tuple[str, ...] = ()
    host: str = ""
    accept_encoding: str | None = None
    nginx: str = ""


class MeasuringTerms(Struct, frozen=True, kw_only=True):
    """What a request says and its plan takes over as it is, whatever is measured: declared once for
    both.

    `source` is how the app was named. `confidence` is a fraction, `budget_s` bounds the whole
    measurement, starts and warm-up included; orders, coins and targets all follow from `seed`.
    """

    source: AppSource = AppSource()
    confidence: float = 0.95
    budget_s: float = 300.0
    seed: int = 1
    transport: Transport = "http"


class ComparisonTerms(MeasuringTerms, frozen=True, kw_only=True):
    """The same of a comparison.

    `slot_requests` None: chosen from the control's own cost. `keep_conn`: with FastCGI, a slot's
    connections are kept (FCGI_KEEP_CONN) instead of made for each request. A treatment is measured
    until its relevance is settled, or (`settle`) no longer than until its direction is, or as long
    as there is time, where treatments are held against each other. `explain`: once all is measured,
    every treatment is looked into beside its control.
    """

    slot_requests: int | None = None
    keep_conn: bool = False
    settle: Settle = "relevance"
    explain: bool = False


def taken_over(request: MeasuringTerms, terms: type[MeasuringTerms]) -> dict[str, Any]:
    """What a plan has of its request, by name: the fields of `terms`."""
    return {name: getattr(request, name) for name in terms.__struct_fields__}


class Panel(Struct, frozen=True):
    """Treatments that are judged by one metric, beside a control of their own under the same load
    (`concurrency` requests in flight)."""

    metric: Metric
    control: Arm
    treatments: tuple[Arm, ...]
    concurrency: int


class FixedBlocks(Struct, frozen=True):
    """Blocks that whoever made the plan has decided on: nothing is calibrated, and no treatment is
    settled before its last block.

    `pairs` are those of each treatment in a block. The rest is what an earlier calibration said of
    the control and of the host: service time and CPU of a request, seconds of a block and of
    starting its instances, standard deviations of a pair and of a start (log ratios).
    """

    blocks: int
    pairs: int
    slot_requests: int
    request_wall_ns: int
    request_cpu_ns: int
    block_s: float
    overhead_s: float
    sigma_pair: float
    sigma_start: float


class ExclusionLimits(Struct, frozen=True):
    """Declared beforehand: figures do not count beside a larger share of stolen time, or of driving
    for which the generator was late."""

    steal: float
    lag: float


class Plan(ComparisonTerms, frozen=True):
    """Everything that was decided before measuring.

    `margin` is the relevance margin as a fraction (0.01 = 1 %), `loaded_margin` that of throughput.
    `confidence` holds for all treatments together: each gets alpha = (1 - confidence) /
    len(treatments). `metrics` names the metric of each treatment that is not judged by `metric`.
    Throughput is measured with `loaded_concurrency` requests in flight against `loaded_control`,
    the control with as many workers as that load wants. Declared beforehand: a block does not count
    in which more than `max_steal` of the time was stolen, the generator was late for more than
    `max_lag` of it (a server's CPU: `max_lag_of_cpu`; None, as in journals of before there was one:
    `max_lag`), or (CPU) a request failed; an arm with more than `max_failed_blocks` such failures
    is invalid. `fixed`: so many blocks of that shape, for statistics over all of them; `trial`:
    every arm is started, checked and proved, the host is calibrated, and no block is measured.
    `may_be_adopted`: what looks better after its last fixed block is asked for more answers, as it
    is before an `improved`.
    """

    app: str
    app_version: str
    workload: Workload
    control: Arm
    treatments: tuple[Arm, ...]
    metric: Metric = "cpu"
    margin: float = 0.01
    loaded_margin: float = 0.05
    concurrency: int = 1
    max_steal: float = MAX_STEAL
    max_lag: float = MAX_LAG
    max_lag_of_cpu: float | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)
    loaded_control: Arm | None = None
    loaded_concurrency: int = 10
    max_failed_blocks: int = 2
    fixed: FixedBlocks | None = None
    trial: bool = False
    may_be_adopted: bool = False

    def metric_of(self, treatment: str) -> Metric:
        """The metric that was fixed for a treatment."""
        return self.metrics.get(treatment, self.metric)

    def margin_of(self, treatment: str) -> float:
        """The relevance margin of a treatment's metric."""
        return self.loaded_margin if self.metric_of(treatment) == "throughput" else self.margin

    def limits_of(self, metric: Metric) -> ExclusionLimits:
        """Within which a block of this metric counts."""
        waits_only = metric == "cpu" and self.transport != "script"
        return ExclusionLimits(self.max_steal, self.max_lag_of_cpu if waits_only and self.max_lag_of_cpu is not None else self.max_lag)

    def panels(self) -> tuple[Panel, ...]:
        """The treatments by metric, each group with its control and its load; CPU first."""
        found = []
        for metric in get_args(Metric):
            arms = tuple(arm for arm in self.treatments if self.metric_of(arm.name) == metric)
            loaded = metric == "throughput"
            if arms:
                found.append(Panel(metric, self._control_for(metric), arms, self.loaded_concurrency if loaded else self.concurrency))
        return tuple(found)

    def control_of(self, treatment: str) -> Arm:
        """The control that a treatment is held against."""
        return self._control_for(self.metric_of(treatment))

    def _control_for(self, metric: Metric) -> Arm:
        return (self.loaded_control if metric == "throughput" else None) or self.control

    @property
    def alpha(self) -> float:
        """Error probability of one treatment's interval: Bonferroni over the treatments, fixed
        before starting."""
        return (1.0 - self.confidence) / max(1, len(self.treatments))
