"""A tune: what was asked, and what each of its stages found. Frozen data that its record holds and its report shows."""

from typing import Literal

from msgspec import Struct, field

from phpdyno.model.plan import AppSource, Metric, Transport
from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.model.workload import Workload

Goal = Literal["cpu", "throughput", "p99", "memory"]
"""`cpu`: CPU per request of PHP's processes; `throughput`: valid completions per second; `p99`: 99th percentile of the service time at the
same load; `memory`: what one worker holds for itself."""

StageName = Literal["screen", "race", "numeric", "confirm", "ablate", "again", "throughput"]
"""`again`: what is left of the winner is confirmed once more where a part was reverted."""

ChangeStanding = Literal["helps", "open", "too small", "hurts", "unknown"]
"""Of a change after the screening: certain to help, not certain of anything, certain not to help by the margin, certain to do harm, or
never measured beside its mirror row."""

Decision = Literal["adopted", "not adopted", "not measured"]


class Asked(Struct, frozen=True):
    """What the user wants tuned: times in seconds, margins and confidence as fractions.

    `control` is a SPEC. `knobs` are what is looked at, full names or `NAME=VALUE`; none: all of the catalogue. `workload` takes the place
    of the app's own; `source.requests` then says what it was made of.
    """

    source: AppSource
    control: str = ""
    goal: Goal = "cpu"
    knobs: tuple[str, ...] = ()
    margin: float = 0.01
    loaded_margin: float = 0.05
    confidence: float = 0.95
    budget_s: float = 900.0
    seed: int = 1
    transport: Transport = "http"
    loaded_concurrency: int = 4
    workload: Workload | None = None


class Ratio(Struct, frozen=True):
    """How many times better than what it was compared with; `low` and `high` are None while the interval is infinite."""

    value: float
    low: float | None
    high: float | None
    blocks: int = 0

    @property
    def ratio(self) -> float | None:
        """The estimate where there is an interval: without one it is not to be believed."""
        return None if self.low is None or self.high is None else self.value


class Change(Struct, frozen=True):
    """One change that was considered: the settings that it makes, what judges it, and why it takes no part ('' when it does)."""

    name: str
    settings: dict[str, str]
    metric: Metric
    refused: str = ""


class StageTime(Struct, frozen=True):
    """What a stage was given, when it is to end (seconds of the tune's budget), and the smallest effect (fraction) that it decides in that
    time; None: none, or by another rule."""

    name: StageName
    seconds: float
    until_s: float
    decidable: float | None


class ChangeEffect(Struct, frozen=True):
    """What the screening says of one change, averaged over what the others are at."""

    name: str
    standing: ChangeStanding
    ratio: Ratio | None


class Together(Struct, frozen=True):
    """What two settings do together beyond what each does alone; only where that is certain and no other two can be meant."""

    names: tuple[str, str]
    ratio: Ratio


class Screening(Struct, frozen=True):
    """The fractional factorial: its size, and what it says, which is nothing before it is measured. `decidable` was promised beforehand
    (fraction)."""

    rows: int
    blocks: int
    pairs: int
    resolution: int
    decidable: float
    effects: tuple[ChangeEffect, ...] = ()
    together: tuple[Together, ...] = ()


class Racer(Struct, frozen=True):
    """An arm of the race with how it fared. `fate` is in words."""

    name: str
    settings: dict[str, str]
    ratio: Ratio | None
    fate: str


class Race(Struct, frozen=True):
    """The race: how many blocks, who took part (the winner first), and how it ended. `winner` is '' for the control."""

    blocks: int
    racers: tuple[Racer, ...]
    winner: str
    end: str


class NumberTried(Struct, frozen=True):
    """Numeric settings that were proposed, and what they did against the winner of the race."""

    settings: dict[str, str]
    ratio: Ratio


class PartFound(Struct, frozen=True):
    """What one part of the winner adds to the rest of it, and whether it stays."""

    name: str
    settings: dict[str, str]
    ratio: Ratio | None
    kept: bool
    reason: str


class Side(Struct, frozen=True):
    """What one arm's requests and workers took: CPU of PHP per request, median over the blocks of their percentiles of the service time,
    private memory of a worker (None where it could not be read)."""

    cpu_ms: float
    p50_ms: float
    p99_ms: float
    worker_kib: float | None = None


class Step(Struct, frozen=True):
    """A rung of the ladder: the control with this step and all before it, against the control."""

    name: str
    settings: dict[str, str]
    ratio: Ratio | None


class Confirmed(Struct, frozen=True):
    """What was found on fresh instances after the search: a combination against the control, with the control against itself (`aa`).

    `confidence` is that of this one interval. `decision` says whether it goes into the bundle, `reason` why not. `before` and
    `after` are the control and this one.
    """

    name: str
    settings: dict[str, str]
    goal: Goal
    kind: VerdictKind
    relevance: Relevance
    ratio: Ratio | None
    aa: Ratio | None
    confidence: float
    decision: Decision
    reason: str = ""
    before: Side | None = None
    after: Side | None = None


class Found(Struct, frozen=True):
    """All that is known of a tune so far, in the order of its stages; what a stage has not reached is empty.

    `settings` are those that were adopted. `plan` is the promise in words. `scripts` are those that the app loads, relative to its root,
    `preload` those of them that can be preloaded.
    """

    scripts: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    plan: str = ""
    times: tuple[StageTime, ...] = ()
    screening: Screening | None = None
    race: Race | None = None
    numbers: tuple[NumberTried, ...] = ()
    confirmations: tuple[Confirmed, ...] = ()
    parts: tuple[PartFound, ...] = ()
    ladder: tuple[Step, ...] = ()
    loaded: tuple[Confirmed, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
