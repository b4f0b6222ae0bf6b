"""The order in which arms with and without settings of the host start."""

from collections import Counter
from itertools import permutations

import pytest

from phpdyno.experiment.comparison.schedule import draw_order
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.servers.host_settings import in_order

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0")


def arms_of(letters: str) -> list[Arm]:
    """`c`: the control; `h`, `i`: arms with a setting of the host; any other: one without."""
    return [Arm(each, PHP, {"os.net.core.somaxconn": "512"} if each in "hi" else {}) for each in letters]


def first_of(letters: str) -> str:
    arms = arms_of(letters)
    return arms[in_order(arms)[0][0]].name


def test_arms_of_one_kind_start_together() -> None:
    assert in_order(arms_of("cab")) == [[0, 1, 2]]
    assert in_order(arms_of("hi")) == [[0, 1]]
    assert in_order(arms_of("cha")) in ([[0, 2], [1]], [[1], [0, 2]])
    assert in_order([]) == []


def test_the_control_begins_where_the_order_is_not_drawn() -> None:
    assert first_of("ch") == first_of("chi") == first_of("cahi") == "c"


@pytest.mark.parametrize("letters", ["ch", "cha", "chab", "chi", "cahi", "chabd"])
def test_either_kind_is_first_half_of_the_time(letters: str) -> None:
    orders = [first_of("".join(order)) in "hi" for order in permutations(letters)]
    assert sum(orders) * 2 == len(orders)


def test_a_drawn_order_of_blocks_balances_who_is_first() -> None:
    arms = arms_of("cha")
    first: Counter[bool] = Counter()
    for block in range(400):
        drawn = [arms[place] for place in draw_order(len(arms), seed=7, block=block, stage=0)]
        first[drawn[in_order(drawn)[0][0]].name == "h"] += 1
    assert abs(first[True] - first[False]) < 80  # four standard deviations
