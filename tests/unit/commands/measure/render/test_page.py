import json
import math
import re
from itertools import pairwise
from typing import Any

import pytest

from phpdyno.commands.measure.render.figures import concurrency_ticks, cpu_plot, throughput_plot, times_plot
from phpdyno.commands.measure.render.page import render_sweep, sweep_figures
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.journal.sweep import Sweep
from phpdyno.report.words import visible
from tests.support.made_up.sweeps.sweep_runs import empty_sweep, full_sweep, short_sweep
from tests.unit.commands.compare.render.test_page import HOSTILE, Page
from tests.unit.commands.measure.render.test_terminal import hostile_sweep


def page_of(sweep: Sweep) -> tuple[str, Page]:
    html = render_sweep(sweep_view(sweep, "run"))
    return html, Page(html)


def test_the_page_needs_no_network_and_its_policy_forbids_it() -> None:
    _, page = page_of(full_sweep())
    assert page.fetching == []
    assert page.elements.count("script") == 3
    assert page.policy.startswith("default-src 'none'; script-src 'sha256-")


def test_every_plot_has_its_place() -> None:
    html, page = page_of(full_sweep())
    figures: dict[str, Any] = json.loads(page.scripts[0])
    assert set(figures) == {"throughput", "memory", "times-0", "times-1", "cpu-0", "cpu-1"}
    assert html.count('class="plot"') == len(figures)
    for name in figures:
        assert html.count(f'<div id="{name}" class="plot"></div>') == 1


def test_without_a_finished_round_there_is_no_plot_and_it_is_said() -> None:
    html, page = page_of(empty_sweep())
    assert json.loads(page.scripts[0]) == {}
    assert 'class="plot"' not in html
    assert page.text.count("No visit counts, so there is nothing to show.") == 2
    assert "This run is unfinished" in page.text


def test_what_is_found_is_on_the_page() -> None:
    _, page = page_of(full_sweep())
    for said in (
        "default: most throughput at c = ",
        "5 rounds of fresh instances",
        "Open loop at 70 %",
        "1,260 requests per s, 70 % of saturation in the first round",
        "PHP's CPU is the limit",
        "wrk / ours at c = 10: 0.995 (95 % CI ",
        "not compared: it reports 12 failed requests",
        "load average 1.4: something else is running",
        "default, c = 50: failed: 15 of ",
        "2 visits excluded for a covariate declared beforehand; none for being slow",
        "steal 12.0%",
        "/feed/",
        "phpdyno measure hello --budget 2m --seed 1",
    ):
        assert said in page.text, said


def test_an_interruption_is_said_first() -> None:
    _, page = page_of(short_sweep())
    assert page.text.index("This run is interrupted: SIGINT") < page.text.index("What was found")
    assert "(no interval)" in page.text


def test_hostile_strings_stay_text() -> None:
    _, page = page_of(hostile_sweep())
    assert page.elements.count("script") == 3
    assert "img" not in page.elements
    assert page.fetching == []
    assert visible(HOSTILE) in page.text
    assert "1337" not in page.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.text + page.scripts[0])
    assert not re.search("<(?!/?b>|br>|/?extra>)", json.dumps(json.loads(page.scripts[0]), ensure_ascii=False))


# ---- plots --------------------------------------------------------------------------------------


def test_intervals_are_drawn_and_single_visits_are_dots() -> None:
    view = sweep_view(full_sweep(), "run")
    dots, line, *_ = throughput_plot(view)["data"]
    assert len(dots["x"]) == 5 * 8
    assert dots["marker"]["symbol"].count("x-thin-open") == 1
    assert line["x"] == [1, 3, 5, 10, 20, 30, 40, 50]
    row = next(row for row in view.points if row.concurrency == 10)
    assert row.per_s is not None
    assert row.per_s.high is not None
    assert line["error_y"]["array"][3] == pytest.approx(row.per_s.high - row.per_s.value)
    without = throughput_plot(sweep_view(short_sweep(), "run"))["data"][1]
    assert without["error_y"]["array"] == [0.0, 0.0, 0.0]


def test_a_line_for_each_percentile_that_is_shown() -> None:
    view = sweep_view(full_sweep(), "run")
    figure = times_plot([row for row in view.points if row.arm == "default"])
    assert [len(trace["x"]) for trace in figure["data"]] == [8, 8, 8, 8, 0, 0]
    low, high = figure["layout"]["yaxis"]["range"]
    values = [value for trace in figure["data"] for value in trace["y"]]
    assert 10**low < min(values) < max(values) < 10**high


def test_bars_are_stacked_by_component_and_leave_a_contained_network_out() -> None:
    view = sweep_view(full_sweep(), "run")
    rows = [row for row in view.points if row.arm == "default"]
    php, nginx, database, network = cpu_plot(rows)["data"]
    # At c = 50 requests failed in every visit.
    assert php["x"] == ["1", "3", "5", "10", "20", "30", "40", "o 100"]
    assert all(value > 0 for value in (*php["y"], *nginx["y"]))
    assert set(database["y"]) == {0.0}
    assert set(network["y"]) == {0.0}


def test_an_arm_without_anything_measured_is_in_no_plot() -> None:
    assert sweep_figures(sweep_view(empty_sweep(), "run")) == {}


@pytest.mark.parametrize("loads", [[1], [5, 5], [1, 3, 5, 10, 20, 30, 40, 50, 100], list(range(1, 21)), [90, 95, 100], [1, 1000]])
def test_ticks_do_not_run_into_each_other(loads: list[int]) -> None:
    kept = concurrency_ticks(loads)
    assert kept[0] == min(loads)
    assert kept[-1] == max(loads)
    assert set(kept) <= set(loads)
    if len(kept) > 1:
        span = math.log(kept[-1] / kept[0])
        assert all(math.log(after / before) >= 0.085 * span for before, after in pairwise(kept))
    assert concurrency_ticks([]) == []
