"""Failures are findings about a treatment, until they are the control's or the database's: then
they end the run."""

from collections.abc import Mapping
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.experiment.comparison.judging.evidence import TreatmentEvidence
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.experiment.comparison.state import FAILED
from phpdyno.journal.records import Concluded
from phpdyno.model.answered import AnswerCount
from phpdyno.model.arm import Arm
from phpdyno.model.verdict import Verdict
from phpdyno.servers.database.mariadb import Database
from phpdyno.stats.comparison.wrong_answers import wrong_words

DATABASE_END_S = 1.0
LENGTH_MOVES = 'if the length of this page changes by itself, compare its status alone: answers = "status" for its target in an app.toml; '


class Findings:
    """Decides what a failure means, and concludes treatments."""

    def __init__(self, log: Logbook, database: Database | None, logs: Path) -> None:
        self.log = log
        self._database = database
        self._logs = logs
        self._counted: set[tuple[str, int]] = set()
        self._treatments = {arm.name: arm for arm in log.plan.treatments}

    def require_database(self) -> None:
        """No arm is to blame for a database that ended."""
        # A query fails a moment before the process is gone for good.
        if self._database is not None and self._database.child.wait(DATABASE_END_S):
            child = self._database.child
            raise DynoError(
                f"MariaDB {child.ended_how()} during block {self.log.state.next_block + 1}: {child.tail()}",
                next_step="blocks finished so far are kept: continue with --resume",
            )

    def invalidate(self, arm: Arm, why: str, *, block: int | None = None) -> None:
        """A treatment gets no number and is measured no further; the same from a control ends the
        run."""
        self.require_database()
        if arm.name not in self._treatments:
            hint = LENGTH_MOVES if "wrong_length" in why else ""
            raise DynoError(f"the control cannot be measured: {why}", next_step=f"{hint}see {self._logs}")
        self.log.incident(arm.name, "invalid", why, block=block)
        proofs = self.log.state.proofs.get(arm.name, ())
        metric = self.log.plan.metric_of(arm.name)
        self.log.record(Concluded(Verdict(arm.name, "invalid", reason=why, proofs=proofs, metric=metric)))

    def take_failures(self, block: int, failed: Mapping[str, str], driven_instances: Mapping[str, DrivenInstance]) -> None:
        """Requests that failed while measuring, by arm: one that crashed, or fails too often, is
        invalid."""
        if failed:
            self.require_database()
        for name, words in failed.items():
            self.count_failure(block, RequestFailed(driven_instances[name].instance, words))

    def count_failure(self, block: int, failure: RequestFailed) -> None:
        """One more block in which an arm failed; several failures of one block count once."""
        arm = failure.arm
        if (arm.name, block) not in self._counted:
            self._counted.add((arm.name, block))
            self.log.incident(arm.name, FAILED, failure.what, block=block)
        if failure.crashed or self.log.state.failed_blocks[arm.name] > self.log.plan.max_failed_blocks:
            self.invalidate(arm, f"requests fail: {failure.what}", block=block)

    def _evidence(self, name: str) -> TreatmentEvidence:
        """All that can be said of a treatment now rests on this."""
        plan, state = self.log.plan, self.log.state
        control = plan.control_of(name).name
        return TreatmentEvidence(
            plan=plan,
            arm=self._treatments[name],
            observations=state.observations,
            host=state.host,
            calibrated=state.calibrated.get(plan.metric_of(name)),
            proofs=state.proofs.get(name, ()),
            facts=state.facts.get(control),
            control=state.answered.get(control, AnswerCount()),
            treated=state.answered.get(name, AnswerCount()),
        )

    def blame(self, arm: Arm, *, block: int) -> None:
        """A treatment whose wrong answers cannot be chance is measured no further."""
        seen = self._evidence(arm.name)
        if seen.blame == "certain":
            self.invalidate(arm, wrong_words(seen.control, seen.treated), block=block)

    def may_be_the_controls(self, name: str) -> bool:
        """Whether a treatment has given a few wrong answers that the control may give as well, with
        more of its own."""
        return self._evidence(name).blame == "alone"

    def verdict(self, name: str) -> Verdict:
        """What can be said of a treatment now."""
        return self._evidence(name).verdict()

    def conclude(self, name: str, *, reason: str = "") -> None:
        """Write the verdict as it stands."""
        self.log.record(Concluded(self._evidence(name).final(reason), beside_php=True))
