"""The answer of a sweep: what it serves, at which load, and what limits it."""

from msgspec import structs

from phpdyno.commands.measure.answer import measure_answer
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up.sweeps.sweep_runs import full_sweep

VIEW = sweep_view(full_sweep(), "run")


def test_several_arms_are_held_beside_each_other() -> None:
    answer = measure_answer(VIEW, "runs/one").fitted()
    assert "serves the most: " in answer.result
    assert answer.table is not None
    assert [line.cells[0] for line in answer.table.rows] == [arm.name for arm in VIEW.arms if arm.best_per_s is not None]
    assert answer.lines <= MOST_LINES


def test_one_arm_is_told_by_its_loads() -> None:
    arm = VIEW.arms[0]
    answer = measure_answer(structs.replace(VIEW, arms=(arm,)), "runs/one")
    assert answer.result.endswith(f"requests a second with {arm.best} in flight (95 % CI)")
    assert answer.table is not None
    assert answer.table.heads[0] == "IN FLIGHT"
    assert str(arm.best) in [line.cells[0] for line in answer.table.rows]
    assert f"with {arm.best} in flight" in answer.result


def test_a_sweep_without_a_visit_that_counts_has_no_figure() -> None:
    answer = measure_answer(structs.replace(VIEW, arms=(), outcome="interrupted"), "runs/one")
    assert answer.result == "none yet: interrupted"
    assert answer.next[0] == ("Go on", "phpdyno measure --resume runs/one")
