"""What a study found, ready to be shown: figures of every arm, contrasts beside the reference's, syscalls. Frozen data."""

from msgspec import Struct

from phpdyno.journal.study import PartState
from phpdyno.model.facts import HostFacts
from phpdyno.model.plan import Metric
from phpdyno.model.study import Reference, Side
from phpdyno.report.shape import ArmCost, Ratio


class ArmFigures(Struct, frozen=True):
    """One arm in one comparison. Ratios are against the comparison's control, above 1 the arm is better; the control has none.

    `per_s` are valid completions per second over the blocks, with their interval; `cpu_ratio` compares the CPU of PHP per valid request.
    `verdict` and `reason` are the comparison's; `host_busy` is the share of all cores that were busy while the arm was driven.
    """

    arm: str
    levels: tuple[str, ...]
    verdict: str
    reason: str
    per_s: Ratio | None
    ratio: Ratio | None
    cpu_ratio: Ratio | None
    cost: ArmCost | None
    host_busy: float | None
    blocks: int
    blocks_needed: int


class ComparisonFigures(Struct, frozen=True):
    """One comparison; `arms` begins with the control and is empty until there is a plan. `state` and `detail` are the study's."""

    name: str
    app: str
    app_version: str
    metric: Metric
    state: PartState
    detail: str
    control: str
    arms: tuple[ArmFigures, ...]
    workers: int
    concurrency: int
    slot_requests: int | None
    slot_reason: str
    confidence: float
    margin: float
    elapsed_s: float
    blocks_excluded: int


class ContrastFigures(Struct, frozen=True):
    """How many times better one arm is than another in one comparison, beside the reference's ratio of throughputs.

    `side` compares throughput with throughput only.
    """

    title: str
    app: str
    metric: Metric
    ours: Ratio | None
    reference: float | None
    side: Side | None


class SyscallRow(Struct, frozen=True):
    """One syscall: calls per 1,000 requests in each column, ours and the reference's; None where the reference does not say."""

    name: str
    ours: tuple[float, ...]
    reference: tuple[float | None, ...]


class SyscallTable(Struct, frozen=True):
    """The syscalls of one app; `arms` are the columns, `requests` and `processes` how much each of them rests on."""

    app: str
    arms: tuple[str, ...]
    requests: tuple[int, ...]
    processes: tuple[int, ...]
    rows: tuple[SyscallRow, ...]
    totals: tuple[float, ...]


class Missing(Struct, frozen=True):
    """A part without a result, and why."""

    name: str
    state: PartState
    detail: str


class StudyView(Struct, frozen=True):
    """A study, ready to be shown. `notes` are those of the study file whose conditions hold."""

    schema: str
    name: str
    title: str
    about: str
    phpdyno: str
    started: str
    seed: int
    scale: float
    elapsed_s: float
    workers: int
    concurrency: int
    factors: tuple[str, ...]
    host: HostFacts | None
    php: str
    servers: dict[str, str]
    comparisons: tuple[ComparisonFigures, ...]
    contrasts: tuple[ContrastFigures, ...]
    syscalls: tuple[SyscallTable, ...]
    missing: tuple[Missing, ...]
    warnings: tuple[str, ...]
    reference: Reference | None
    notes: tuple[str, ...]
