"""A bench that was cut short goes on where it stopped."""

from collections import Counter
from pathlib import Path

import pytest
from tools.bench import __main__ as bench
from tools.bench.figures import Figure
from tools.bench.results import Part, Room, Sizes, Stamp

from phpdyno.errors import DynoError
from tests.support.made_up.checks import HOST

STAMP = Stamp("0.1.0", "0123456789abcdef", False, "c0de", "Test CPU", 2, 8 * 2**20, "6.1.0")


class FakeSections:
    """Sections that measure nothing; those in `broken` fail, those in `skipping` leave something
    out, those in `of_parts` were measured before."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.skipping: set[str] = set()
        self.of_parts: dict[str, Part] = {}

    def measure(self, name: str, room: Room) -> list[Figure]:
        self.calls[name] += 1
        if name in self.broken:
            raise DynoError("it broke")
        if name in self.skipping:
            room.skipped.append("something is not installed")
        room.parts += [part for section, part in self.of_parts.items() if section == name]
        return [Figure(f"figure of {name}", "s", float(self.calls[name]), 0.0, 9.0, "fake")]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSections:
    sections = FakeSections()

    def make(name: str) -> object:
        def measure(sizes: Sizes, room: Room) -> list[Figure]:
            return sections.measure(name, room)

        return measure

    monkeypatch.setattr(bench, "MEASURES", {name: make(name) for name in bench.TITLES})
    monkeypatch.setattr(bench, "KEPT", tmp_path / "work")
    monkeypatch.setattr(bench, "SECTIONS", tmp_path / "kept")
    monkeypatch.setattr(bench, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(bench, "take_stamp", lambda host: STAMP)
    monkeypatch.setattr(bench, "take_background", lambda: 0.0)
    monkeypatch.setattr(bench, "take_host", lambda: HOST)
    monkeypatch.setattr(bench, "_versions", dict)
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    return sections


def once(but: str) -> dict[str, int]:
    """Every section measured once, but for one that was measured twice."""
    return {name: 2 if name == but else 1 for name in bench.TITLES}


def page_in(directory: Path) -> str:
    return (directory / "benchmarks.md").read_text()


def test_finished_sections_are_kept_and_a_failed_one_is_tried_again(fake: FakeSections, tmp_path: Path) -> None:
    fake.broken = {"load-core"}
    assert bench.main([]) == 1
    assert page_in(tmp_path).count("Not measured yet.") == 1
    fake.broken = set()
    assert bench.main([]) == 0
    assert fake.calls == once("load-core")
    assert "Not measured yet." not in page_in(tmp_path)
    assert "| figure of load-core | 2 s (0 to 9; fake) |" in page_in(tmp_path)


def test_fresh_measures_anew_and_only_leaves_the_others_as_they_are(fake: FakeSections, tmp_path: Path) -> None:
    bench.main([])
    assert bench.main(["--fresh", "--only", "runner"]) == 0
    assert fake.calls == once("runner")
    assert "| figure of everyday | 1 s (0 to 9; fake) |" in page_in(tmp_path)
    assert "| figure of runner | 2 s (0 to 9; fake) |" in page_in(tmp_path)


def test_a_section_that_left_something_out_is_tried_again(fake: FakeSections, tmp_path: Path) -> None:
    fake.skipping = {"load-core"}
    assert bench.main([]) == 0
    assert "Not measured: something is not installed." in page_in(tmp_path)
    fake.skipping = set()
    bench.main([])
    assert fake.calls == once("load-core")


def test_a_section_of_parts_warns_of_what_they_were_measured_under_and_not_of_now(
    fake: FakeSections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.of_parts = {"truth": Part("9 comparisons", "01d", HOST, "2025-12-31", "2025-12-31", ("steal was 30 %",))}
    monkeypatch.setattr(bench, "take_background", lambda: 0.5)
    assert bench.main(["--only", "truth", "--only", "runner"]) == 0
    sections = page_in(tmp_path).split("\n## ")
    truth = next(section for section in sections if section.startswith("Truth"))
    runner = next(section for section in sections if section.startswith("Runner"))
    assert "Measured 2025-12-31 in 1 part. Of other code: 1 part (01d)." in truth
    assert "Warning: steal was 30 %." in truth
    assert "of a core" not in truth
    assert "Warning: something else was using 50 % of a core." in runner
