"""The line of cost over turns, on costs that are known."""

import math
import random

import pytest

from phpdyno.stats.line import fit_line, least_rounds

TURNS = (0, 25_000, 50_000, 75_000, 100_000)


def costs(rounds: int, *, bend: float = 0.0, noise: float = 0.003, seed: int = 1) -> list[list[float]]:
    """80 us and 5 ns a turn; `bend` makes the turns of the upper half dearer."""
    draw = random.Random(seed)
    straight = [80e3 + 5.0 * (turns + bend * max(0, turns - 50_000)) for turns in TURNS]
    return [[cost * draw.gauss(1.0, noise) for cost in straight] for _ in range(rounds)]


def test_a_line_gives_base_unit_and_the_turns_for_an_effect() -> None:
    line = fit_line(TURNS, costs(20))
    assert line.base_ns == pytest.approx(80e3, rel=0.02)
    assert line.unit_ns == pytest.approx(5.0, rel=0.01)
    more = line.turns_for(0.01, 100_000)
    assert more == pytest.approx(101_160, abs=20)
    assert line.effect(100_000, more) == pytest.approx(math.log(1.01), rel=1e-3)
    assert line.bend_low is not None
    assert line.bend_low < 0.0 < (line.bend_high or 0.0)


def test_a_bend_shows() -> None:
    line = fit_line(TURNS, costs(20, bend=0.1))
    assert line.bend == pytest.approx(0.1 / 1.05, abs=0.02)
    assert line.bend_low is not None
    assert line.bend_low > 0.05


def test_few_rounds_have_no_interval() -> None:
    assert fit_line(TURNS, costs(least_rounds() - 1)).bend_low is None
    assert fit_line(TURNS, costs(least_rounds())).bend_low is not None


@pytest.mark.parametrize(
    ("turns", "rounds"), [((0, 1), [[1.0, 2.0]]), (TURNS, []), (TURNS, [[5.0, 4.0, 3.0, 2.0, 1.0]]), (TURNS, [[1.0] * 5])]
)
def test_what_is_no_line_is_refused(turns: tuple[int, ...], rounds: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"three levels|do not cost more"):
        fit_line(turns, rounds)


def test_a_noisy_round_does_not_end_it() -> None:
    """The slope of half a round may be negative by chance; the line rests on all of them."""
    noisy = costs(60, noise=0.25)
    line = fit_line(TURNS, noisy)
    assert line.unit_ns == pytest.approx(5.0, rel=0.3)
    assert line.bend_low is not None
    assert line.bend_low < 0.0 < (line.bend_high or 0.0)


def test_turns_that_cost_nothing_are_an_error() -> None:
    with pytest.raises(ValueError, match="do not cost more"):
        fit_line(TURNS, [[80e3, 79e3, 78e3, 77e3, 76e3]])
