"""A study's sweep: what is asked, what is kept, what is gone on with. The measuring is a fake; a
real sweep is an integration test."""

import contextlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.measure.run import MeasureRequest
from phpdyno.commands.study import run as workflow
from phpdyno.commands.study.command import view_of_study
from phpdyno.errors import BudgetTooSmall, DynoError, Interrupted
from phpdyno.experiment.common.progress import Progress
from phpdyno.journal.study import Provenance, StudyRecord, read_study, write_study
from phpdyno.journal.sweep import SWEEP_FILE, SweepEnded
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.runs.sweep import Point
from phpdyno.model.workload import Target, Workload
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.sweeps.study_sweeps import SPECS, TOML, study_sweep
from tests.support.made_up.sweeps.sweep_runs import records_of

GROUND = Provenance("c0de", {"kernel": "6.1"}, {"nginx": "1.22.1"})


class FakeSweeping:
    """Stands in for measure and its resume; `fails` is raised once, after the record was begun."""

    def __init__(self) -> None:
        self.asked: list[MeasureRequest] = []
        self.resumed: list[Path] = []
        self.argvs: list[tuple[str, ...]] = []
        self.version = "6.1.1"
        self.fails: BaseException | None = None

    def measure(
        self, question: MeasureRequest, *, runs: Path, argv: Sequence[str], progress: Progress, accept: Callable[[PreparedApp], None]
    ) -> Path:
        accept(PreparedApp("x", Path("/srv"), Workload((Target("/"),)), version=self.version))
        self.asked.append(question)
        self.argvs.append(tuple(argv))
        progress.tick(1.0, question.budget_s, "")
        run = runs / "20260101-000000-measure-x"
        run.mkdir(parents=True)
        failure, self.fails = self.fails, None
        ended = SweepEnded("interrupted", "", 30.0) if failure else SweepEnded("finished", "", 96.0)
        with JournalWriter(run / SWEEP_FILE) as journal:
            for record in records_of(structs.replace(study_sweep(3), ends=(ended,))):
                journal.append(record)
        if failure:
            raise failure
        return run

    def resume_sweep(self, run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
        self.resumed.append(run)
        with JournalWriter(run / SWEEP_FILE) as journal:
            journal.append(SweepEnded("finished", "", 96.0))
        return run


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeSweeping:
    made = FakeSweeping()
    monkeypatch.setattr(workflow, "measure", made.measure)
    monkeypatch.setattr(workflow, "resume_sweep", made.resume_sweep)
    monkeypatch.setattr(workflow, "check_study", lambda *_: ())
    monkeypatch.setattr(workflow, "read_provenance", lambda _: GROUND)
    # Nothing is measured here, so that somebody else may.
    monkeypatch.setattr(workflow, "MeasuringLock", contextlib.nullcontext)
    return made


def begin(folder: Path, *, budget_s: float | None = None, only: str = "") -> tuple[Path, StudyRecord]:
    file = folder / "pools.toml"
    file.write_text(TOML)
    return workflow.study(file, budget_s=budget_s, only=only, runs=folder / "runs", argv=(), progress=FakeProgress())


def again(run: Path) -> StudyRecord:
    return workflow.resume_study(run, only="", argv=(), progress=FakeProgress())[1]


def test_a_sweep_is_asked_with_all_its_arms_and_loads(tmp_path: Path, fake: FakeSweeping) -> None:
    _, record = begin(tmp_path)
    (asked,) = fake.asked
    assert (asked.control, *asked.others) == SPECS
    assert asked.points == (Point(1), Point(5), Point(50), Point(100, 0.7))
    assert (asked.source.reference, asked.budget_s, asked.seed, asked.confidence) == ("hello", 120.0, 2, 0.95)
    assert [(part.name, part.kind, part.state, part.app_version) for part in record.parts] == [("shop-sweep", "sweep", "done", "6.1.1")]


def test_a_budget_scales_it(tmp_path: Path, fake: FakeSweeping) -> None:
    begin(tmp_path, budget_s=30.0)
    assert fake.asked[0].budget_s == pytest.approx(30.0)


@pytest.mark.parametrize("only", ["sweep", "shop", "shop-sweep"])
def test_it_can_be_asked_for_by_name(tmp_path: Path, fake: FakeSweeping, only: str) -> None:
    begin(tmp_path, only=only)
    assert len(fake.asked) == 1


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path, fake: FakeSweeping) -> None:
    fake.fails = KeyboardInterrupt()
    with pytest.raises(Interrupted) as caught:
        begin(tmp_path)
    run = Path(caught.value.run)
    assert [part.state for part in read_study(run).parts] == ["open"]
    record = again(run)
    assert len(fake.asked) == 1
    assert [each.parent for each in fake.resumed] == [run / "shop-sweep"]
    assert [part.state for part in record.parts] == ["done"]


def test_what_a_resumed_study_begins_is_repeated_by_the_command_line_of_the_study(tmp_path: Path, fake: FakeSweeping) -> None:
    run, record = begin(tmp_path)
    shutil.rmtree(run / "shop-sweep")
    began = structs.replace(record, argv=("study", "pools.toml"), parts=tuple(structs.replace(part, state="open") for part in record.parts))
    write_study(run, began)
    workflow.resume_study(run, only="", argv=("study", "--resume", str(run)), progress=FakeProgress())
    assert fake.argvs == [(), ("study", "pools.toml")]


def test_a_finished_sweep_whose_study_did_not_hear_of_it_is_not_measured_again(tmp_path: Path, fake: FakeSweeping) -> None:
    run, record = begin(tmp_path)
    write_study(run, structs.replace(record, parts=tuple(structs.replace(part, state="open") for part in record.parts)))
    assert [part.state for part in again(run).parts] == ["done"]
    assert (len(fake.asked), fake.resumed) == (1, [])


def test_a_fault_is_the_parts(tmp_path: Path, fake: FakeSweeping) -> None:
    fake.fails = DynoError("no request gets a valid answer at c = 50")
    _, record = begin(tmp_path)
    assert [(part.state, part.detail) for part in record.parts] == [("failed", "no request gets a valid answer at c = 50")]


def test_a_budget_too_small_is_told_as_one_of_the_whole_study(tmp_path: Path, fake: FakeSweeping) -> None:
    fake.fails = BudgetTooSmall("a round of all points takes 80 s here", budget_s=120.0, enough_s=300)
    _, record = begin(tmp_path)
    said = record.parts[0].detail
    assert said.startswith("a round of all points takes 80 s here; start a study with --budget 300s at least, or with budget_s = 300")


def test_the_view_is_made_of_its_record(tmp_path: Path, fake: FakeSweeping) -> None:
    run, record = begin(tmp_path)
    view = view_of_study(run, record)
    assert [arm.arm for arm in view.sweeps[0].arms] == ["dynamic 5", "static 10"]
    assert view.sweeps[0].rounds == 3
