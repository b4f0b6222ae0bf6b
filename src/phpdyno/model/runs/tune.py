"""A tune: what was asked, and what each of its stages found. Frozen data that its record holds and
its report shows."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from phpdyno.model.plan import MeasuringTerms, Metric
from phpdyno.model.verdict import Relevance, VerdictKind
from phpdyno.model.workload import Workload

Goal = Literal["cpu", "throughput", "p99", "memory"]
"""`cpu`: CPU per request of PHP's processes; `throughput`: valid completions per second; `p99`:
99th percentile of the service time at the same load; `memory`: what one worker holds for itself."""

StageName = Literal["screen", "race", "numeric", "confirm", "ablate", "again", "throughput"]
"""`again`: what is left of the winner is confirmed once more where a part was reverted."""

ChangeStanding = Literal["helps", "open", "too small", "hurts", "unknown"]
"""Of a change after the screening: certain to help, not certain of anything, certain not to help by
the margin, certain to do harm, or never measured beside its mirror row."""

Decision = Literal["adopted", "not adopted", "not measured"]


def metric_of(goal: Goal) -> Metric:
    """What is driven for a goal: requests under load for throughput and percentiles, one at a time
    for CPU and memory."""
    return "throughput" if goal in {"throughput", "p99"} else "cpu"


class TuneRequest(MeasuringTerms, frozen=True):
    """What the user wants tuned: times in seconds, margins and confidence as fractions.

    `control` is a SPEC. `knobs` are what is looked at, full names or `NAME=VALUE`; none: all of the
    catalogue. `workload` takes the place of the app's own; `source.requests` then says what it was
    made of. `builds` are names of builds that are tried as well. `explain`: what was found is
    looked into beside the control, once all is proved.
    """

    control: str = ""
    goal: Goal = "cpu"
    knobs: tuple[str, ...] = ()
    margin: float = 0.01
    loaded_margin: float = 0.05
    loaded_concurrency: int = 4
    workload: Workload | None = None
    builds: tuple[str, ...] = ()
    explain: bool = False

    @property
    def metric(self) -> Metric:
        """What is driven for the goal."""
        return metric_of(self.goal)

    @property
    def goal_margin(self) -> float:
        """The relevance margin of that metric."""
        return self.loaded_margin if self.metric == "throughput" else self.margin


class TunedRatio(Struct, frozen=True):
    """How many times better than what it was compared with, with its interval."""

    value: Annotated[float, Meta(description="The estimate; not to be believed where there is no interval.")]
    low: Annotated[float | None, Meta(description="Lower end; null while the interval is infinite.")]
    high: Annotated[float | None, Meta(description="Upper end; null while the interval is infinite.")]
    blocks: Annotated[int, Meta(description="Blocks that it rests on; 0 where it comes from a regression over rows.")] = 0

    @property
    def ratio(self) -> float | None:
        """The estimate where there is an interval: without one it is not to be believed."""
        return None if self.low is None or self.high is None else self.value


class Change(Struct, frozen=True):
    """One change that was considered."""

    name: Annotated[str, Meta(description="As reports name it: the setting that it is about, with its value.")]
    settings: Annotated[dict[str, str], Meta(description="All settings that it makes, with what it needs to have an effect.")]
    metric: Annotated[Metric, Meta(description="What judges it.")]
    refused: Annotated[str, Meta(description="Why it takes no part; empty when it does.")] = ""


class StageTime(Struct, frozen=True):
    """What a stage of the tune was given."""

    name: Annotated[StageName, Meta(description="The stage; `again` confirms what is left where parts were reverted.")]
    seconds: Annotated[float, Meta(description="Seconds of the budget.")]
    until_s: Annotated[float, Meta(description="When it is to end, in seconds of the budget.")]
    decidable: Annotated[
        float | None, Meta(description="The smallest effect (fraction) that it decides in that time; null: none, or by another rule.")
    ]


class ChangeEffect(Struct, frozen=True):
    """What the screening says of one change, averaged over what the others are at."""

    name: Annotated[str, Meta(description="The change.")]
    standing: Annotated[
        ChangeStanding,
        Meta(
            description="Certain to help, not certain of anything, certain not to help by the margin, certain to do harm, or never "
            "measured beside its mirror row."
        ),
    ]
    ratio: Annotated[TunedRatio | None, Meta(description="Control / with it; null where it was not measured.")]


class Together(Struct, frozen=True):
    """What two settings do together beyond what each does alone; only where that is certain and no
    other two can be meant."""

    names: Annotated[tuple[str, str], Meta(description="The two changes.")]
    ratio: Annotated[TunedRatio, Meta(description="How many times better together than each alone would make it.")]


class Screening(Struct, frozen=True):
    """The fractional factorial: its size, and what it says, which is nothing before it is
    measured."""

    rows: Annotated[int, Meta(description="Combinations that are measured beside the control.")]
    blocks: Annotated[int, Meta(description="Blocks of each row: fresh instances each time.")]
    pairs: Annotated[int, Meta(description="Pairs of slots per row and block.")]
    resolution: Annotated[
        int,
        Meta(
            description="3: what one change does is mixed with what two others do together; 4: it is not; 5: what two do together is told "
            "apart as well."
        ),
    ]
    decidable: Annotated[float, Meta(description="The smallest effect (fraction) that it was to decide, said beforehand.")]
    levels: Annotated[
        tuple[int, ...],
        Meta(description="Changes of each factor that are screened, the most promising factors first; further factors had no time."),
    ] = ()
    effects: Annotated[tuple[ChangeEffect, ...], Meta(description="What each change does, the best first.")] = ()
    together: Annotated[tuple[Together, ...], Meta(description="Interactions that are certain.")] = ()


class Racer(Struct, frozen=True):
    """An arm of the race with how it fared."""

    name: Annotated[str, Meta(description="Its changes.")]
    settings: Annotated[dict[str, str], Meta(description="All settings that it makes.")]
    ratio: Annotated[TunedRatio | None, Meta(description="Control / it; null where it was not measured.")]
    fate: Annotated[str, Meta(description="How it fared, in words.")]


class Race(Struct, frozen=True):
    """The race of the most promising combinations against each other and the control."""

    blocks: Annotated[int, Meta(description="Blocks that were measured.")]
    racers: Annotated[tuple[Racer, ...], Meta(description="Who took part, the winner first.")]
    winner: Annotated[str, Meta(description="Its name; empty for the control.")]
    end: Annotated[str, Meta(description="How it ended, in words.")]


class NumberTried(Struct, frozen=True):
    """Numeric settings that were proposed."""

    settings: Annotated[dict[str, str], Meta(description="The values.")]
    ratio: Annotated[TunedRatio, Meta(description="The winner of the race without them / with them.")]


class PartFound(Struct, frozen=True):
    """What one part of the winner adds to the rest of it."""

    name: Annotated[str, Meta(description="The change.")]
    settings: Annotated[dict[str, str], Meta(description="All settings that it makes.")]
    ratio: Annotated[TunedRatio | None, Meta(description="The winner without it / with it; null where it was not measured.")]
    kept: Annotated[bool, Meta(description="Whether it stays.")]
    reason: Annotated[str, Meta(description="Why, in words.")]


class Side(Struct, frozen=True):
    """What one arm's requests and workers took."""

    cpu_ms: Annotated[float, Meta(description="CPU of PHP's processes per request, milliseconds.")]
    p50_ms: Annotated[float | None, Meta(description="Median over the blocks of their medians of the service time, milliseconds.")]
    p99_ms: Annotated[
        float | None,
        Meta(description="The same of their 99th percentiles; null where most blocks have fewer than 100 valid answers."),
    ]
    worker_kib: Annotated[float | None, Meta(description="Private memory of a worker, KiB; null where it could not be read.")] = None


