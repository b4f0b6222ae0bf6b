import io
import math

import pytest
from msgspec.structs import replace
from rich.console import Console

from phpdyno.commands.compare.render.figures.allan import allan_cost, allan_deviation
from phpdyno.commands.compare.render.figures.forest import forest
from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.calibrations import AA_MIXTURE, forecast, pairs_of
from phpdyno.commands.compare.view.measuring import CalibrationRow
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import Calibrated, Record
from phpdyno.model.plan import Plan
from phpdyno.stats.comparison.allocation import MIXTURES
from phpdyno.stats.comparison.sequence import confidence_sequence
from tests.support.made_up.journals import AA, JIT, blocks, opening, plan
from tests.support.made_up.protocol import STATIC, aa_blocks, calibrated, full

MADE = plan(JIT)


def seen(found: Calibrated, made: Plan = MADE, *more: Record) -> RunView:
    start = [record for record in opening(made) if not isinstance(record, Calibrated)]
    return view_of([*start, found, *more], "run")


def row(found: Calibrated, made: Plan = MADE) -> CalibrationRow:
    (only,) = seen(found, made).calibrations
    return only


def test_one_entry_per_metric() -> None:
    view = view_of(full(), "run")
    assert [(each.metric, each.slot_requests) for each in view.calibrations] == [("cpu", 1), ("throughput", 200)]
    assert view.calibration.startswith("CPU per request: 1 request(s) per slot")


@pytest.mark.parametrize(
    ("made", "found", "why"),
    [
        (MADE, calibrated(MADE), "the shortest of 6 lengths tried whose variance × time is about the least"),
        (replace(MADE, slot_requests=5), calibrated(MADE, slot=5), "as asked for"),
        (MADE, replace(calibrated(MADE), allan=()), "from what one request of the control takes"),
        (
            replace(MADE, concurrency=4),
            calibrated(MADE, slot=80),
            "20 for each of the 4 in flight, so that filling and draining weigh little",
        ),
    ],
)
def test_why_slots_are_as_long_as_they_are(made: Plan, found: Calibrated, why: str) -> None:
    assert row(found, made).slot_reason == why
    assert row(found, made).slot_warning == ""


LOADED = replace(MADE, metrics={JIT.name: "throughput"}, loaded_concurrency=4)
"""Four in flight."""


@pytest.mark.parametrize(
    ("asked", "slot", "why", "drains"),
    [
        (1, 4, "one for each of the 4 in flight, the fewest that keep the load; 1 asked for", "100 %"),
        (16, 16, "as asked for", "25 %"),
        (None, 40, "10 for each of the 4 in flight", "10 %"),
    ],
)
def test_slots_that_hardly_fill_are_not_said_to_weigh_little(asked: int | None, slot: int, why: str, drains: str) -> None:
    made = replace(LOADED, slot_requests=asked)
    view = seen(calibrated(made, "throughput", slot=slot), made)
    (found,) = view.calibrations
    assert found.slot_reason == why
    said = f"slots of {slot} requests with 4 in flight: {drains} of them end while the slot drains, which can move the ratio; "
    assert found.slot_warning == said + "leave --slot out, or give 80 or more"
    out = io.StringIO()
    Console(file=out, width=200).print(summary(view))
    assert f"requests per second: {found.slot_warning}" in out.getvalue()
    enough = replace(LOADED, slot_requests=80)
    assert row(calibrated(enough, "throughput", slot=80), enough).slot_warning == ""


def test_the_chosen_length_is_marked_in_both_curves() -> None:
    points = row(calibrated(MADE, slot=4)).allan
    assert [each.slot_requests for each in points if each.chosen] == [4]
    for figure, unit in (
        (allan_deviation(points, "request"), 100 * points[0].deviation),
        (allan_cost(points, "request"), 1e3 * points[0].cost_s),
    ):
        (trace,) = figure["data"]
        assert trace["x"] == [1, 2, 4, 8, 16, 32]
        assert trace["y"][0] == pytest.approx(unit)
        assert trace["marker"]["symbol"].index("diamond") == 2
        assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [4]
        for axis in ("xaxis", "yaxis"):
            held = figure["layout"][axis]
            assert held["type"] == "log"
            low, high = held["range"]
            assert all(low <= math.log10(each) <= high for each in held["tickvals"])
            assert len(held["tickvals"]) >= 2


