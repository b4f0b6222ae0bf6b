import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace

from phpdyno.commands.compare.render.bar import bar, scale
from phpdyno.commands.compare.view.shape import Row
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.report.scale import reach, ticks
from tests.support.made_up.journals import JIT, OPCACHE_OFF, finished
from tests.unit.commands.compare.view.test_words import ROW

LIMIT = math.log(1.1)


def reach_of(rows: Sequence[Row]) -> float:
    ends = {row.name: (row.low, row.high, row.margin) for row in rows if row.is_aa}
    return reach([(row.low, row.high, row.margin) for row in rows if not row.is_aa], ends.values())


def test_a_far_outlier_does_not_set_the_scale() -> None:
    rows = view_of(finished(), "run").rows
    assert 0.07 < reach_of(rows) < 0.1
    assert reach_of([row for row in rows if row.name == OPCACHE_OFF.name]) > 1.5
    assert reach_of([]) > 0


def test_the_margin_always_fits() -> None:
    assert reach_of([replace(ROW, ratio=1.0, low=0.9999, high=1.0001, margin=0.05)]) > math.log(1.05)


def test_bars() -> None:
    assert bar(replace(ROW, ratio=1.0, low=1 / 1.05, high=1.05), LIMIT, 17) == "    ├───●───┤    "
    assert bar(replace(ROW, ratio=1.05, low=1.02, high=1.08), LIMIT, 17) == "        │ ├─●─┤  "
    assert bar(replace(ROW, ratio=0.2, low=0.19, high=0.21), LIMIT, 17) == "◄       │        "
    assert bar(replace(ROW, ratio=2.0, low=1.05, high=3.0), LIMIT, 17) == "        │   ├───►"
    assert bar(replace(ROW, ratio=None, low=None, high=None), LIMIT, 17) == "        │        "
    assert scale(LIMIT, 17, "cpu") == "+10 %   0  −9.1 %"
    assert scale(LIMIT, 17, "throughput") == "−9.1 %  0   +10 %"


@pytest.mark.parametrize("width", [15, 17, 45])
def test_a_bar_has_its_width(width: int) -> None:
    for row in view_of(finished(), "run").rows:
        assert len(bar(row, 0.08, width)) == width
    assert len(scale(0.08, width, "cpu")) == width


@pytest.mark.parametrize(
    ("low", "high"), [(-0.001, 0.001), (-0.01, 0.011), (-0.03, 0.09), (-0.3, 0.3), (-1.6, 0.2), (-4.0, 4.0), (0.05, 0.09), (-1.58, -1.53)]
)
def test_ticks_are_inside_ascending_and_few(low: float, high: float) -> None:
    found = ticks(low, high, 6)
    assert 1 <= len(found) <= 6
    assert all(low <= math.log(each) <= high for each in found)
    assert all(before < after for before, after in pairwise(found))
    if low < 0 < high:
        assert 1.0 in found


def test_the_improvement_lies_right_of_no_effect() -> None:
    row = next(each for each in view_of(finished(), "run").rows if each.name == JIT.name)
    drawn = bar(row, 0.08, 17)
    assert drawn.index("●") > drawn.index("│") == 8


def test_an_effect_of_ten_percent_stays_on_the_scale_of_effects_of_one() -> None:
    hoped_for = replace(ROW, ratio=1.10, low=1.02, high=1.19)
    narrow = replace(ROW, ratio=1.0, low=0.99, high=1.01)
    assert reach_of([narrow, narrow, hoped_for]) > math.log(1.19)
    assert reach_of([narrow, narrow, replace(ROW, ratio=0.2, low=0.17, high=0.25)]) < math.log(1.19)


def test_a_narrow_aa_makes_no_outlier_of_the_only_effect() -> None:
    aa = replace(ROW, is_aa=True, ratio=1.0, low=0.998, high=1.002)
    far = replace(ROW, ratio=0.2, low=0.19, high=0.21)
    assert reach_of([aa, far]) > -math.log(0.19)
    wide = replace(aa, low=0.5, high=2.0)
    assert reach_of([wide, replace(ROW, ratio=1.0, low=0.99, high=1.01)]) > math.log(2.0)
