"""The clock of a budget, with time made up."""

import math
import time

import pytest

from phpdyno.experiment.common.clock import BudgetClock


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the steady clock shows."""
    shown = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: shown[0])
    return shown


def test_earlier_sessions_count_and_nothing_is_left_below_nothing(now: list[float]) -> None:
    clock = BudgetClock(20.0, budget_s=60.0)
    now[0] += 30.0
    assert (clock.spent_s(), clock.left_s()) == (50.0, 10.0)
    now[0] += 30.0
    assert (clock.spent_s(), clock.left_s()) == (80.0, 0.0)
    assert BudgetClock().left_s() == math.inf


def test_it_stands_while_paused_and_after_the_end(now: list[float]) -> None:
    clock = BudgetClock()
    now[0] += 5.0
    with clock.paused():
        now[0] += 7.0
    now[0] += 1.0
    assert clock.spent_s() == 6.0
    clock.stop()
    now[0] += 50.0
    assert clock.spent_s() == 6.0
