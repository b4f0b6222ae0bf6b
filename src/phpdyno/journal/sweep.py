"""The record of a sweep, `sweep.jsonl`: its plan, the host, one line per visit."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from phpdyno.errors import DynoError
from phpdyno.journal.reader import decode_lines, there
from phpdyno.journal.records import ReachedFor
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.runs.bottleneck import Bottleneck
from phpdyno.model.runs.sweep import Point, SweepPlan, Visit

SWEEP_FILE = "sweep.jsonl"
SWEEP_SCHEMA = 2


class SweepHeader(Struct, frozen=True, tag="header"):
    """First line."""

    schema: int
    phpdyno: str
    started: str
    argv: tuple[str, ...]
    plan: SweepPlan


class SweepHost(Struct, frozen=True, tag="host"):
    """The host before a session's first round, what it warned of, and how the session was started.
    Visits of a round that an earlier one left unfinished do not count from here on: the round is
    begun again."""

    host: HostFacts
    warnings: tuple[str, ...]
    argv: tuple[str, ...] = ()


class Noticed(Struct, frozen=True, tag="noticed"):
    """What the answers showed before the first round, in words: a warning of PHP in a page."""

    warnings: tuple[str, ...]


class ArmSeen(Struct, frozen=True, tag="arm"):
    """What a worker of an arm showed in the first round."""

    arm: str
    facts: WorkerFacts


class Lengths(Struct, frozen=True, tag="lengths"):
    """After the first round, which counts as warm-up of the plan and not as measurement: requests
    of a visit by arm and point, the offered rate of each arm's open loop (per second, 0 without
    one), how many rounds fit in the budget, on how many threads the generator drives (one, unless
    its thread was the limit), and the budget itself in seconds (0: the plan's)."""

    requests: dict[str, tuple[int, ...]]
    open_rate_per_s: dict[str, float]
    rounds: int
    threads: int = 1
    budget_s: float = 0.0


class Visited(Struct, frozen=True, tag="visit"):
    """One finished visit; `at_s` is when it ended, in seconds of the budget."""

    visit: Visit
    at_s: float


class CrossChecked(Struct, frozen=True, tag="cross-check"):
    """Another generator on the same instance and target, right before or after our own: its
    throughput over ours, turn by turn.

    `kept`: both kept their connections; else both opened one for each request (ab cannot keep one
    whose answer does not tell its length). `detail` says why there are no ratios, '' where there
    are.
    """

    tool: Literal["wrk", "ab"]
    arm: str
    concurrency: int
    ratios: tuple[float, ...]
    kept: bool = True
    detail: str = ""


class Limited(Struct, frozen=True, tag="limit"):
    """What limits throughput of an arm at one point, as it was decided after the last round: a
    report repeats it, whatever a later version would say of the same readings."""

    arm: str
    point: Point
    bottleneck: Bottleneck


class SweepEnded(Struct, frozen=True, tag="end"):
    """How a session ended."""

    outcome: Literal["finished", "interrupted", "failed"]
    detail: str
    spent_s: float


SweepRecord = SweepHeader | SweepHost | Noticed | ReachedFor | ArmSeen | Lengths | Visited | CrossChecked | Limited | SweepEnded


class Sweep(Struct, frozen=True):
    """All that is known of a sweep. `visits` are those of whole rounds, in the order of the record;
    `unfinished` is how many others there are, of rounds that were begun and are to be begun again.
    `spent_s` of the budget are used up. `limits` by arm and point; none of a sweep that was cut
    short, or of before they were recorded."""

    header: SweepHeader
    hosts: tuple[SweepHost, ...]
    facts: dict[str, WorkerFacts]
    lengths: Lengths | None
    visits: tuple[Visit, ...]
    unfinished: int
    cross_checks: tuple[CrossChecked, ...]
    ends: tuple[SweepEnded, ...]
    spent_s: float
    reached: ReachedFor | None = None
    noticed: tuple[str, ...] = ()
    limits: dict[tuple[str, Point], Bottleneck] = field(default_factory=dict)

    @property
    def plan(self) -> SweepPlan:
        """What was decided before."""
        return self.header.plan

    @property
    def budget_s(self) -> float:
        """Seconds for the whole: the plan's, unless the first round showed that the fewest rounds
        need more and the plan lets it grow."""
        return (self.lengths.budget_s if self.lengths else 0.0) or self.plan.budget_s

    @property
    def rounds(self) -> int:
        """How many whole rounds were measured."""
        return len({visit.round for visit in self.visits})

    @property
    def finished(self) -> bool:
        """Whether the last session got to its end."""
        return bool(self.ends) and self.ends[-1].outcome == "finished"


_DECODER: msgspec.json.Decoder[SweepRecord] = msgspec.json.Decoder(SweepRecord)


def read_sweep(run: Path) -> Sweep:
    """What is recorded; a last line that was cut off is left out. Raises UsageError when there is
    nothing, DynoError when it is damaged, newer than this version, or holds what its plan does not
    (an unknown arm or point, one visit twice)."""
    path = there(run / SWEEP_FILE if run.is_dir() else run, run, what="sweep", like="runs/<time>-measure-<app>")
    records = decode_lines(path.read_bytes().split(b"\n")[:-1], _DECODER, path=path, what="sweep", schema=SWEEP_SCHEMA)
    if not records or not isinstance(records[0], SweepHeader):
        raise DynoError("this sweep cannot be used: it does not begin with a header", where=str(path))
    plan = records[0].plan
    kept, dropped = _visits(records, plan, path)
    lengths = [record for record in records if isinstance(record, Lengths)]
    return Sweep(
        header=records[0],
        hosts=tuple(record for record in records if isinstance(record, SweepHost)),
        facts={record.arm: record.facts for record in records if isinstance(record, ArmSeen)},
        lengths=lengths[-1] if lengths else None,
        visits=tuple(kept),
        unfinished=dropped,
        cross_checks=tuple(record for record in records if isinstance(record, CrossChecked)),
        ends=tuple(record for record in records if isinstance(record, SweepEnded)),
        spent_s=_spent_s(records),
        reached=next((record for record in records if isinstance(record, ReachedFor)), None),
        noticed=tuple(dict.fromkeys(each for record in records if isinstance(record, Noticed) for each in record.warnings)),
        limits={(record.arm, record.point): record.bottleneck for record in records if isinstance(record, Limited)},
    )


def whole_rounds(visits: Sequence[Visit], plan: SweepPlan) -> set[int]:
    """Numbers of the rounds in which every point of every arm was visited."""
    seen = Counter(visit.round for visit in visits)
    return {number for number, count in seen.items() if count == len(plan.arms) * len(plan.points)}


def _visits(records: Sequence[SweepRecord], plan: SweepPlan, path: Path) -> tuple[list[Visit], int]:
    """Visits of whole rounds, and how many others there are. Raises DynoError for a visit that is
    not planned or is there twice."""
    arms, points = {arm.name for arm in plan.arms}, set(plan.points)
    kept: list[Visit] = []
    seen: set[tuple[str, Point, int]] = set()
    dropped = 0
    for record in (*records, None):
        if record is None or isinstance(record, SweepHost):
            whole = whole_rounds(kept, plan)
            left = [visit for visit in kept if visit.round in whole]
            dropped += len(kept) - len(left)
            kept, seen = left, {_place(visit) for visit in left}
        elif isinstance(record, Visited):
            visit = record.visit
            if visit.arm not in arms or visit.point not in points:
                raise DynoError(f"this sweep cannot be used: it visits what is not in its plan ({visit.arm})", where=str(path))
            if _place(visit) in seen:
                raise DynoError(f"this sweep cannot be used: round {visit.round} visits a point of {visit.arm} twice", where=str(path))
            kept.append(visit)
            seen.add(_place(visit))
    return kept, dropped


def _place(visit: Visit) -> tuple[str, Point, int]:
    """What a record holds one visit of."""
    return visit.arm, visit.point, visit.round


def _spent_s(records: Sequence[SweepRecord]) -> float:
    """Seconds of the budget at the last line that tells."""
    told = [each.at_s if isinstance(each, Visited) else each.spent_s for each in records if isinstance(each, Visited | SweepEnded)]
    return max(told, default=0.0)
