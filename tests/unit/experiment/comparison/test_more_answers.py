"""How long a treatment is asked for more answers before it is called improved."""

import pytest

from phpdyno.experiment.comparison.more_answers import LEAST_S, seconds_for


@pytest.mark.parametrize(
    ("budget_s", "left_s", "treatments", "seconds"),
    [
        (300.0, 200.0, 1, 75.0),
        (20.0, 15.0, 1, LEAST_S),
        (20.0, 6.0, 1, 6.0),
        (300.0, 200.0, 4, 50.0),
        (300.0, 0.0, 2, 0.0),
        (300.0, 60.0, 0, 60.0),
    ],
)
def test_a_quarter_of_the_budget_and_no_more_than_is_left(budget_s: float, left_s: float, treatments: int, seconds: float) -> None:
    assert seconds_for(budget_s, left_s, treatments) == seconds
