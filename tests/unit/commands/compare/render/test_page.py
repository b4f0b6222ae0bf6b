import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from phpdyno.commands.compare.render.figures.forest import forest
from phpdyno.commands.compare.render.page import render_page
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import Calibrated, Ended, Incident, Record
from phpdyno.model.arm import Arm
from phpdyno.model.plan import Metric
from phpdyno.model.workload import Target
from phpdyno.report.frame import embedded_json
from phpdyno.report.words import visible
from tests.support.made_up.journals import JIT, OPCACHE_OFF, PHP, blocks, finished, opening, paid_by_the_database, plan
from tests.support.made_up.protocol import calibrated, carried, full, loaded_blocks

HOSTILE = "</script><script>alert(1)</script>[red]<img src=x onerror=alert(2)>{{7*191}}\"'&lt;\u2028\u202egnp\u2066"
SHOWN = visible(HOSTILE)
LONG = "x" * 2000
BAD = Arm(HOSTILE, PHP, {HOSTILE: HOSTILE}, {HOSTILE: HOSTILE})


class Page(HTMLParser):
    """Elements, texts by element, and attributes that could fetch something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.fetching: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.text = ""
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self._inside = tag
        self.fetching += [f"{tag} {name}={value}" for name, value in attrs if name in {"src", "href", "srcset", "action", "data", "poster"}]
        self.fetching += [f"{tag} {name}={value}" for name, value in attrs if name.startswith("on")]
        if tag == "script":
            self.scripts.append("")
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


def page_of(records: list[Record]) -> Page:
    return Page(render_page(view_of(records, "run")))


def hostile_run() -> list[Record]:
    """Names from outside wherever the journal has one, in both metrics, with everything that
    draws."""
    long = Arm(LONG, PHP, {LONG: LONG}, {LONG: LONG})
    throughput: Metric = "throughput"
    asked = plan(BAD, JIT, long, targets=(Target("/" + HOSTILE), Target("/" + LONG)))
    made = replace(asked, app=HOSTILE, app_version=HOSTILE, metrics={LONG: throughput})
    start = [record for record in opening(made, HOSTILE, argv=(HOSTILE,)) if not isinstance(record, Calibrated)]
    cpu = blocks({BAD.name: 1.05, JIT.name: 1.07}, 12)
    loaded = loaded_blocks({LONG: 1.05}, 12)
    return [
        *start,
        replace(calibrated(made), note=HOSTILE),
        calibrated(made, "throughput", aa=3, slot=200),
        *(replace(one, observations=one.observations + two.observations) for one, two in zip(cpu, loaded, strict=True)),
        *carried(BAD.name, 20, 1.2, 9),
        Incident(3, HOSTILE, HOSTILE, HOSTILE),
        Ended("interrupted", HOSTILE, 60.0),
    ]


def test_nothing_is_fetched_and_the_policy_forbids_it() -> None:
    page = page_of(finished())
    assert page.fetching == []
    assert page.elements.count("script") == 3
    assert {"link", "img", "iframe", "object", "base", "form"}.isdisjoint(page.elements)
    assert page.policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in page.policy
    assert "unsafe-inline" not in page.policy.split("style-src", maxsplit=1)[0]


def test_the_policy_allows_exactly_our_two_scripts() -> None:
    page = page_of(finished())
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.scripts[1:]}
    assert set(re.findall(r"'sha256-([^']+)'", page.policy)) == hashes


def test_hostile_strings_stay_text() -> None:
    page = page_of(hostile_run())
    assert page.elements.count("script") == 3
    assert "img" not in page.elements
    assert page.fetching == []
    assert page.text.count(SHOWN) >= 12
    assert "1337" not in page.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.text + page.scripts[0])
    assert not re.search("<(?!/?b>|br>|/?extra>)", json.dumps(json.loads(page.scripts[0]), ensure_ascii=False))


def test_long_names_are_shortened_in_plots_and_whole_in_the_text() -> None:
    page = page_of(hostile_run())
    assert LONG in page.text
    figures = json.loads(page.scripts[0])
    assert max(len(note["text"]) for note in figures["forest-throughput"]["layout"]["annotations"]) < 400


def test_embedded_json_cannot_end_its_element() -> None:
    text = embedded_json({"name": HOSTILE})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"name": HOSTILE}


def test_every_plot_has_its_place() -> None:
    html = render_page(view_of(finished(), "run"))
    figures = json.loads(Page(html).scripts[0])
    blocks_over_time = {f"blocks-{number}" for number in range(5)}
    assert set(figures) == {"forest-cpu", "split", "control-cpu", "steal", "lag"} | blocks_over_time
    _placed(html, figures)


def test_a_run_by_the_whole_protocol_has_every_plot() -> None:
    html = render_page(view_of(full(), "run"))
    figures = json.loads(Page(html).scripts[0])
    wanted = {"forest-cpu", "forest-throughput", "split", "allan-deviation-cpu", "allan-cost-cpu", "carry-0", "carry-1"}
    wanted |= {"control-cpu", "control-throughput", "steal", "lag", "blocks-0", "blocks-1", "blocks-2", "blocks-3"}
    assert set(figures) == wanted
    _placed(html, figures)


def _placed(html: str, figures: dict[str, Any]) -> None:
    assert html.count('class="plot"') == len(figures)
    for name in figures:
        assert html.count(f'<div id="{name}" class="plot"></div>') == 1


def test_what_is_said_of_throughput_is_on_the_page() -> None:
    text = page_of(full()).text
    for said in (
        "more requests per second",
        "Requests per second against the control. A difference matters from ±5 % on.",
        "Effects on requests per second",
        "failed: control none, treatment 192 of 96000 (144 wrong_status (502), 48 timed_out)",
        "For requests per second",
        "20 for each of the 10 in flight",
        "the effect depends on the slot length",
        "2 observations in 1 block excluded",
        "generator kept the server waiting",
    ):
        assert said in text, said


def test_what_is_saved_in_php_and_spent_elsewhere_is_no_good_news() -> None:
    html = render_page(view_of([*opening(plan(JIT)), *paid_by_the_database(blocks({JIT.name: 1.07}, 20))], "run"))
    assert '<span class="badge regressed">improved, spent elsewhere</span>' in html
    assert "PHP + nginx + database together cost more per request, so nothing is gained" in html


def test_slots_that_hardly_fill_are_warned_of() -> None:
    records = [replace(each, slot_requests=40) if isinstance(each, Calibrated) else each for each in full()]
    text = page_of(records).text
    assert "Requests per second, slots of 40 requests with 10 in flight: 25 % of them end while the slot drains" in text
    assert "drains" not in page_of(full()).text


def test_an_operation_of_a_script_is_not_called_php_fpm() -> None:
    made = replace(plan(JIT), transport="script")
    text = page_of([*opening(made), *blocks({JIT.name: 1.07}, 8), Ended("finished", "", 60.0)]).text
    assert "operations of a long-lived PHP process" in text
    assert "php-fpm," not in text.split("Environment", maxsplit=1)[0]


def test_labels_of_the_forest_stand_clear_of_each_other_and_of_the_strips() -> None:
    figure = forest(view_of(finished(), "run"), "cpu")
    strips = sorted({(shape["y0"], shape["y1"]) for shape in figure["layout"]["shapes"]})
    notes = [(note["y"], note["y"] + 16 * (1 + note["text"].count("<br>"))) for note in figure["layout"]["annotations"]]
    assert len(strips) == len(notes) == 6
    taken = sorted(strips + notes)
    assert all(before[1] <= after[0] for before, after in pairwise(taken))
    assert all(len(line) <= 40 + len("<b></b>") for note in figure["layout"]["annotations"] for line in note["text"].split("<br>"))


def test_what_lies_beyond_the_scale_is_an_arrow() -> None:
    figure = forest(view_of(finished(), "run"), "cpu")
    low, high = figure["layout"]["xaxis"]["range"]
    assert -0.1 < low < high < 0.2
    arrows = [trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == "triangle-left"]
    assert [arrow["x"] for arrow in arrows] == [[low]]
    assert OPCACHE_OFF.name in arrows[0]["text"][0]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (opening(plan(JIT)), "No block was finished"),
        (opening(plan()), "The plan holds no treatment"),
        (
            [*opening(plan(JIT)), *blocks({JIT.name: 1.07}, 4), Ended("interrupted", "SIGINT", 30.0)],
            "interval still infinite: 4 of at least 7",
        ),
    ],
)
def test_pages_without_an_effect(records: list[Record], said: str) -> None:
    page = page_of(records)
    assert said in page.text
    assert not any(name.startswith("forest") for name in json.loads(page.scripts[0]))


def test_an_interruption_is_said_first() -> None:
    page = page_of([*opening(plan(JIT)), Ended("interrupted", "SIGINT", 30.0)])
    assert page.text.index("This run is interrupted: SIGINT") < page.text.index("Verdicts")
