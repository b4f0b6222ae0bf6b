from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from phpdyno.commands.compare.render.figures.split import PARTS, cpu_split, parts
from phpdyno.commands.compare.render.figures.time import control_over_time, lag_over_time, steal_over_time
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.compare.view.words import ordered
from tests.support.made_up.journals import finished
from tests.support.made_up.protocol import full

VIEW = view_of(full(), "run")


def test_the_bars_add_up_to_the_host_and_the_longest_fills_the_row() -> None:
    figure = cpu_split(ordered(VIEW.rows))
    assert [trace["marker"]["color"] for trace in figure["data"]] == [f"var(--{key})" for key, _ in PARTS if key != "services"]
    totals = [sum(lengths) for lengths in zip(*(trace["x"] for trace in figure["data"]), strict=True)]
    assert len(totals) == 8
    assert all(max(pair) == pytest.approx(1.0) for pair in zip(totals[::2], totals[1::2], strict=True))
    first = VIEW.rows[0]
    assert first.control is not None
    assert sum(parts(first.control).values()) == pytest.approx(first.control.host_cpu_ms_per_request)


def test_a_host_that_says_less_than_its_parts_gives_no_negative_bar() -> None:
    cost = VIEW.rows[0].control
    assert cost is not None
    assert parts(replace(cost, host_cpu_ms_per_request=0.0))["other"] == 0.0


def test_bars_and_their_labels_stand_clear_of_each_other() -> None:
    figure = cpu_split(ordered(view_of(finished(), "run").rows))
    bars = [(at - 8, at + 8) for at in figure["data"][0]["y"]]
    labels = [(note["y"], note["y"] + 16 * (1 + note["text"].count("<br>"))) for note in figure["layout"]["annotations"]]
    taken = sorted([*bars, *labels])
    assert all(before[1] <= after[0] for before, after in pairwise(taken))


def _drawn(figure: dict[str, Any]) -> Any:
    return figure["data"][0]["y"]


def test_the_limit_is_drawn_when_a_block_comes_near_it() -> None:
    stolen = steal_over_time(VIEW)
    assert [shape["y0"] for shape in stolen["layout"]["shapes"]] == [60.0]
    assert max(_drawn(stolen)) == pytest.approx(21.0)
    quiet = lag_over_time(VIEW)
    assert "shapes" not in quiet["layout"]
    low, high = quiet["layout"]["yaxis"]["range"]
    assert low < 0 < max(_drawn(quiet)) < high < 10


def test_excluded_blocks_are_crosses() -> None:
    trace = control_over_time(VIEW, "cpu")["data"][0]
    assert [number for number, symbol in enumerate(trace["marker"]["symbol"]) if symbol != "circle"] == [9]
    assert trace["text"][9] == "block 10, excluded"
    assert "x-thin-open" not in control_over_time(VIEW, "throughput")["data"][0]["marker"]["symbol"]


def test_nothing_measured_draws_empty_axes() -> None:
    figure = steal_over_time(replace(VIEW, noise=()))
    assert _drawn(figure) == []
    assert figure["layout"]["yaxis"]["range"][1] > 0
