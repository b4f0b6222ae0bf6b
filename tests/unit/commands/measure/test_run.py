"""What `measure` decides before anything starts, and how a session's record ends."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec import structs

from phpdyno.commands.measure import run as module
from phpdyno.commands.measure.run import (
    DEBIAN_POOL,
    MeasureRequest,
    check_question,
    make_sweep_plan,
    pool_arms,
    resume,
    rivals_here,
    with_pool,
)
from phpdyno.commands.measure.session import best_point, ending, refuse_other_cores
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.common.clock import BudgetClock
from phpdyno.journal.sweep import SWEEP_FILE, SWEEP_SCHEMA, SweepEnded, SweepHeader, read_sweep
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.sweep import POINTS, Point
from phpdyno.model.workload import Target, Workload
from phpdyno.server_files.nginx import MOST_THROUGH_NGINX
from tests.support.made_up.journals import preflight
from tests.support.made_up.sweeps.sweeps import plan_of, visit

ASKED = MeasureRequest(source=AppSource(reference="hello"))


class FakeReader:
    """Reads `NAME=VALUE,NAME=VALUE`, keeps the options that it is told of, and asks no PHP."""

    def __init__(self) -> None:
        self.options: list[str] = []

    def read(self, spec: str, option: str, _base: dict[str, str]) -> dict[str, str]:
        self.options.append(option)
        return dict(part.split("=") for part in spec.split(",") if part)

    def arm(self, name: str, settings: dict[str, str], changed: dict[str, str]) -> Arm:
        return Arm(name, PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0"), settings, changed)


class FakeProgress:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def phase(self, text: str) -> None:
        """Not looked at."""

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Not looked at."""


def test_the_points_are_those_of_the_references_and_an_open_loop() -> None:
    assert [point.concurrency for point in POINTS[:-1]] == [1, 3, 5, 10, 20, 30, 40, 50, 100]
    assert POINTS[-1] == Point(100, 0.7)
    check_question(ASKED)


def test_the_pool_is_debians_unless_the_spec_says_which() -> None:
    assert with_pool({"ini.opcache.enable": "0"}) == {**DEBIAN_POOL, "ini.opcache.enable": "0"}
    assert DEBIAN_POOL["pool.pm"] == "dynamic"
    assert list(DEBIAN_POOL.values())[1:] == ["5", "2", "1", "3"]
    assert with_pool({"pool.pm.max_children": "16"}) == {"pool.pm": "static", "pool.pm.max_children": "16"}
    assert with_pool({"pool.pm": "ondemand"}) == {"pool.pm": "ondemand", "pool.pm.max_children": "5"}
    assert with_pool({"pool.listen.backlog": "128"}) == {**DEBIAN_POOL, "pool.listen.backlog": "128"}


def test_each_spec_is_an_arm() -> None:
    arms = pool_arms(("", "pool.pm.max_children=16"), cast(Any, FakeReader()))
    assert [arm.name for arm in arms] == ["default", "pool.pm.max_children=16"]
    assert [arm.settings["pool.pm.max_children"] for arm in arms] == ["5", "16"]
    with pytest.raises(UsageError, match="--arm : this arm is named twice"):
        pool_arms(("", ""), cast(Any, FakeReader()))


def test_a_fault_in_a_spec_names_the_option_that_it_came_with() -> None:
    reader = FakeReader()
    pool_arms(("", "pool.pm.max_children=16", "pool.pm.max_children=32"), cast(Any, reader))
    assert reader.options == ["--control", "--arm", "--arm"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"points": (Point(5, 0.7),)}, "no point with a fixed number"),
        ({"points": ()}, "no point with a fixed number"),
        ({"points": (Point(5), Point(5))}, "named twice"),
        ({"points": (Point(5), Point(5, 0.7), Point(5, 0.5))}, "named twice"),
        ({"points": (Point(0),)}, "at least one request in flight"),
        ({"points": (Point(MOST_THROUGH_NGINX + 1),)}, "which our nginx serves at once"),
        ({"transport": "script"}, "one operation at a time"),
        ({"transport": "fastcgi", "cross_check": True}, "speak HTTP only"),
        ({"visit_s": 0.0}, "times lie above 0"),
        ({"budget_s": -1.0}, "times lie above 0"),
        ({"confidence": 1.0}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_question(structs.replace(ASKED, **change))


def test_more_go_straight_to_php_fpm() -> None:
    check_question(structs.replace(ASKED, points=(Point(MOST_THROUGH_NGINX + 1),), transport="fastcgi"))


def test_too_few_descriptors_are_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connections: int) -> None:
        raise DynoError(f"{connections} connections need more open files", next_step="ulimit -n 4096")

    monkeypatch.setattr(module, "require_descriptors", refuse)
    with pytest.raises(DynoError, match="100 connections need more open files; ulimit"):
        check_question(ASKED)


