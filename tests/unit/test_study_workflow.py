"""The order of a study's parts, what is kept and what is tried again. Comparisons and passes are fakes; real ones are integration tests."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.progress import Progress
from phpdyno.explain.syscalls import CannotTrace
from phpdyno.journal.reader import FILE
from phpdyno.journal.study import StudyRecord, read_study
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.study import Study, StudyPass, SyscallCounts
from phpdyno.workflows import study as workflow
from phpdyno.workflows.compare import Question
from tests.support.journals import AA, opening, plan
from tests.support.studies import TOML, counts


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
    """Stands in for compare, resume and the syscall pass; `fails` maps a part to what it raises, once."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.done: list[str] = []
        self.fails: dict[str, BaseException] = {}

    def compare(self, question: Question, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
        self.asked.append(question)
        progress.phase("measuring")
        progress.tick(1.0, question.budget_s, "")
        run = runs / "20260101-000000-compare-x"
        run.mkdir(parents=True)
        with JournalWriter(run / FILE) as journal:
            for record in opening(plan(AA)):
                journal.append(record)
        self._end(runs.name)
        return run

    def resume(self, run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
        self._end(f"{run.parent.name} resumed")
        return run

    def count_pass(self, study: Study, wanted: StudyPass, *, requests: int, logs: Path, progress: Progress) -> tuple[SyscallCounts, ...]:
        self._end(f"{wanted.name} {requests}")
        return tuple(each for each in counts() if each.app == wanted.app)

    def _end(self, name: str) -> None:
        if failure := self.fails.pop(name, None):
            raise failure
        self.done.append(name)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMeasuring:
    made = FakeMeasuring()
    for name in ("compare", "resume", "count_pass"):
        monkeypatch.setattr(workflow, name, getattr(made, name))
    monkeypatch.setattr(workflow, "check_study", lambda *_: None)
    # Nothing is measured here, so that somebody else may.
    monkeypatch.setattr(workflow, "MeasuringLock", contextlib.nullcontext)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


def begin(file: Path, *, only: str = "", budget_s: float | None = None, progress: FakeProgress | None = None) -> tuple[Path, StudyRecord]:
    return workflow.study(file, budget_s=budget_s, only=only, runs=file.parent / "runs", argv=(), progress=progress or FakeProgress())


def again(run: Path, only: str = "") -> StudyRecord:
    return workflow.resume_study(run, only=only, argv=(), progress=FakeProgress())[1]


def states(record: StudyRecord) -> dict[str, str]:
    return {part.name: part.state for part in record.parts}


ALL = ["shop-throughput", "shop-cpu", "blog-cpu", "shop-syscalls 500", "blog-syscalls 100"]


def test_all_parts_are_done_in_the_files_order_and_noted(file: Path, fake: FakeMeasuring) -> None:
    progress = FakeProgress()
    run, record = begin(file, progress=progress)
    assert fake.done == ALL
    assert set(states(record).values()) == {"done"}
    assert read_study(run) == record
    assert record.counts == counts()
    assert progress.phases[0] == "1 of 5, shop-throughput: measuring"
    # One bar over all comparisons: 300 + 60 + 240 seconds of budget.
    assert progress.ticks == [(1.0, 600.0), (301.0, 600.0), (361.0, 600.0)]


def test_load_goes_into_throughput_and_one_request_at_a_time_into_cpu(file: Path, fake: FakeMeasuring) -> None:
    begin(file)
    loaded, alone, _ = fake.asked
    assert (loaded.metric, loaded.concurrency, loaded.slot_requests, loaded.margin) == ("throughput", 100, 400, 0.05)
    assert loaded.control.startswith("pool.pm=static;pool.pm.max_children=100;")
    assert loaded.treatments == ("web.socket=tcp", "ini.opcache.enable=0", "ini.opcache.enable=0;web.socket=tcp")
    assert (alone.metric, alone.concurrency, alone.slot_requests, alone.margin) == ("cpu", 1, None, 0.01)


def test_a_budget_scales_all_comparisons_slots_and_passes(file: Path, fake: FakeMeasuring) -> None:
    begin(file, budget_s=60.0)
    assert [question.budget_s for question in fake.asked] == pytest.approx([30.0, 6.0, 24.0])
    # A tenth of 400 would be below one request for each in flight.
    assert fake.asked[0].slot_requests == 100
    assert fake.done[3:] == ["shop-syscalls 50", "blog-syscalls 20"]


def test_a_longer_budget_changes_no_slot_and_no_pass(file: Path, fake: FakeMeasuring) -> None:
    begin(file, budget_s=1200.0)
    assert (fake.asked[0].budget_s, fake.asked[0].slot_requests) == (600.0, 400)
    assert fake.done[3:] == ALL[3:]


def test_a_part_that_fails_is_noted_and_the_rest_go_on(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-cpu": DynoError("the control cannot be measured", where="/somewhere")}
    progress = FakeProgress()
    run, record = begin(file, progress=progress)
    assert [name for name, state in states(record).items() if state == "failed"] == ["shop-cpu"]
    assert [part.detail for part in record.parts if part.state == "failed"] == ["the control cannot be measured"]
    assert progress.notes == ["shop-cpu: the control cannot be measured"]
    fake.done.clear()
    record = again(run)
    # It had got as far as a plan, so it goes on where it was.
    assert fake.done == ["shop-cpu resumed"]
    assert set(states(record).values()) == {"done"}


def test_where_syscalls_cannot_be_counted_the_study_is_whole_without_them(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-syscalls 500": CannotTrace("strace is not installed", next_step="install it")}
    _, record = begin(file)
    assert states(record)["shop-syscalls"] == "impossible"
    assert next(part.detail for part in record.parts if part.state == "impossible") == "strace is not installed; install it"
    assert {each.app for each in record.counts} <= {"blog"}


def test_an_interrupted_study_keeps_what_is_done_and_resumes_what_was_begun(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-cpu": KeyboardInterrupt()}
    with pytest.raises(Interrupted) as caught:
        begin(file)
    run = Path(caught.value.run)
    assert caught.value.command == "study"
    assert states(read_study(run)) == {
        "shop-throughput": "done",
        **dict.fromkeys(["shop-cpu", "blog-cpu", "shop-syscalls", "blog-syscalls"], "open"),
    }
    fake.done.clear()
    record = again(run)
    assert fake.done == ["shop-cpu resumed", *ALL[2:]]
    assert set(states(record).values()) == {"done"}


def test_a_finished_study_is_only_shown_again(file: Path, fake: FakeMeasuring) -> None:
    run, record = begin(file)
    fake.done.clear()
    assert again(run) == record
    assert fake.done == []


@pytest.mark.parametrize(
    ("only", "done"),
    [("shop-cpu", ["shop-cpu"]), ("blog", ["blog-cpu", "blog-syscalls 100"]), ("cpu", ["shop-cpu", "blog-cpu"]), ("syscalls", ALL[3:])],
)
def test_only_some_parts(file: Path, fake: FakeMeasuring, only: str, done: list[str]) -> None:
    _, record = begin(file, only=only)
    assert fake.done == done
    assert sum(state == "open" for state in states(record).values()) == 5 - len(done)


def test_a_part_that_does_not_exist_is_refused_before_anything_starts(file: Path, fake: FakeMeasuring) -> None:
    with pytest.raises(UsageError, match="no part 'shop-cp'; did you mean shop-cpu"):
        begin(file, only="shop-cp")
    assert not (file.parent / "runs").exists()
