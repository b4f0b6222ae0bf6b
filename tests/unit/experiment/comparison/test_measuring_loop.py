"""The loop that measures, on a stage that starts nothing: the clock of the day is set meanwhile,
and budgets that are too small."""

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.errors import BudgetTooSmall
from phpdyno.experiment.common import answer_check as gate_file
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.common.stage import RequestFailed
from phpdyno.experiment.comparison import block as block_file
from phpdyno.experiment.comparison import panel_plan as panel_file
from phpdyno.experiment.comparison import runner as runner_file
from phpdyno.experiment.comparison.planning import PanelGoal, fixed_plan, make_plan
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import FAILED, RunState
from phpdyno.host.clock import HostCpu
from phpdyno.journal.reader import FILE, read_journal
from phpdyno.journal.records import BlockBegun, BlockDone, Calibrated, Concluded, Incident, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm
from phpdyno.model.plan import FixedBlocks, Metric, Plan
from phpdyno.servers.instance import ArmFailed
from tests.support.fakes.fake_stage import MS, FakeInstance, FakeMeter, FakeStage
from tests.support.fakes.fake_study import FakeProgress
from tests.support.made_up.journals import AA, arm, opening, plan

SLOT = 7
"""Requests; nothing else that is driven has as many."""
MADE = structs.replace(plan(AA), slot_requests=SLOT, budget_s=30.0)
THREE = structs.replace(plan(AA), fixed=FixedBlocks(3, 4, SLOT, MS, MS, 0.1, 0.1, 0.02, 0.005))


class Wall:
    """The clock of the day, which is set by so many seconds in the first slot of the instance of
    that number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: dict[int, float]) -> None:
        self._ahead_ns = 0
        self._at = dict(at)
        real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real() + self._ahead_ns)

    def slot(self, instance: FakeInstance, size: int) -> None:
        if size == SLOT:
            self._ahead_ns += round(1e9 * self._at.pop(instance.number, 0.0))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits; driven instances are the fakes' own; and one stolen tick would be all of a
    block that takes a millisecond."""
    monkeypatch.setattr(gate_file, "LEARNING_PAUSE_S", 0.0)
    monkeypatch.setattr(runner_file, "driven_instance", lambda instance, *_, **__: DrivenInstance(instance, instance.driver))
    monkeypatch.setattr(block_file, "read_each", lambda cores: (HostCpu(0, 0, 0),))


@contextmanager
def running(made: Plan, run: Path, stage: FakeStage | None = None) -> Iterator[Runner]:
    """The loop over a plan, on a journal that has begun."""
    with JournalWriter(run / FILE) as journal:
        for record in opening(made)[:3]:
            journal.append(record)
        shared = SharedMeters(None, cast(Any, FakeMeter()))
        yield Runner(RunState(made), cast(Any, stage or FakeStage()), shared, journal, run=run, progress=FakeProgress())


def journal_of(made: Plan, wall: Wall, run: Path, *, calibrate_only: bool = False) -> list[Record]:
    """What is journaled while a plan is measured."""
    with running(made, run, FakeStage(wall.slot)) as runner:
        if calibrate_only:
            runner.calibrate()
        else:
            runner.measure()
    return read_journal(run / FILE)


def report_of(records: list[Record]) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(summary(view_of(records, "run")))
    return out.getvalue()


@pytest.mark.parametrize("step_s", [5.5, -3600.0, 0.06])
def test_a_step_during_a_block_is_told_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: float) -> None:
    # Two instances a block: the third one is the control of the second block.
    records = journal_of(THREE, Wall(monkeypatch, {2: step_s}), tmp_path)
    (incident,) = [record for record in records if isinstance(record, Incident)]
    assert (incident.block, incident.arm, incident.kind) == (1, "", "clock step")
    said = f"the clock of the day was set by {step_s:+.2f} s; we measure with another"
    assert incident.detail.startswith(said)
    assert f"clock step: block 2: {said}" in report_of(records)
    blocks = [record for record in records if isinstance(record, BlockDone)]
    assert [(block.block, len(block.observations)) for block in blocks] == [(0, 1), (1, 1), (2, 1)]
    assert not any(seen.excluded for block in blocks for seen in block.observations)
    # What driving costs is kept: an old journal has None.
    assert all(cost.generator_ns for block in blocks for seen in block.observations for cost in (seen.control, seen.treated))
    (concluded,) = [record for record in records if isinstance(record, Concluded)]
    assert concluded.verdict.reason == "all planned blocks were measured"


def test_what_a_time_service_does_to_a_clock_is_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = journal_of(THREE, Wall(monkeypatch, {0: 0.03, 2: -0.03}), tmp_path)
    assert not [record for record in records if isinstance(record, Incident)]


def test_a_step_while_calibrating_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The instance set has two instances; the further ones of the two A/A blocks are 2, and 3 beside
    # 4.
    records = journal_of(MADE, Wall(monkeypatch, {3: 5.5}), tmp_path, calibrate_only=True)
    (incident,) = [record for record in records if isinstance(record, Incident)]
    assert (incident.block, incident.arm, incident.kind) == (-1, "", "clock step")
    assert "clock step: the clock of the day was set by +5.50 s" in report_of(records)


