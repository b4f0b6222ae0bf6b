"""What a tune may go on with: the same PHP, files of a running pool, requests and changes; and how
much of the budget is used up."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from phpdyno.commands.tune import run as workflow
from phpdyno.commands.tune.parts import Parts, TuneChanged, spent_in_parts
from phpdyno.commands.tune.run import Tuning, digests_of, refuse_changed_tune
from phpdyno.errors import DynoError
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.journal.reader import FILE
from phpdyno.journal.records import IN_A_PAGE, REMARK, Incident, Preflight
from phpdyno.journal.tune import read_tune, write_tune
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.plan import Plan
from phpdyno.model.runs.tune import Found
from phpdyno.model.workload import Target, Workload
from phpdyno.servers.live.pool import LivePool
from phpdyno.servers.programs.php import IniFiles
from phpdyno.session.specs import Imported
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.bundles import HOST
from tests.support.made_up.journals import JIT, TIMESTAMPS, arm, blocks, conclusion, opening, plan
from tests.support.made_up.sweeps.tunes import record

INI = "/etc/php/8.2/fpm/php.ini"


def imported(text: str) -> Imported:
    return Imported(LivePool("www", {}, {}, ()), IniFiles("", (), ""), {INI: text})


BEFORE = record(based_on=digests_of(imported("memory_limit = 128M\n")))


def resumed(change: Callable[[Any, Any], tuple[Any, Any]] = lambda control, live: (control, live)) -> None:
    """Go on with BEFORE after a change to the control or to the running pool."""
    control, live = change(BEFORE.control, imported("memory_limit = 128M\n"))
    subject: Any = SimpleNamespace(controls=(control, control))
    measurer: Any = SimpleNamespace(app=SimpleNamespace(version=BEFORE.app_version), live=live)
    refuse_changed_tune(BEFORE, subject, measurer, Preflight(HOST, ()))


def test_what_is_as_it_was_is_gone_on_with() -> None:
    resumed()


def test_another_php_is_refused() -> None:
    with pytest.raises(DynoError, match=r"PHP 8\.2\.29 or one of its extensions is not the one that this tune began with"):
        resumed(lambda control, live: (structs.replace(control, php=structs.replace(control.php, build_id="f00d")), live))
    with pytest.raises(DynoError, match="one of its extensions"):
        resumed(lambda control, live: (structs.replace(control, php=structs.replace(control.php, extensions={"/x.so": "f00d"})), live))


def test_a_file_of_the_running_pool_that_was_edited_meanwhile_is_named() -> None:
    with pytest.raises(DynoError, match="has changed since this tune began") as raised:
        resumed(lambda control, _: (control, imported("memory_limit = 1G\n")))
    assert raised.value.where == INI


def test_the_parts_know_what_the_record_was_not_told_before_a_hard_end(tmp_path: Path) -> None:
    for name in ("screen-1", "race-1"):
        (tmp_path / name).mkdir()
        with JournalWriter(tmp_path / name / FILE) as journal:
            for each in (*opening(plan(JIT)), *blocks({JIT.name: 1.05}, 3)):
                journal.append(each)
    (tmp_path / "try-1").mkdir()
    (tmp_path / "try-1" / FILE).write_text("")
    assert spent_in_parts(tmp_path) == pytest.approx(2 * (16.5 + 2 * 5.0))


MEASURED = plan(JIT)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    """Those of a tune that measured one part, try-1, to its end."""
    done = blocks({JIT.name: 1.05}, 20)
    (tmp_path / "try-1").mkdir()
    with JournalWriter(tmp_path / "try-1" / FILE) as journal:
        for each in (*opening(MEASURED), *done, conclusion(MEASURED, done, JIT)):
            journal.append(each)
    anything: Any = SimpleNamespace()
    return Parts(tmp_path, anything, anything, argv=(), clock=BudgetClock(budget_s=60.0), progress=FakeProgress())


def test_a_part_that_was_measured_is_read_whatever_time_is_left(parts: Parts) -> None:
    state = parts.measure("try-1", lambda: structs.replace(MEASURED, budget_s=1.0))
    assert state.plan == MEASURED
    assert list(state.verdicts) == [JIT.name]


def test_a_part_of_an_earlier_session_is_ahead_until_this_one_comes_to_it(parts: Parts, tmp_path: Path) -> None:
    (tmp_path / "race-1").mkdir()
    (tmp_path / "race-1" / FILE).write_text("")  # broke off before it had a plan
    assert parts.ahead()
    parts.measure("try-1", lambda: MEASURED)
    assert not parts.ahead()


def test_what_answers_showed_is_read_from_the_parts_journal(parts: Parts, tmp_path: Path) -> None:
    with JournalWriter(tmp_path / "try-1" / FILE) as journal:
        for detail in ("/ shows a message of PHP: Warning", "/ shows a message of PHP: Warning"):
            journal.append(Incident(3, "control", IN_A_PAGE, detail))
        journal.append(Incident(3, "control", REMARK, "/ and /a answer the very same page"))
        journal.append(Incident(3, "control", "clock step", "the clock was set"))
    assert parts.remarks("try-1") == ("/ shows a message of PHP: Warning", "/ and /a answer the very same page")
    assert parts.remarks("try-2") == ()


OTHER_BUILD = structs.replace(JIT, php=structs.replace(JIT.php, build_id="f00d"))


@pytest.mark.parametrize(
    "now",
    [
        structs.replace(MEASURED, workload=Workload((Target("/other"),), MEASURED.workload.host)),
        structs.replace(MEASURED, control=arm("control", ini__memory_limit="1G")),
        plan(structs.replace(JIT, changed={"ini.opcache.jit": "function"})),
        plan(OTHER_BUILD),
        plan(JIT, TIMESTAMPS),
        plan(),
    ],
)
def test_a_part_of_other_requests_or_other_changes_is_not_gone_on_with(parts: Parts, now: Plan) -> None:
    with pytest.raises(TuneChanged, match=r"/try-1: what is tried or asked is not what this tune began with; start a new one"):
        parts.measure("try-1", lambda: now)
    assert parts.taken == []


def test_where_time_decides_how_many_are_measured_there_may_be_more_by_now(parts: Parts) -> None:
    assert parts.measure("try-1", lambda: plan(TIMESTAMPS, JIT), some=True).plan == MEASURED


@pytest.mark.parametrize("now", [plan(TIMESTAMPS), plan(TIMESTAMPS, OTHER_BUILD)])
def test_none_that_was_measured_may_be_gone_or_another(parts: Parts, now: Plan) -> None:
    with pytest.raises(TuneChanged):
        parts.measure("try-1", lambda: now, some=True)


def test_a_tune_that_is_not_gone_on_with_keeps_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stages(self: Tuning) -> Found:
        self._keep(Found())
        raise TuneChanged("another")

    monkeypatch.setattr(Tuning, "_stages", stages)
    interrupted = record(outcome="interrupted")
    measurer: Any = SimpleNamespace(parts=SimpleNamespace(taken=[]), clock=SimpleNamespace(spent_s=lambda: 400.0))
    with pytest.raises(TuneChanged):
        Tuning(tmp_path, interrupted, measurer, FakeProgress()).go()
    assert read_tune(tmp_path) == interrupted


def test_what_a_resumed_tune_begins_is_repeated_by_the_command_line_of_the_tune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Sequence[str]] = []

    def laboratory(*_: object, argv: Sequence[str], **__: object) -> None:
        seen.append(argv)
        raise DynoError("no server is started")

    monkeypatch.setattr(workflow, "laboratory", laboratory)
    monkeypatch.setattr(workflow, "subject_of", lambda asked: asked)
    monkeypatch.setattr(workflow, "MeasuringLock", contextlib.nullcontext)
    write_tune(tmp_path, record(outcome="interrupted"))
    with pytest.raises(DynoError, match="no server"):
        workflow.resume_tune(tmp_path, progress=FakeProgress())
    assert seen == [("tune", "hello")]
