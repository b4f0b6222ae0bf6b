"""Intervals on one scale: how wide their labels are, and what the scale says."""

import math

import pytest

from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.plots import NARROW, WIDE, change_axis
from phpdyno.report.strips import Strip, strips_of

NAME = " + ".join(f"ini.opcache.setting_{number}=1" for number in range(6))
HELD = Strip(NAME, "what is said of it, which is longer than a phone is wide", TunedRatio(1.08, 1.05, 1.11), 0.01, (), "var(--accent)")


def test_labels_use_the_width_that_there_is() -> None:
    made = strips_of([HELD])
    wide = made["wide"]
    lines = {columns: figure["layout"]["annotations"][0]["text"].split("<br>") for columns, figure in ((NARROW, made), (WIDE, wide))}
    for columns, shown in lines.items():
        assert all(len(line.removeprefix("<b>").removesuffix("</b>")) <= columns for line in shown)
    assert len(lines[WIDE]) < len(lines[NARROW])
    assert wide["layout"]["height"] < made["layout"]["height"]
    assert wide["layout"]["xaxis"] == made["layout"]["xaxis"]


@pytest.mark.parametrize(("less_is_better", "worst", "best"), [(True, "+5 %", "−5 %"), (False, "−5 %", "+5 %")])
def test_the_scale_is_the_change_of_what_was_measured_and_better_is_right(worst: str, best: str, *, less_is_better: bool) -> None:
    axis = change_axis(-0.06, 0.06, 4, less_is_better=less_is_better)
    ticks = sorted(zip(axis["tickvals"], axis["ticktext"], strict=True))
    assert (ticks[0][1], ticks[-1][1]) == (worst, best)
    for at, said in ticks:
        change = float(said.replace("−", "-").removesuffix(" %")) / 100
        ratio = 1 / (1 + change) if less_is_better else 1 + change
        assert math.isclose(at, math.log(ratio), abs_tol=1e-9)
