"""A ladder is finished once its functions were looked at too; servers and perf are replaced by
fakes here."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from phpdyno.commands.compare.run import CompareRequest
from phpdyno.commands.ladder import run as workflow
from phpdyno.commands.ladder.top import Top
from phpdyno.errors import BudgetTooSmall, DynoError, Interrupted, UsageError
from phpdyno.journal.ladder import KNOBS, LadderRecord, read_ladder, write_ladder
from phpdyno.journal.reader import FILE
from phpdyno.journal.records import Concluded, Planned, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.build import Build
from phpdyno.model.inside.hot import HotPass
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.ladder import LadderStep
from phpdyno.model.verdict import Verdict
from phpdyno.model.workload import Workload
from tests.support.made_up.ladders import knob_journal, ladder_journal, ladder_record

SILENT: Any = SimpleNamespace(phase=lambda _: None, note=lambda _: None, tick=lambda *_: None)
HOT = HotPass("o2", "pgo+bolt", 10, 100, (), ())


def keep(place: Path, records: Sequence[Record], names: Sequence[str]) -> None:
    """A journal in which each of these treatments has a verdict."""
    place.mkdir(parents=True)
    with JournalWriter(place / FILE) as journal:
        for record in records:
            if isinstance(record, Planned):
                journal.append(Planned(structs.replace(record.plan, source=AppSource("wordpress"))))
            else:
                journal.append(record)
        for name in names:
            journal.append(Concluded(Verdict(name, "inconclusive")))


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ladder of which all is measured, and whose functions were not looked at; its builds are as
    they were."""
    monkeypatch.setattr(workflow, "refuse_rebuilt", lambda *_, **__: None)
    record = ladder_record()
    run = tmp_path / "run"
    keep(run, list(ladder_journal(record)), [step.spec for step in record.steps if step.spec])
    keep(run / KNOBS / "20260102-compare", list(knob_journal(record)), [step.spec for step in record.knobs])
    write_ladder(run, structs.replace(record, hot=None, not_hot=""))
    return run


def resumed(run: Path) -> LadderRecord:
    workflow.resume_ladder(run, argv=(), progress=SILENT)
    return read_ladder(run)


