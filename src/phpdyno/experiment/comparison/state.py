"""What a run knows so far: read from its journal when it is resumed, kept up to date while it
measures."""

from collections.abc import Iterable

from phpdyno.journal.records import (
    AnswersUnderLoad,
    BlockDone,
    Calibrated,
    Concluded,
    ExplainedArms,
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
from phpdyno.model.plan import Metric, Panel, Plan
from phpdyno.model.verdict import ProofOutcome, Verdict

FAILED = "failed block"
DROPPED = "dropped block"
"""Kind of an incident: a block says nothing of a treatment."""
STILL_COMPILING = "still compiling"
"""Kind of an incident: opcache or the JIT of an arm compiled on in the slots of a block."""


class RunState:
    """Mutable tally of one run; everything in it is in the journal as well."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.observations: list[Observation] = []
        self.verdicts: dict[str, Verdict] = {}
        self.proofs: dict[str, tuple[ProofOutcome, ...]] = {}
        self.facts: dict[str, WorkerFacts] = {}
        self.failed_blocks: dict[str, int] = {}
        self.calibrated: dict[Metric, Calibrated] = {}
        self.host: HostFacts | None = None
        self.reached: ReachedFor | None = None
        self.explained: set[str] = set()
        """Treatments that were looked into, or could not be."""
        self.answered: dict[str, AnswerCount] = {}
        """What each arm has answered under load so far."""
        self.next_block = 0
        self._block_s: dict[str, float] = {}
        self.spent_s = 0.0

    @classmethod
    def replay(cls, records: Iterable[Record]) -> "RunState":
        """The state after `records`, which begin with a header and hold a plan."""
        entries = list(records)
        state = cls(next(entry.plan for entry in entries if isinstance(entry, Planned)))
        for entry in entries:
            state.take(entry)
        return state

    def take(self, record: Record) -> None:
        """Account for one record."""
        match record:
            case BlockDone():
                self.observations += record.observations
                self.next_block = max(self.next_block, record.block + 1)
                self._spend(record)
                self.spent_s = max(self.spent_s, record.ended_s)
            case Spent(spent_s):
                self.spent_s = max(self.spent_s, spent_s)
            case Concluded(verdict):
                self.verdicts[verdict.treatment] = verdict
            case Preflight(host=host):
                self.host = host
            case ReachedFor():
                self.reached = record
            case Calibrated():
                self.calibrated[record.metric] = record
            case Incident(kind=kind, arm=arm, block=block) if kind == FAILED:
                self.failed_blocks[arm] = self.failed_blocks.get(arm, 0) + 1
                self.next_block = max(self.next_block, block + 1)
            case _:
                self._take_arm(record)

    def _take_arm(self, record: Record) -> None:
        match record:
            case Proved(arm=arm, proofs=proofs, facts=facts):
                self.proofs[arm] = proofs
                self.facts[arm] = facts
            case AnswersUnderLoad(arms=arms):
                for name, count in arms.items():
                    self.answered[name] = self.answered.get(name, AnswerCount()).plus(count)
            case ExplainedArms(treatment=treatment):
                self.explained.add(treatment)
            case _:
                pass

    def _spend(self, record: BlockDone) -> None:
        names = {seen.treatment for seen in record.observations}
        for name in names:
            self._block_s[name] = self._block_s.get(name, 0.0) + (record.ended_s - record.started_s) / len(names)

    def seconds_of(self, panel: Panel) -> float:
        """What the finished blocks of a panel took, starts not included."""
        return sum(self._block_s.get(arm.name, 0.0) for arm in panel.treatments)

    def open_treatments(self, panel: Panel | None = None) -> list[str]:
        """Names of the treatments without a verdict, in the plan's order; of one panel where it is
        given."""
        return [arm.name for arm in (panel or self.plan).treatments if arm.name not in self.verdicts]
