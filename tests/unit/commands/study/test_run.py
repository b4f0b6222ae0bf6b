"""The order of a study's parts, what is kept and what is tried again. Comparisons and passes are
fakes; real ones are integration tests."""

import contextlib
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.study import run as workflow
from phpdyno.errors import BudgetTooSmall, DynoError, Interrupted, UsageError
from phpdyno.explain.tracing.strace import CannotTrace
from phpdyno.journal.study import StudyRecord, read_study, write_study
from tests.support.fakes.fake_study import FakeMeasuring, FakeProgress
from tests.support.made_up.builds import BUILD
from tests.support.made_up.studies import TOML, counts


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMeasuring:
    made = FakeMeasuring()
    for name in ("compare", "resume", "count_pass"):
        monkeypatch.setattr(workflow, name, getattr(made, name))
    monkeypatch.setattr(workflow, "check_study", lambda *_: ())
    monkeypatch.setattr(workflow, "read_provenance", lambda _: made.ground)
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
    assert (loaded.settle, alone.settle) == ("relevance", "never")


def test_a_budget_scales_all_comparisons_slots_and_passes(file: Path, fake: FakeMeasuring) -> None:
    begin(file, budget_s=60.0)
    assert [question.budget_s for question in fake.asked] == pytest.approx([30.0, 6.0, 24.0])
    # A tenth of 400 would be below one request for each in flight.
    assert fake.asked[0].slot_requests == 100
    assert fake.done[3:] == ["shop-syscalls 50", "blog-syscalls 20"]


def test_a_budget_is_that_of_the_parts_that_are_asked_for(file: Path, fake: FakeMeasuring) -> None:
    begin(file, only="cpu", budget_s=30.0)
    # 60 + 240 seconds of the file's.
    assert [question.budget_s for question in fake.asked] == pytest.approx([6.0, 24.0])


def test_a_budget_means_nothing_to_passes_alone(file: Path, fake: FakeMeasuring) -> None:
    begin(file, only="syscalls", budget_s=30.0)
    assert fake.done == ALL[3:]


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


def test_what_a_resumed_study_begins_is_repeated_by_the_command_line_of_the_study(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-cpu": KeyboardInterrupt()}
    began, resumed = ("study", str(file)), ("study", "--resume", "runs/x")
    with pytest.raises(Interrupted) as caught:
        workflow.study(file, budget_s=None, only="", runs=file.parent / "runs", argv=began, progress=FakeProgress())
    workflow.resume_study(Path(caught.value.run), only="", argv=resumed, progress=FakeProgress())
    # shop-cpu goes on, and its journal notes who went on with it; blog-cpu begins.
    assert fake.argvs == [began, began, resumed, began]


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


def test_a_budget_that_decides_nothing_is_told_as_one_of_the_whole_study(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-cpu": BudgetTooSmall("this budget can decide nothing: too few blocks", budget_s=60.0, enough_s=90)}
    _, record = begin(file)
    said = next(part.detail for part in record.parts if part.state == "failed")
    # 60 of 600 seconds are its own, so 90 are its own of 900.
    assert said == (
        "this budget can decide nothing: too few blocks; start a study with --budget 900s at least, or with budget_s = 90 for this "
        "comparison, or with fewer treatments"
    )


def test_a_longer_study_needs_time_for_its_longer_slots_as_well(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-throughput": BudgetTooSmall("too little", budget_s=150.0, enough_s=200)}
    _, record = begin(file, budget_s=300.0)
    # Half of the budget means slots of 200; those of 400 need twice as long.
    assert "--budget 800s at least, or with budget_s = 400 " in next(part.detail for part in record.parts if part.state == "failed")


def test_the_next_step_of_a_failure_is_kept_without_a_path_of_the_machine(file: Path, fake: FakeMeasuring) -> None:
    class Elsewhere(FakeProgress):
        """Raises in the second part, as findings do, with the place of the logs."""

        def phase(self, text: str) -> None:
            if "shop-cpu" in text:
                run = next((file.parent / "runs").iterdir())
                raise DynoError("the control cannot be measured", next_step=f"see {run}/shop-cpu/logs")

    _, record = begin(file, progress=Elsewhere())
    assert [part.detail for part in record.parts if part.state == "failed"] == ["the control cannot be measured; see shop-cpu/logs"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"code": "beef"}, r"phpdyno's measuring code c0de \(0\.1\.0\), now beef"),
        ({"host": {"kernel": "6.2", "CPU time from": "cgroup"}}, r"kernel 6\.1, now 6\.2"),
        ({"servers": {"nginx": "1.23", "mariadb": "11"}}, r"nginx 1\.22\.1, now 1\.23; start|nginx 1\.22\.1, now 1\.23$"),
        ({"servers": {"PHP (/bin/fpm)": "8.2.1, build id bb"}}, r"build id aa, now 8\.2\.1, build id bb"),
    ],
)
def test_parts_on_something_else_are_not_added(file: Path, fake: FakeMeasuring, changed: dict[str, object], said: str) -> None:
    run, _ = begin(file, only="shop-cpu")
    fake.ground = structs.replace(fake.ground, **changed)
    fake.done.clear()
    with pytest.raises(UsageError, match=said):
        again(run)
    assert fake.done == []
    # What is done is shown nevertheless.
    assert again(run, only="shop-cpu") == read_study(run)