def test_a_look_that_was_interrupted_is_made_and_then_it_is_finished(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> HotPass:
        raise KeyboardInterrupt

    monkeypatch.setattr(workflow, "look_for_hot_functions", interrupt)
    with pytest.raises(Interrupted):
        resumed(measured)
    monkeypatch.setattr(workflow, "look_for_hot_functions", lambda *_, **__: HOT)
    assert resumed(measured).hot == HOT
    with pytest.raises(UsageError, match="this ladder is finished"):
        resumed(measured)


def test_a_look_that_cannot_be_made_is_not_tried_again(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> HotPass:
        raise DynoError("perf is not installed")

    monkeypatch.setattr(workflow, "look_for_hot_functions", refuse)
    assert resumed(measured).not_hot == "perf is not installed"
    with pytest.raises(UsageError, match="this ladder is finished"):
        resumed(measured)


def test_that_knobs_are_not_measured_is_said_until_they_are(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DynoError("too little time")

    write_ladder(measured, structs.replace(read_ladder(measured), notes=("older than installed", f"{workflow.NOT_ON_TOP}no such build")))
    with monkeypatch.context() as patched:
        patched.setattr(workflow, "compare_in", refuse)
        patched.setattr(workflow, "_look_inside", lambda *_, **__: None)
        assert resumed(measured).notes == ("older than installed", f"{workflow.NOT_ON_TOP}too little time")
    monkeypatch.setattr(workflow, "look_for_hot_functions", lambda *_, **__: HOT)
    assert resumed(measured).notes == ("older than installed",)


def test_knobs_for_which_the_budget_was_too_small_take_another_one(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def refuse(question: CompareRequest, *_: object, **__: object) -> None:
        given.append(question.budget_s)
        raise BudgetTooSmall("no interval can become finite", budget_s=question.budget_s, enough_s=840)

    monkeypatch.setattr(workflow, "_look_inside", lambda *_, **__: None)
    monkeypatch.setattr(workflow, "compare_in", refuse)
    said = "no interval can become finite; go on with a larger one for what is not measured: --resume with --budget 840s at least"
    assert resumed(measured).notes == (f"{workflow.NOT_ON_TOP}{said}",)
    workflow.resume_ladder(measured, argv=(), progress=SILENT, budget_s=900.0)
    assert given == [300.0, 900.0]
    write_ladder(measured, structs.replace(read_ladder(measured), knob_budget_s=0.0))
    with pytest.raises(UsageError, match="--resume with --budget: this ladder has no knobs"):
        workflow.resume_ladder(measured, argv=(), progress=SILENT, budget_s=900.0)


def test_the_comparison_of_the_knobs_is_repeated_by_the_command_line_of_the_ladder(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(workflow, "compare_in", lambda *_, origin, **__: asked.append(origin))
    monkeypatch.setattr(workflow, "_look_inside", lambda *_, **__: None)
    workflow.resume_ladder(measured, argv=("ladder", "--resume", str(measured)), progress=SILENT)
    assert asked == [("ladder", "wordpress")]


def test_totals_are_no_products_of_two_versions_of_an_app(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgraded = PreparedApp("wordpress", Path("/srv"), Workload(()), version="another")
    monkeypatch.setattr(workflow, "compare_in", lambda *_, accept, **__: accept(upgraded))
    monkeypatch.setattr(workflow, "_look_inside", lambda *_, **__: None)
    (note,) = [each for each in resumed(measured).notes if each.startswith(workflow.NOT_ON_TOP)]
    assert "the app is not the one that this run began with (now another, then " in note


def test_a_run_of_another_command_is_refused_before_anything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "resume", lambda *_, **__: pytest.fail("nothing is measured"))
    keep(tmp_path / "run", ladder_journal(ladder_record()), ())
    with pytest.raises(UsageError, match="run: there is no ladder here"):
        resumed(tmp_path / "run")


@pytest.mark.parametrize("lines", [0, 1])
def test_a_ladder_that_ended_before_it_had_a_plan_is_begun_anew(tmp_path: Path, lines: int) -> None:
    write_ladder(tmp_path, ladder_record())
    if lines:
        with JournalWriter(tmp_path / FILE) as journal:
            journal.append(ladder_journal(ladder_record())[0])
    with pytest.raises(UsageError, match="this run never got as far as a plan; start it anew"):
        resumed(tmp_path)


def test_a_build_that_was_made_again_is_not_measured_beside_the_others(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(builds: Iterable[Build], *, of: str) -> None:
        raise DynoError(f"{len(list(builds))} of a {of}")

    monkeypatch.setattr(workflow, "refuse_rebuilt", refuse)
    monkeypatch.setattr(workflow, "_finish", lambda *_, **__: pytest.fail("nothing is measured"))
    with pytest.raises(DynoError, match="3 of a ladder"):
        resumed(measured)


def test_what_goes_on_top_is_looked_for_once_and_told_of(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[LadderStep, int]] = []
    top = Top((LadderStep("JIT", "ini.opcache.jit=tracing", "pgo+bolt"),), ("preloading: 1 of 9 scripts is left out",))

    def find(below: LadderStep, *_: object, memory_kib: int, **__: object) -> Top:
        asked.append((below, memory_kib))
        return top

    write_ladder(measured, structs.replace(read_ladder(measured), knobs=(), hot=HOT))
    monkeypatch.setattr(workflow, "find_top", find)
    monkeypatch.setattr(workflow, "_is_finished", lambda *_: False)
    monkeypatch.setattr(workflow, "compare_in", lambda *_, **__: None)
    for record in (resumed(measured), resumed(measured)):
        assert (record.knobs, record.notes) == (top.steps, top.notes)
    assert [(below.name, memory_kib) for below, memory_kib in asked] == [("pgo+bolt", 0)]