# ---- failures --------------------------------------------------------------------------------


def failures_in(run: Path) -> list[tuple[int, str]]:
    return [(record.block, record.arm) for record in read_journal(run / FILE) if isinstance(record, Incident) and record.kind == FAILED]


def test_failures_of_one_warm_up_are_those_of_its_block_and_the_next_one_counts_again(tmp_path: Path) -> None:
    one, two = arm("one"), arm("two")
    # Four instances a block: both treatments fail in the second one, and one of them again in the
    # third.
    failing = {(1, one.name), (1, two.name), (2, two.name)}

    def fail(instance: FakeInstance, size: int) -> None:
        if (instance.number // 4, instance.arm.name) in failing:
            raise RequestFailed(cast(Any, instance), "502")

    made = structs.replace(plan(one, two, AA), fixed=THREE.fixed)
    with running(made, tmp_path, FakeStage(fail)) as runner:
        runner.measure()
        assert failures_in(tmp_path) == [(1, "one"), (1, "two"), (2, "two")]
        assert runner.state.failed_blocks == {"one": 1, "two": 2}
        replayed = RunState.replay(read_journal(tmp_path / FILE))
    assert (replayed.next_block, replayed.failed_blocks) == (runner.state.next_block, runner.state.failed_blocks)
    blocks = [record.block for record in read_journal(tmp_path / FILE) if isinstance(record, BlockDone)]
    assert blocks == [0, 1, 2]


def test_every_block_that_was_begun_is_accounted_for(tmp_path: Path) -> None:
    one = arm("one")

    def fail(instance: FakeInstance, size: int) -> None:
        # Two instances a block, and the second block's treatment fails in its warm-up.
        if instance.number == 3:
            raise RequestFailed(cast(Any, instance), "502")

    with running(structs.replace(plan(one), fixed=THREE.fixed), tmp_path, FakeStage(fail)) as runner:
        runner.measure()
    records = read_journal(tmp_path / FILE)
    begun = [record.block for record in records if isinstance(record, BlockBegun)]
    (row,) = view_of(records, "run").rows
    assert (row.blocks_begun, len(row.blocks_dropped)) == (len(begun), 1)
    assert row.blocks_dropped[0].startswith("block 2: ")
    assert "502" in row.blocks_dropped[0]
    assert row.blocks + len(row.blocks_dropped) + row.blocks_excluded == row.blocks_begun
    # One that was under way when the session ended has no other trace.
    (later,) = view_of([*records, BlockBegun(9, (one.name,))], "run").rows
    assert later.blocks_dropped[-1] == "block 10: the run ended before it did"


def test_what_happens_after_a_failed_warm_up_belongs_to_the_same_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Three instances a block: the treatment of the second one fails, and the clock is set in its
    # control's first slot.
    wall = Wall(monkeypatch, {3: 5.5})

    def meanwhile(instance: FakeInstance, size: int) -> None:
        wall.slot(instance, size)
        if instance.number == 4:
            raise RequestFailed(cast(Any, instance), "502")

    made = structs.replace(plan(arm("one"), AA), fixed=THREE.fixed)
    with running(made, tmp_path, FakeStage(meanwhile)) as runner:
        runner.measure()
    incidents = [record for record in read_journal(tmp_path / FILE) if isinstance(record, Incident)]
    assert [(each.block, each.kind) for each in incidents] == [(1, FAILED), (1, "clock step")]


class CrampedStage(FakeStage):
    """Has room for a few instances at once, and for fewer where there is not even that."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.asked: list[int] = []

    def start(self, arms: Sequence[Arm]) -> Any:
        self.asked.append(len(arms))
        if len(arms) > self.room:
            raise ArmFailed(arms[1], "the kernel gave 320 of 400 huge pages")
        return super().start(arms)


def crews_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> tuple[list[int], list[Record]]:
    """How many instances were asked for each time, and the journal, where four instance sets of two
    are to be started at once."""
    stage = CrampedStage(room)
    monkeypatch.setattr(panel_file, "fixed_plan", lambda *args: structs.replace(fixed_plan(*args), alive=4))
    with running(THREE, tmp_path, stage) as runner:
        runner.measure()
    return stage.asked, read_journal(tmp_path / FILE)


def test_crews_that_do_not_start_at_once_are_started_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, records = crews_of(tmp_path, monkeypatch, room=2)
    # Eight once, and not again.
    assert asked == [8, 2, 2, 2]
    (incident,) = [record for record in records if isinstance(record, Incident)]
    # Whichever of them was started last.
    assert incident.kind == "4 sets of instances do not start at once"
    assert incident.arm in {AA.name, THREE.control.name}
    assert [record.block for record in records if isinstance(record, BlockDone)] == [0, 1, 2]


def test_an_arm_that_does_not_start_alone_either_is_invalid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, records = crews_of(tmp_path, monkeypatch, room=1)
    # In the order that was drawn, and once more with the control first, which nobody is to blame
    # for want of room.
    assert asked[:3] == [8, 2, 2]
    (concluded,) = [record for record in records if isinstance(record, Concluded)]
    assert (concluded.verdict.kind, concluded.verdict.reason) == ("invalid", "the kernel gave 320 of 400 huge pages")


def test_a_control_that_fails_after_a_treatment_failed_in_the_same_block(tmp_path: Path) -> None:
    control = FakeInstance(THREE.control, 0, lambda instance, size: None)
    with running(THREE, tmp_path) as runner, runner._panels[0]._chances():
        runner.log.incident(AA.name, FAILED, "502", block=0)
        raise RequestFailed(cast(Any, control), "502")
    assert failures_in(tmp_path) == [(0, AA.name), (0, THREE.control.name)]


# ---- budgets that are too small --------------------------------------------------------------


def test_a_budget_without_room_for_the_fewest_blocks_is_refused_before_calibrating_with_one_that_has_it(tmp_path: Path) -> None:
    made = structs.replace(MADE, budget_s=1e-3)
    with running(made, tmp_path) as runner, pytest.raises(BudgetTooSmall, match="not even the fewest and shortest blocks fit") as refused:
        runner.measure()
    # Calibrating alone takes more than a second.
    assert refused.value.enough_s >= 2
    assert not [record for record in read_journal(tmp_path / FILE) if isinstance(record, Calibrated)]


@pytest.mark.parametrize("slow_crews", [1, 2])
def test_a_start_that_was_held_up_is_looked_at_again_before_a_budget_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow_crews: int
) -> None:
    """A minute of starting does not fit into the budget, and the time of the others does."""
    real = time.monotonic
    late_s = 0.0
    started = 0

    class SlowStage(FakeStage):
        def start(self, arms: Sequence[Arm]) -> Any:
            nonlocal late_s, started
            started += 1
            late_s += 60.0 if started <= slow_crews else 0.0
            return super().start(arms)

    monkeypatch.setattr(time, "monotonic", lambda: real() + late_s)
    made = structs.replace(MADE, budget_s=200.0)
    with running(made, tmp_path, SlowStage()) as runner:
        if slow_crews == 1:
            runner.calibrate()
            assert runner._panels[0].planner.found is not None
        else:
            with pytest.raises(BudgetTooSmall, match="not even the fewest and shortest blocks fit"):
                runner.calibrate()
        assert started >= 2


def test_a_budget_that_holds_too_few_of_the_planned_blocks_is_refused_with_one_that_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_file, "make_plan", lambda *args, **known: structs.replace(make_plan(*args, **known), blocks=1))
    with running(MADE, tmp_path) as runner, pytest.raises(BudgetTooSmall, match="1 blocks fit, and no interval is finite") as refused:
        runner.measure()
    assert refused.value.enough_s >= 2


def test_the_budget_that_is_named_is_more_than_the_one_that_was_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the calibration took longer than one does, so that less would be enough."""
    long = MADE.budget_s / 2
    monkeypatch.setattr(
        panel_file, "make_plan", lambda *args, **known: structs.replace(make_plan(*args, **known), blocks=2, overhead_s=long)
    )
    with running(MADE, tmp_path) as runner, pytest.raises(BudgetTooSmall, match="2 blocks fit") as refused:
        runner.measure()
    assert refused.value.enough_s > MADE.budget_s


def test_each_metric_is_planned_with_its_part_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wishes: list[PanelGoal] = []

    def seen(wish: PanelGoal, **known: Any) -> Calibrated:
        wishes.append(wish)
        return make_plan(wish, **known)

    monkeypatch.setattr(panel_file, "make_plan", seen)
    loaded: dict[str, Metric] = {"two": "throughput"}
    made = structs.replace(plan(AA, arm("one"), arm("two")), metrics=loaded, slot_requests=SLOT, loaded_concurrency=1, budget_s=60.0)
    with running(made, tmp_path) as runner:
        runner.calibrate()
        runner._plan()
    assert [(wish.metric, wish.share) for wish in wishes] == [("cpu", 2 / 3), ("throughput", 1 / 3)]
    assert all(55.0 < wish.budget_s <= 60.0 for wish in wishes)


def test_of_two_refusals_the_one_that_asks_for_most_speaks(tmp_path: Path) -> None:
    def refusing(enough_s: int) -> Any:
        def plan() -> None:
            raise BudgetTooSmall("too little", budget_s=1.0, enough_s=enough_s)

        return SimpleNamespace(planner=SimpleNamespace(plan=plan), calibrate=lambda: None, open_treatments=lambda: [])

    with running(MADE, tmp_path) as runner:
        runner._panels = [refusing(20), refusing(70), refusing(30)]
        with pytest.raises(BudgetTooSmall, match="--budget 70s"):
            runner.measure()
