"""A journal's records sorted by what they are about. The later word wins: a resumed run says some
things twice."""

from collections.abc import Iterable

from msgspec import Struct, field

from phpdyno.errors import DynoError
from phpdyno.journal.records import (
    Answers,
    AnswersUnderLoad,
    BlockBegun,
    BlockDone,
    Calibrated,
    CarriedOver,
    Concluded,
    Ended,
    ExplainedArms,
    Header,
    Incident,
    Planned,
    Preflight,
    Proved,
    ReachedFor,
    Record,
    Spent,
)
from phpdyno.model.answered import AnswerCount
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Metric, Plan
from phpdyno.model.verdict import ProofOutcome, Verdict
from phpdyno.stats.comparison.sequence import MIXTURE


class SeenBlock(Struct, frozen=True):
    """An observation with the middle of its block (seconds since the start)."""

    at_s: float
    observation: Observation


class Said(Struct, frozen=True):
    """A recorded verdict; `overtaken` when blocks of the treatment came after it. `beside_php` as
    in the record."""

    verdict: Verdict
    overtaken: bool
    beside_php: bool = False


class GatheredRecords(Struct, frozen=True):
    """One run, sorted. Dictionaries are keyed by the arm's name, calibrations by their metric.

    `seen` is in the order of the journal, each block once per treatment; so is `carried`, once per
    slot length.
    """

    header: Header
    plan: Plan
    host: HostFacts | None
    preflight_warnings: tuple[str, ...]
    calibrations: dict[Metric, Calibrated]
    carried: tuple[CarriedOver, ...]
    answers: dict[str, Answers]
    proofs: dict[str, tuple[ProofOutcome, ...]]
    verdicts: dict[str, Said]
    seen: tuple[SeenBlock, ...]
    incidents: tuple[Incident, ...]
    end: Ended | None
    elapsed_s: float
    facts: dict[str, WorkerFacts] = field(default_factory=dict)
    reached: ReachedFor | None = None
    explained: tuple[ExplainedArms, ...] = ()
    answered: dict[str, AnswerCount] = field(default_factory=dict)
    begun: tuple[BlockBegun, ...] = ()

    def mixture(self, metric: Metric) -> float:
        """g of the confidence sequences of a metric: the calibration chose it."""
        found = self.calibrations.get(metric)
        return found.mixture if found is not None else MIXTURE


class _Pile(Struct):
    header: Header = field(default_factory=lambda: Header(0, "", "", "", ()))
    plan: Plan | None = None
    preflight: Preflight | None = None
    reached: ReachedFor | None = None
    calibrations: dict[Metric, Calibrated] = field(default_factory=dict)
    carried: dict[tuple[str, int, int], CarriedOver] = field(default_factory=dict)
    answers: dict[str, Answers] = field(default_factory=dict)
    proofs: dict[str, tuple[ProofOutcome, ...]] = field(default_factory=dict)
    facts: dict[str, WorkerFacts] = field(default_factory=dict)
    verdicts: dict[str, Said] = field(default_factory=dict)
    seen: dict[tuple[str, int], SeenBlock] = field(default_factory=dict)
    explained: dict[str, ExplainedArms] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)
    begun: list[BlockBegun] = field(default_factory=list)
    answered: dict[str, AnswerCount] = field(default_factory=dict)
    end: Ended | None = None
    sessions_s: float = 0.0
    last_block_s: float = 0.0


def gather(records: Iterable[Record], run_name: str) -> GatheredRecords:
    """Sort the records of one run. Raises DynoError when there is no plan, so nothing was
    measured."""
    pile = _Pile()
    for record in records:
        # Whatever follows the end of a session belongs to the next one, which has not ended yet.
        pile.end = None
        _put(pile, record)
    if pile.plan is None:
        why = f" ({pile.end.outcome}: {pile.end.detail})" if pile.end else ""
        raise DynoError(f"the run ended before it had a plan{why}", where=run_name, next_step="measure again")

    return GatheredRecords(
        header=pile.header,
        plan=pile.plan,
        host=pile.preflight.host if pile.preflight else None,
        preflight_warnings=pile.preflight.warnings if pile.preflight else (),
        calibrations=pile.calibrations,
        carried=tuple(pile.carried.values()),
        answers=pile.answers,
        proofs=pile.proofs,
        verdicts=pile.verdicts,
        seen=tuple(pile.seen.values()),
        incidents=tuple(pile.incidents),
        end=pile.end,
        elapsed_s=max(pile.sessions_s, pile.last_block_s),
        facts=pile.facts,
        reached=pile.reached,
        explained=tuple(pile.explained.values()),
        answered=pile.answered,
        begun=tuple(pile.begun),
    )


def _put(pile: _Pile, record: Record) -> None:
    match record:
        case Header():
            pile.header = record
        case Planned():
            pile.plan = record.plan
        case Preflight() | ReachedFor():
            _put_before(pile, record)
        case Calibrated():
            pile.calibrations[record.metric] = record
        case Spent():
            pass
        case CarriedOver():
            pile.carried[record.treatment, record.slot_requests, record.block] = record
        case Incident():
            pile.incidents.append(record)
        case BlockBegun() | BlockDone():
            _put_block(pile, record)
        case Ended():
            pile.end = record
            pile.sessions_s += record.elapsed_s
        case _:
            _put_arm(pile, record)


def _put_before(pile: _Pile, record: Preflight | ReachedFor) -> None:
    """What was found out before anything was measured."""
    if isinstance(record, Preflight):
        pile.preflight = record
    else:
        pile.reached = record


def _put_arm(pile: _Pile, record: Answers | AnswersUnderLoad | Proved | Concluded | ExplainedArms) -> None:
    match record:
        case ExplainedArms():
            pile.explained[record.treatment] = record
        case Answers():
            # An arm that ever answered differently stays invalid.
            held = pile.answers.get(record.arm)
            pile.answers[record.arm] = record if held is None or held.equal else held
        case AnswersUnderLoad(arms=arms):
            for name, count in arms.items():
                pile.answered[name] = pile.answered.get(name, AnswerCount()).plus(count)
        case Proved():
            pile.proofs[record.arm] = record.proofs
            pile.facts[record.arm] = record.facts
        case Concluded():
            pile.verdicts[record.verdict.treatment] = Said(record.verdict, overtaken=False, beside_php=record.beside_php)


def _put_block(pile: _Pile, record: BlockBegun | BlockDone) -> None:
    if isinstance(record, BlockBegun):
        pile.begun.append(record)
        return
    pile.last_block_s = max(pile.last_block_s, record.ended_s)
    at_s = (record.started_s + record.ended_s) / 2
    for observation in record.observations:
        key = (observation.treatment, observation.block)
        # Taken out first, so that the order stays that of the journal.
        pile.seen.pop(key, None)
        pile.seen[key] = SeenBlock(at_s, observation)
        said = pile.verdicts.get(observation.treatment)
        if said is not None:
            pile.verdicts[observation.treatment] = Said(said.verdict, overtaken=True)
