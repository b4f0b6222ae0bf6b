"""Flame charts and the exports of stacks: their shape, their sums, and what names may hold."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from phpdyno.commands.explain.folded import SCHEMA, folded_text, speedscope
from phpdyno.commands.explain.render.flame import MOST_FRAMES, NARROWEST, flame, flame_page, tree_of
from phpdyno.explain.functions.stacks import profile_of
from phpdyno.model.inside.stacks import StackProfile
from phpdyno.package import PACKAGE

STACKS = {("index.php", "f", "g"): 60, ("index.php", "f"): 20, ("index.php", "h"): 19, ("index.php",): 1}
HOSTILE = "</div><script>alert(1)</script>\"' onfocus=x;\x1b[31m\n\udce9"


def profile(stacks: dict[tuple[str, ...], int], arm: str = "arm", requests: int = 10) -> StackProfile:
    return profile_of(arm, "wall", stacks, period_us=100.0, requests=requests)


class Read(HTMLParser):
    """What a browser would make of it: each element's attributes with its own text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        if tag not in {"meta", "wbr"}:
            self._open.append(len(self.found) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.found[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, attrs, text = self.found[self._open[-1]]
            self.found[self._open[-1]] = tag, attrs, text + data

    def frames(self) -> list[tuple[str, dict[str, float], str]]:
        """Name, place (left and width in percent, top in rows) and title of each part."""
        found = []
        for number, (_, attrs, _) in enumerate(self.found):
            if (attrs.get("class") or "").startswith("frame "):
                style = dict(part.split(":") for part in (attrs["style"] or "").split(";"))
                place = {key: float(value.rstrip("%rem")) for key, value in style.items()}
                found.append((self.found[number + 1][2], place, attrs["title"] or ""))
        return found


def test_each_part_is_as_wide_as_its_share_and_lies_below_its_caller() -> None:
    found = {name: (place, title) for name, place, title in Read(flame(profile(STACKS))).frames()}
    assert {name: (place["left"], place["width"], place["top"]) for name, (place, _) in found.items()} == {
        "all": (0.0, 100.0, 0.0),
        "index.php": (0.0, 100.0, 1.25),
        "f": (0.0, 80.0, 2.5),
        "h": (80.0, 19.0, 2.5),
        "g": (0.0, 60.0, 3.75),
    }
    assert found["f"][1] == "f: 80.0 % of wall time, itself 20.0 %"
    assert flame(profile(STACKS)) == flame(profile(dict(reversed(STACKS.items()))))


def test_what_is_too_thin_is_left_out_and_its_width_stays_its_callers() -> None:
    found = [name for name, _, _ in Read(flame(profile({("a", "b"): 10_000, ("a", "c"): int(10_000 * NARROWEST / 2)}))).frames()]
    assert found == ["all", "a", "b"]
    assert flame(profile({})) == ""
    many = {tuple(f"f{depth}-{number}" for depth in range(30)): 1 for number in range(200)}
    text = flame(profile(many))
    assert len(Read(text).frames()) == MOST_FRAMES
    assert "nor all of 6,001 frames" in text


def test_against_another_profile_the_time_of_a_request_is_compared_not_its_share() -> None:
    """Twice as many requests in as many samples: each takes half as long, so that `same` is as wide
    and half of it new."""
    base = profile({("i", "same"): 50, ("i", "gone"): 50}, arm="before", requests=20)
    now = profile({("i", "same"): 25, ("i", "new"): 75}, arm="after", requests=10)
    tree = tree_of(now, base)
    (index,) = tree.calls.values()
    assert index.whole == [pytest.approx(1.0), pytest.approx(0.5)]
    assert {name: each.whole for name, each in index.calls.items()} == {
        "same": [pytest.approx(0.25), pytest.approx(0.25)],
        "new": [pytest.approx(0.75), 0.0],
        "gone": [0.0, pytest.approx(0.25)],
    }
    text = flame(now, base)
    assert "new: 75.0 % of wall time; +75.0 % against before" in text
    classes = {name: re.search(rf'class="frame (\w+)"[^>]*title="{name}:', text) for name in ("same", "new")}
    assert {name: match and match[1] for name, match in classes.items()} == {"same": "same", "new": "more3"}


def test_names_are_text_in_the_page_whatever_they_hold() -> None:
    page = flame_page(HOSTILE, {HOSTILE: flame(profile({(HOSTILE, "x"): 3}, arm=HOSTILE)), "none": ""}, ".flame{}", [HOSTILE])
    read = Read(page)
    assert {tag for tag, _, _ in read.found}.isdisjoint({"script", "img", "link", "iframe"})
    assert not any(name.startswith("on") for _, attrs, _ in read.found for name in attrs)
    assert any(name.startswith("</div><script>") for name, _, _ in read.frames())
    assert "\x1b" not in page
    assert "No samples." in page
    page.encode()
    assert not any({"src", "href"} & set(attrs) for _, attrs, _ in read.found)
    assert "url(" not in page


def test_folded_text_is_read_back_as_it_was() -> None:
    lines = (line.rpartition(" ") for line in folded_text(profile(STACKS)).splitlines())
    assert {tuple(stack.split(";")): int(count) for stack, _, count in lines} == STACKS
    assert folded_text(profile(STACKS)).splitlines()[0] == "index.php;f;g 60"
    assert folded_text(profile({("a;b\nc", "d e"): 2})) == "a:b c;d e 2\n"
    assert folded_text(profile({})) == ""


def test_speedscope_holds_what_its_schema_asks_for() -> None:
    other = profile_of("jit", "cpu", {("index.php", "f"): 4, (HOSTILE,): 1}, period_us=50.0, requests=2)
    document = json.loads(speedscope("hello", [profile(STACKS), other, profile({})]))
    check_speedscope(document)
    first, second, empty = document["profiles"]
    # A request takes 100 samples of 100 µs over ten requests; the frames are shared by all
    # profiles.
    assert first["endValue"] == pytest.approx(1000.0)
    assert first["name"] == "arm, wall time of a request"
    assert second["weights"] == [100.0, 25.0]
    assert second["name"] == "jit, CPU time of a request"
    assert (empty["samples"], empty["weights"], empty["endValue"]) == ([], [], 0)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert len(names) == len(set(names)) == 5
    assert [names[place] for place in first["samples"][0]] == ["index.php", "f", "g"]


def check_speedscope(document: dict[str, Any]) -> None:
    """What speedscope's file-format-schema.json asks of a file with sampled profiles."""
    assert document["$schema"] == SCHEMA
    assert set(document) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    assert isinstance(document["name"], str)
    assert isinstance(document["exporter"], str)
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    frames = document["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str)
    for each in document["profiles"]:
        assert set(each) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert each["type"] == "sampled"
        assert each["unit"] in {"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}
        assert each["endValue"] >= each["startValue"] == 0
        assert len(each["samples"]) == len(each["weights"])
        assert each["endValue"] == pytest.approx(sum(each["weights"]))
        assert all(weight >= 0 for weight in each["weights"])
        assert all(isinstance(place, int) and 0 <= place < len(frames) for sample in each["samples"] for place in sample)


def test_the_report_has_the_charts_styles() -> None:
    css = (PACKAGE / "report" / "templates" / "report.css").read_text()
    for shade in ("f0", "f5", "more1", "more3", "less1", "less3"):
        assert f".frame.{shade}" in css
