"""Failures are findings about a treatment, until they are the control's or the database's: then
they end the run."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.experiment.comparison.logbook import Logbook
from phpdyno.experiment.comparison.room import RoomBesidePhp
from phpdyno.experiment.comparison.state import FAILED
from phpdyno.journal.records import Concluded
from phpdyno.knobs.busy_loop import hidden_by_a_busy_loop, hidden_words
from phpdyno.knobs.judge import risks_of
from phpdyno.model.answered import AnswerCount
from phpdyno.model.arm import Arm
from phpdyno.model.verdict import Verdict
from phpdyno.servers.database.mariadb import Database
from phpdyno.stats.comparison.conclusion import conclude
from phpdyno.stats.comparison.wrong_answers import blame, held_to_answers, wrong_words

DATABASE_END_S = 1.0


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
            raise DynoError(f"the control cannot be measured: {why}", next_step=f"see {self._logs}")
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

    def _answered(self, name: str) -> tuple[AnswerCount, AnswerCount]:
        """What the control of a treatment and it have answered under load."""
        answered = self.log.state.answered
        return answered.get(self.log.plan.control_of(name).name, AnswerCount()), answered.get(name, AnswerCount())

    def blame(self, arm: Arm, *, block: int) -> None:
        """A treatment whose wrong answers cannot be chance is measured no further."""
        control, treated = self._answered(arm.name)
        if blame(control, treated) == "certain":
            self.invalidate(arm, wrong_words(control, treated), block=block)

    def may_be_the_controls(self, name: str) -> bool:
        """Whether a treatment has given a few wrong answers that the control may give as well, with
        more of its own."""
        return blame(*self._answered(name)) == "alone"

    def verdict(self, name: str, reason: str = "") -> Verdict:
        """What can be said of a treatment now."""
        plan, state = self.log.plan, self.log.state
        metric = plan.metric_of(name)
        calibrated = state.calibrated.get(metric)
        verdict = conclude(
            name,
            state.observations,
            alpha=plan.alpha,
            margin=plan.margin_of(name),
            mixture=calibrated.mixture if calibrated else None,
            metric=metric,
            reason=reason,
            proofs=state.proofs.get(name, ()),
        )
        counted = [seen for seen in state.observations if seen.treatment == name and not seen.excluded]
        verdict = RoomBesidePhp(plan, state.host, calibrated).held_to(verdict, self._treatments[name], counted)
        verdict = held_to_answers(verdict, *self._answered(name))
        if verdict.kind != "improved":
            return verdict
        return structs.replace(verdict, warnings=(*verdict.warnings, *risks_of(self._treatments[name].changed)))

    def conclude(self, name: str, *, reason: str = "") -> None:
        """Write the verdict as it stands."""
        verdict = self.verdict(name, reason)
        if verdict.kind == "equivalent" and (hidden := self._hidden(name)):
            # That nothing is seen of what hides here is no finding.
            verdict = structs.replace(verdict, kind="inconclusive", reason=hidden)
        self.log.record(Concluded(verdict))

    def _hidden(self, name: str) -> str:
        control = self.log.state.facts.get(self.log.plan.control_of(name).name)
        return hidden_words(hidden_by_a_busy_loop(self._treatments[name].changed, control.ini if control else {}))