def test_one_rival_is_enough_and_the_other_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> str:
        if name == "ab":
            raise DynoError("ab is not installed", next_step="install it")
        return f"/usr/bin/{name}"

    monkeypatch.setattr(module, "find_rival", find)
    progress = FakeProgress()
    assert rivals_here(progress) == ("wrk",)
    assert progress.notes == ["ab is not installed; install it"]


def test_without_any_rival_the_cross_check_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_PATH", "/no/such/place")
    with pytest.raises(DynoError, match="wrk is not installed"):
        rivals_here(FakeProgress())


def test_the_plan_is_the_question_with_its_app() -> None:
    app = PreparedApp("hello", Path("/nowhere"), Workload((Target("/"),)), version="1.0")
    arms = pool_arms(("",), cast(Any, FakeReader()))
    plan = make_sweep_plan(structs.replace(ASKED, seed=7, cross_check=True, most_budget_s=1200.0), app, arms)
    assert (plan.budget_s, plan.most_budget_s) == (300.0, 1200.0)
    assert (plan.app, plan.app_version, plan.workload, plan.arms) == ("hello", "1.0", app.workload, arms)
    assert (plan.points, plan.seed, plan.cross_check, plan.source) == (POINTS, 7, True, ASKED.source)
    other = Workload((Target("/search"),))
    assert make_sweep_plan(structs.replace(ASKED, workload=other), app, arms).workload.targets == other.targets
    assert msgspec.json.decode(msgspec.json.encode(plan), type=type(plan)) == plan


def test_the_best_point_is_the_one_with_the_highest_throughput_and_fewest_in_flight() -> None:
    plan = plan_of(points=(Point(1), Point(5), Point(10), Point(10, 0.7)))
    rates = {Point(1): 100, Point(5): 400, Point(10): 400, Point(10, 0.7): 900}
    visits = [visit(number, point=point, valid=rate) for number in (1, 2) for point, rate in rates.items()]
    assert best_point(plan, visits, "control") == Point(5)
    assert best_point(plan, [], "control") == Point(1)


# ---- how a session ends -------------------------------------------------------------------------


def begun(folder: Path) -> JournalWriter:
    journal = JournalWriter(folder / SWEEP_FILE)
    journal.append(SweepHeader(SWEEP_SCHEMA, "0.1.0", "2026-11-21T20:00:00+0000", (), plan_of()))
    return journal


def last_line(folder: Path) -> SweepEnded:
    return read_sweep(folder).ends[-1]


def test_a_session_that_ends_well_says_so(tmp_path: Path) -> None:
    with begun(tmp_path) as journal, ending(journal, tmp_path, BudgetClock(12.0)):
        pass
    end = last_line(tmp_path)
    assert (end.outcome, end.detail) == ("finished", "")
    assert end.spent_s >= 12.0


def test_an_interrupted_session_can_go_on(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as told, begun(tmp_path) as journal, ending(journal, tmp_path, BudgetClock()):
        raise KeyboardInterrupt
    assert (told.value.run, told.value.command) == (str(tmp_path), "measure")
    assert last_line(tmp_path).outcome == "interrupted"
    assert not read_sweep(tmp_path).finished


def test_a_fault_is_recorded_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="no such luck"), begun(tmp_path) as journal, ending(journal, tmp_path, BudgetClock()):
        raise DynoError("no such luck")
    assert (last_line(tmp_path).outcome, last_line(tmp_path).detail) == ("failed", "no such luck")


def test_a_sweep_goes_on_only_on_the_cores_that_it_began_with() -> None:
    host = preflight().host
    refuse_other_cores(None, host)
    refuse_other_cores(host, structs.replace(host, load_1min=host.load_1min + 1.0))
    with pytest.raises(DynoError, match="began on other cores"):
        refuse_other_cores(host, structs.replace(host, measured_cores=(*host.measured_cores, 77)))
    with pytest.raises(DynoError, match="began on other cores"):
        refuse_other_cores(host, structs.replace(host, helper_cores=(*host.helper_cores, 77)))


def test_a_full_disk_hides_no_fault(tmp_path: Path) -> None:
    def full(_: object) -> None:
        raise DynoError("the disk is full")

    journal = cast(Any, SimpleNamespace(append=full))
    with pytest.raises(DynoError, match="no such luck"), ending(journal, tmp_path, BudgetClock()):
        raise DynoError("no such luck")
    with pytest.raises(DynoError, match="the disk is full"), ending(journal, tmp_path, BudgetClock()):
        pass


def test_a_finished_sweep_is_not_resumed(tmp_path: Path) -> None:
    with begun(tmp_path) as journal:
        journal.append(SweepEnded("finished", "", 30.0))
    with pytest.raises(UsageError, match=r"this run is finished.*phpdyno report"):
        resume(tmp_path, argv=(), progress=FakeProgress())
    with pytest.raises(UsageError, match="there is no sweep here"):
        resume(tmp_path / "logs", argv=(), progress=FakeProgress())


def test_the_clock_stands_still_after_the_rounds() -> None:
    clock = BudgetClock(5.0)
    clock.stop()
    assert clock.spent_s() == clock.spent_s()
    assert 5.0 <= clock.spent_s() < 6.0