class Step(Struct, frozen=True):
    """A rung of the ladder: the control with this step and all before it."""

    name: Annotated[str, Meta(description="What this step adds; the last is the whole.")]
    settings: Annotated[dict[str, str], Meta(description="All settings up to here.")]
    ratio: Annotated[TunedRatio | None, Meta(description="Control / all up to here; null where it was not measured.")]


class Confirmed(Struct, frozen=True):
    """What was found on fresh instances after the search: a combination against the control."""

    name: Annotated[str, Meta(description="Its changes.")]
    settings: Annotated[dict[str, str], Meta(description="All settings that it makes.")]
    goal: Annotated[Goal, Meta(description="What it was judged by.")]
    kind: Annotated[VerdictKind, Meta(description="The verdict.")]
    relevance: Annotated[Relevance, Meta(description="Whether the difference matters; empty where that is not decided.")]
    ratio: Annotated[TunedRatio | None, Meta(description="Control / it; null where it was not measured.")]
    aa: Annotated[TunedRatio | None, Meta(description="The control against itself, measured beside it; null where it was not.")]
    confidence: Annotated[float, Meta(description="Confidence of this one interval, a fraction.")]
    decision: Annotated[Decision, Meta(description="Whether it goes into the bundle.")]
    reason: Annotated[str, Meta(description="Why not, in words; empty when it does.")] = ""
    before: Annotated[Side | None, Meta(description="The control; null where nothing was measured.")] = None
    after: Annotated[Side | None, Meta(description="This one; null where nothing was measured.")] = None


class Found(Struct, frozen=True):
    """All that is known of a tune so far, in the order of its stages; what a stage has not reached
    is empty."""

    scripts: Annotated[tuple[str, ...], Meta(description="Scripts that the app loads, relative to its root.")] = ()
    preload: Annotated[tuple[str, ...], Meta(description="Those of them that can be preloaded.")] = ()
    changes: Annotated[tuple[Change, ...], Meta(description="What was considered, with why some take no part.")] = ()
    plan: Annotated[str, Meta(description="What the budget was to decide, in words.")] = ""
    times: Annotated[tuple[StageTime, ...], Meta(description="The budget by stage.")] = ()
    screening: Annotated[Screening | None, Meta(description="What each change does, from many combinations.")] = None
    broken: Annotated[
        Screening | None,
        Meta(description="The screening that was planned, where so many of its rows did not work that another one was made; else null."),
    ] = None
    race: Annotated[Race | None, Meta(description="Which combination looks best.")] = None
    numbers: Annotated[tuple[NumberTried, ...], Meta(description="Numeric values that were proposed, the best first.")] = ()
    confirmations: Annotated[tuple[Confirmed, ...], Meta(description="What was confirmed on fresh instances; the last one counts.")] = ()
    parts: Annotated[tuple[PartFound, ...], Meta(description="What each part of the winner adds.")] = ()
    ladder: Annotated[tuple[Step, ...], Meta(description="From the control to what was adopted, step by step.")] = ()
    loaded: Annotated[tuple[Confirmed, ...], Meta(description="What is judged by throughput, beside what was adopted.")] = ()
    settings: Annotated[dict[str, str], Meta(description="The settings that were adopted.")] = field(default_factory=dict)
    notes: Annotated[tuple[str, ...], Meta(description="What else a reader should know.")] = ()
    remarks: Annotated[tuple[str, ...], Meta(description="What the control's answers showed: messages of PHP, one page for all.")] = ()