def test_before_a_part_is_finished_anything_may_change(file: Path, fake: FakeMeasuring) -> None:
    fake.fails = {"shop-cpu": DynoError("no")}
    run, _ = begin(file, only="shop-cpu")
    fake.ground = structs.replace(fake.ground, code="beef")
    assert again(run, only="shop-cpu").ground == fake.ground


def test_builds_are_those_that_the_study_began_with(file: Path, fake: FakeMeasuring, monkeypatch: pytest.MonkeyPatch) -> None:
    run, record = begin(file, only="shop-cpu")
    monkeypatch.setenv("PHPDYNO_CACHE", str(file.parent / "cache"))
    write_study(run, structs.replace(record, builds={"by a profile": BUILD}))
    fake.done.clear()
    with pytest.raises(UsageError, match="there is no build 'pgo-1'"):
        again(run)
    assert fake.done == []


def test_a_server_that_came_later_is_no_change(file: Path, fake: FakeMeasuring) -> None:
    run, _ = begin(file, only="shop-cpu")
    fake.ground = structs.replace(fake.ground, servers={**fake.ground.servers, "mariadb": "11"})
    assert set(states(again(run)).values()) == {"done"}


def test_another_version_of_an_app_fails_its_parts_only(file: Path, fake: FakeMeasuring) -> None:
    run, _ = begin(file, only="shop-throughput")
    fake.version = "6.2"
    record = again(run)
    assert states(record) == {
        "shop-throughput": "done",
        "shop-cpu": "failed",
        "blog-cpu": "done",
        "shop-syscalls": "failed",
        "blog-syscalls": "done",
    }
    failed = {part.detail for part in record.parts if part.state == "failed"}
    assert failed == {"shop is now 6.2, and what was done of this before is of 6.1.1; start it anew"}


def test_a_study_that_does_not_say_on_what_it_was_measured_is_not_gone_on_with(file: Path, fake: FakeMeasuring) -> None:
    run, record = begin(file, only="shop-cpu")
    write_study(run, structs.replace(record, ground=None))
    with pytest.raises(UsageError, match="does not say what parts of it were measured on"):
        again(run)


def test_the_file_is_named_without_a_path_of_the_machine(file: Path, fake: FakeMeasuring, monkeypatch: pytest.MonkeyPatch) -> None:
    assert begin(file)[1].file == "small.toml"
    monkeypatch.chdir(file.parent.parent)
    assert begin(file, only="shop-cpu")[1].file == f"{file.parent.name}/small.toml"
    monkeypatch.chdir(file.parent)
    assert begin(Path("small.toml"), only="shop-cpu")[1].file == "small.toml"
