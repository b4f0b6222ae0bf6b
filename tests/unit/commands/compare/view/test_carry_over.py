import io
import math
import re

import pytest
from msgspec.structs import replace
from rich.console import Console

from phpdyno.commands.compare.render.figures.forest import carry_over_plot
from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.measuring import CarryOverRow
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import Calibrated, Concluded, Record
from phpdyno.model.verdict import Verdict
from tests.support.made_up.journals import JIT, blocks, conclusion, opening, plan
from tests.support.made_up.protocol import calibrated, carried

MADE = plan(JIT)


def check(*more: Record, number: int = 20, slot: int = 1, stolen: int = -1) -> CarryOverRow:
    start = [record for record in opening(MADE) if not isinstance(record, Calibrated)]
    done = blocks({JIT.name: 1.07}, number, stolen=stolen)
    (found,) = view_of([*start, calibrated(MADE, slot=slot), *done, *more], "run").carry_over
    return found


def test_the_verdicts_own_blocks_stand_for_its_slot_length() -> None:
    found = check(*carried(JIT.name, 20, 1.07, 10))
    assert [(each.slot_requests, each.main, each.blocks) for each in found.effects] == [(1, True, 20), (20, False, 10)]
    assert not found.differs
    told = re.fullmatch(
        r"no sign that the effect depends on the slot length; a difference of ([\d.]+) % or more would have shown", found.said
    )
    assert told
    one, other = ((each.high or 0) / (each.low or 1) for each in found.effects)
    assert float(told[1]) == pytest.approx(100 * (math.sqrt(one * other) - 1), rel=0.06)


def test_no_sign_is_said_only_where_something_would_have_shown() -> None:
    """What it names is just what would have kept the intervals apart."""
    found = check(*carried(JIT.name, 20, 1.07, 10))
    factor = math.exp(sum(math.log((each.high or 0) / (each.low or 1)) / 2 for each in found.effects))
    first, second = found.effects
    centre = math.sqrt((first.low or 0) * (first.high or 0))
    gap = check(*carried(JIT.name, 20, 1.07 * factor * 1.02 * centre / math.sqrt((second.low or 0) * (second.high or 0)), 10))
    assert gap.differs


def test_a_main_length_between_is_shown_beside_both() -> None:
    found = check(*carried(JIT.name, 1, 1.05, 10), *carried(JIT.name, 20, 1.09, 10), slot=4)
    assert [(each.slot_requests, each.main) for each in found.effects] == [(1, False), (4, True), (20, False)]


def test_intervals_that_do_not_overlap_are_warned_of_in_words() -> None:
    records = [*opening(MADE), calibrated(MADE), *(done := blocks({JIT.name: 1.07}, 20)), *carried(JIT.name, 20, 1.12, 12)]
    view = view_of([*records, conclusion(MADE, done, JIT, mixture=0.5)], "run")
    (found,) = view.carry_over
    assert found.differs
    assert "−6.7 % (−7.3 to −6.1, 20 blocks) with 1 request per slot" in found.said
    assert "with 1 request per slot, −10.7 % (" in found.said
    assert found.said in view.rows[0].warnings


def test_the_furthest_lengths_that_differ_are_named() -> None:
    found = check(*carried(JIT.name, 2, 1.3, 10), *carried(JIT.name, 20, 1.3, 10))
    assert "with 1 request per slot" in found.said
    assert found.said.split("with ")[2].startswith("20;")


def test_too_few_blocks_are_said_so_and_have_no_number() -> None:
    found = check(*carried(JIT.name, 20, 1.2, 4))
    few = found.effects[1]
    assert (few.ratio, few.low, few.high, few.blocks) == (None, None, None, 4)
    assert few.blocks_needed > 4
    assert found.said == f"not looked at: too few blocks (4 of at least {few.blocks_needed} with 20 requests per slot)"


def test_excluded_blocks_do_not_count_here_either() -> None:
    found = check(*carried(JIT.name, 20, 1.07, 10), stolen=3)
    assert [each.blocks for each in found.effects] == [19, 9]


def test_a_block_said_twice_counts_once() -> None:
    again = replace(carried(JIT.name, 20, 1.07, 1)[0], log_ratio=0.5)
    found = check(*carried(JIT.name, 20, 1.07, 10), again)
    assert found.effects[1].blocks == 10
    assert max(found.effects[1].log_ratios) == 0.5


def test_no_check_without_another_length_and_none_of_an_invalid_arm() -> None:
    assert view_of([*opening(MADE), *blocks({JIT.name: 1.07}, 9)], "run").carry_over == ()
    invalid = Concluded(Verdict(JIT.name, "invalid", reason="answers differ"))
    assert view_of([*opening(MADE), *blocks({JIT.name: 1.07}, 9), *carried(JIT.name, 20, 1.1, 9), invalid], "run").carry_over == ()


def test_before_a_calibration_the_lengths_stand_alone() -> None:
    start = [record for record in opening(MADE) if not isinstance(record, Calibrated)]
    (found,) = view_of([*start, *carried(JIT.name, 20, 1.1, 9)], "run").carry_over
    assert [(each.slot_requests, each.main) for each in found.effects] == [(20, False)]


def test_the_plot_has_one_strip_per_length() -> None:
    found = check(*carried(JIT.name, 20, 1.2, 4))
    figure = carry_over_plot(found, "request")
    assert [note["text"].split("<br>")[0] for note in figure["layout"]["annotations"]] == [
        "<b>1 request per slot (the verdict)</b>",
        "<b>20 requests per slot</b>",
    ]
    dots = [trace for trace in figure["data"] if trace["mode"] == "markers" and trace["marker"]["size"] == 5]
    assert sum(len(trace["x"]) for trace in dots) == 24
    assert all(math.isfinite(value) for trace in dots for value in trace["x"])


def test_where_no_other_length_was_measured_it_is_said_why() -> None:
    nine = blocks({JIT.name: 1.07}, 9)
    missing = view_of([*opening(MADE), *nine], "run")
    said = "not looked at: a tenth of the time goes to slots of 1 and 20 requests, and measuring ended before it was earned"
    assert missing.carry_over_missing == said
    out = io.StringIO()
    Console(file=out, width=400).print(summary(missing))
    assert f"Carry-over: {said}" in out.getvalue()
    assert f"N{said[1:]}." in render_page(missing)
    several = view_of([*opening(replace(MADE, concurrency=4)), *nine], "run")
    assert several.carry_over_missing == "not looked at: with several requests in flight a slot of one request is none"
    every: list[list[Record]] = [[*nine, *carried(JIT.name, 20, 1.1, 9)], []]
    for looked in every:
        assert view_of([*opening(MADE), *looked], "run").carry_over_missing == ""


def test_blocks_beyond_the_scale_are_an_arrow_and_not_lost() -> None:
    found = check(*carried(JIT.name, 20, 4.0, 4))
    figure = carry_over_plot(found, "request")
    arrows = [trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == "triangle-right"]
    _, high = figure["layout"]["xaxis"]["range"]
    assert high < math.log(2)
    assert [trace["x"] for trace in arrows] == [[high]]
