"""Fakes of what a study asks for: comparisons and syscall passes that measure nothing. For unit
tests."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.commands.compare.run import CompareRequest
from phpdyno.experiment.common.progress import Progress
from phpdyno.journal.reader import FILE
from phpdyno.journal.study import Provenance
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.runs.study import Study, StudyPass, SyscallCounts
from phpdyno.model.workload import Target, Workload
from phpdyno.session.provenance import refuse_other_version
from tests.support.made_up.journals import AA, opening, plan
from tests.support.made_up.studies import counts


class FakeProgress:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.notes: list[str] = []
        self.ticks: list[tuple[float, float]] = []

    def phase(self, text: str) -> None:
        self.phases.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        self.ticks.append((elapsed_s, budget_s))


class FakeMeasuring:
    """Stands in for compare, resume and the syscall pass; `fails` maps a part to what it raises,
    once."""

    def __init__(self) -> None:
        self.asked: list[CompareRequest] = []
        self.done: list[str] = []
        self.argvs: list[tuple[str, ...]] = []
        self.fails: dict[str, BaseException] = {}
        self.ground = Provenance(
            "c0de", {"kernel": "6.1", "CPU time from": "cgroup"}, {"nginx": "1.22.1", "PHP (/bin/fpm)": "8.2.1, build id aa"}
        )
        self.version = "6.1.1"

    def compare(
        self,
        question: CompareRequest,
        *,
        runs: Path,
        argv: Sequence[str],
        progress: Progress,
        accept: Callable[[PreparedApp], None],
    ) -> Path:
        accept(PreparedApp("x", Path("/srv"), Workload((Target("/"),)), version=self.version))
        self.asked.append(question)
        self.argvs.append(tuple(argv))
        progress.phase("measuring")
        progress.tick(1.0, question.budget_s, "")
        run = runs / "20260101-000000-compare-x"
        run.mkdir(parents=True)
        with JournalWriter(run / FILE) as journal:
            for record in opening(structs.replace(plan(AA), app_version=self.version)):
                journal.append(record)
        self._end(runs.name)
        return run

    def resume(self, run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
        self.argvs.append(tuple(argv))
        self._end(f"{run.parent.name} resumed")
        return run

    def count_pass(
        self, study: Study, wanted: StudyPass, *, requests: int, logs: Path, progress: Progress, app_version: str
    ) -> tuple[SyscallCounts, ...]:
        refuse_other_version(wanted.app, app_version, self.version)
        self._end(f"{wanted.name} {requests}")
        return tuple(each for each in counts() if each.app == wanted.app)

    def _end(self, name: str) -> None:
        if failure := self.fails.pop(name, None):
            raise failure
        self.done.append(name)