def test_a_flat_curve_of_zeros_draws_nothing_impossible() -> None:
    points = tuple(replace(each, deviation=0.0, cost_s=0.0) for each in row(calibrated(MADE)).allan)
    (trace,) = allan_cost(points, "request")["data"]
    assert trace["y"] == [None] * 6


def test_aa_blocks_are_pooled_with_the_interval_that_there_is() -> None:
    held = aa_blocks(8)
    found = row(replace(calibrated(MADE), aa=held)).aa
    interval = confidence_sequence([each.log_ratio for each in held], 0.05, AA_MIXTURE)
    assert found is not None
    assert interval.low is not None
    assert found.ratio == pytest.approx(math.exp(interval.mean))
    assert found.low == pytest.approx(math.exp(interval.low))
    few = row(calibrated(MADE, aa=3)).aa
    assert few is not None
    assert (few.ratio, few.low, few.high, few.blocks) == (None, None, None, 3)
    assert row(replace(calibrated(MADE), aa=())).aa is None


def test_the_interval_of_the_aa_blocks_does_not_hang_on_what_was_chosen_by_them() -> None:
    """The comparison's g follows from the same blocks; four of them have an interval whatever it
    is."""
    narrow, wide = (row(replace(calibrated(MADE, aa=4), mixture=g)).aa for g in (MIXTURES[0], MIXTURES[-1]))
    assert narrow == wide
    assert narrow is not None
    assert narrow.low is not None
    assert narrow.blocks_needed == 4


def test_an_excluded_aa_block_does_not_count() -> None:
    first, *rest = aa_blocks(8)
    found = row(replace(calibrated(MADE), aa=(replace(first, excluded="steal 12.0%"), *rest))).aa
    assert found is not None
    assert found.blocks == 7


def test_the_forest_shows_the_calibrations_aa_first_unless_the_plan_has_an_aa_arm() -> None:
    view = seen(calibrated(MADE, aa=3), MADE, *blocks({JIT.name: 1.07}, 12))
    notes = [note["text"] for note in forest(view, "cpu")["layout"]["annotations"]]
    assert len(notes) == 2
    assert notes[0].startswith("<b>the control against itself")
    assert "interval still infinite" in notes[0].replace("<br>", " ")
    with_arm = plan(AA, JIT)
    view = seen(calibrated(with_arm), with_arm, *blocks({AA.name: 1.0, JIT.name: 1.07}, 12))
    notes = [note["text"] for note in forest(view, "cpu")["layout"]["annotations"]]
    assert notes[0].split("<br>")[0] == "<b>control again (A/A)</b>"
    assert len(notes) == 2


def test_the_aa_of_one_metric_is_not_shown_for_another() -> None:
    view = view_of(full(), "run")
    notes = [note["text"] for note in forest(view, "throughput")["layout"]["annotations"]]
    assert "2 of at least" in notes[0].replace("<br>", " ")
    assert STATIC.name.split(";")[0] in notes[1]


def test_forecast_in_words() -> None:
    found = row(calibrated(MADE))
    assert forecast(found, 0.01, 300.0) == (
        "42 blocks fit in the budget of 5 min: an effect of 0.88 % is decided in it; one of the margin (±1 %) after about 2 min 50 s "
        "(9 times in 10)"
    )
    hopeless = replace(found, blocks=3, decidable=None, eta_s=None)
    assert forecast(hopeless, 0.01, 20.0) == "3 blocks fit in the budget of 20 s: no effect can be decided in it (9 times in 10)"
    assert forecast(replace(found, blocks=None), 0.01, 20.0) == ""


def test_the_mixture_of_the_calibration_sets_the_least_number_of_blocks() -> None:
    wide = seen(replace(calibrated(MADE), mixture=4.0), MADE, *blocks({JIT.name: 1.07}, 5))
    assert wide.rows[0].blocks_needed == 4
    assert wide.rows[0].ratio is not None


def test_crews_and_pairs_in_words() -> None:
    assert row(calibrated(MADE)).crews.startswith("3 sets of instances at a time, each for one block")
    assert row(replace(calibrated(MADE), alive=1)).crews.startswith("started anew for every block; ")
    assert [pairs_of({}), pairs_of({"a": 1}), pairs_of({"a": 6, "b": 30})] == ["0 pairs", "1 pair", "6 to 30 pairs"]
