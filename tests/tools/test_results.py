"""What is kept of a bench that was cut short, and the page that is written from it."""

from pathlib import Path

import msgspec
from tools.bench.figures import Figure, Target
from tools.bench.page import render_page
from tools.bench.results import QUICK, Part, SectionResult, Sizes, Stamp, Store, still_holds

from tests.support.made_up.checks import HOST

STAMP = Stamp("0.1.0", "0123456789abcdef", False, "c0de", "Test CPU", 2, 8 * 2**20, "6.1.0", "d1ge57")
FIGURES = (
    Figure("time | of day", "s", 0.2, 0.1, 0.25, "median of 20", Target("≤ 0.3 s", at_most=0.3)),
    Figure("ratio", "×", 1.2, 1.1, 1.3, "24 pairs", Target("≤ 1.0×", at_most=1.0), "5 µs against 4 µs"),
)
TITLES = {"one": "First", "two": "Second"}


def result(name: str = "one", *, stamp: Stamp = STAMP, skipped: tuple[str, ...] = ()) -> SectionResult:
    return SectionResult(name, stamp, Sizes(), "2026-01-01 12:00", 12.3, 0.5, FIGURES, {"wrk": "4.1.0"}, ("the machine is busy",), skipped)


def test_a_section_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "bench")
    assert store.load("one") is None
    store.save(result())
    assert store.load("one") == result()
    assert store.load("two") is None
    store.forget("one")
    store.forget("one")
    assert store.load("one") is None


def test_a_damaged_or_newer_file_counts_as_not_measured(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "one.json").write_text('{"name": "one"')
    assert store.load("one") is None
    store.save(msgspec.structs.replace(result(), schema=99))
    assert store.load("one") is None


def test_a_section_is_kept_for_the_same_code_on_the_same_machine_at_the_same_sizes() -> None:
    later_commit = msgspec.structs.replace(STAMP, commit="fedcba9876543210")
    other_code = msgspec.structs.replace(STAMP, code="0ther")
    other_machine = msgspec.structs.replace(STAMP, kernel="6.2.0")
    assert still_holds(result(), STAMP, Sizes())
    assert still_holds(result(), later_commit, Sizes())
    assert not still_holds(result(), other_code, Sizes())
    assert not still_holds(result(), other_machine, Sizes())
    assert not still_holds(result(), STAMP, QUICK)
    assert not still_holds(result(skipped=("wrk is not installed",)), STAMP, Sizes())


def test_the_page_shows_figure_interval_target_and_whether_it_was_reached() -> None:
    page = render_page(date="2026-01-02", stamp=STAMP, titles=TITLES, results={"one": result(skipped=("ab is not installed",))})
    lines = page.splitlines()
    assert "| machine | Test CPU, 2 cores, 8.0 GiB, Linux 6.1.0 |" in lines
    assert "| phpdyno | 0.1.0, commit 0123456789ab |" in lines
    assert "| wrk | 4.1.0 |" in lines
    assert "| figure | measured | target | reached |" in lines
    assert "| time \\| of day | 0.2 s (0.1 to 0.25; median of 20) | ≤ 0.3 s | yes |" in lines
    assert "| ratio | 1.200× (1.100 to 1.300; 24 pairs; 5 µs against 4 µs) | ≤ 1.0× | no |" in lines
    assert "Warning: the machine is busy." in lines
    assert "Not measured: ab is not installed." in lines
    assert page.index("## First") < page.index("## Second")
    assert page.endswith("## Second\n\nNot measured yet.\n")


def test_a_section_of_other_code_or_another_machine_says_so() -> None:
    other = msgspec.structs.replace(STAMP, commit="fedcba9876543210", edited=True, code="0ther", cores=8)
    page = render_page(date="2026-01-02", stamp=STAMP, titles=TITLES, results={"two": result("two", stamp=other)})
    assert "Of other code: fedcba987654 with uncommitted edits." in page
    assert "On another machine: Test CPU, 8 cores, 8.0 GiB, Linux 6.1.0." in page
    same = render_page(date="2026-01-02", stamp=STAMP, titles=TITLES, results={"two": result("two")})
    assert "Of other code" not in same
    assert "On another machine" not in same


def of_parts(*parts: Part) -> str:
    page = render_page(date="2026-01-09", stamp=STAMP, titles=TITLES, results={"one": msgspec.structs.replace(result(), parts=parts)})
    return page.partition("## First\n\n")[2]


def test_a_section_of_parts_is_dated_by_them_and_not_by_when_they_were_put_together() -> None:
    first = Part("9 comparisons on hello", "d1ge57", HOST, "2025-12-30", "2025-12-31")
    section = of_parts(first, Part("3 comparisons on wordpress", "d1ge57", HOST, "2025-12-29", "2025-12-29"))
    assert section.splitlines()[0] == "Measured 2025-12-29 to 2025-12-31 in 2 parts."
    assert "\n9 comparisons on hello: 2025-12-30 to 2025-12-31, code d1ge57, Test CPU, 2 cores, 8.0 GiB, Linux 6.1.0" in section
    assert "\n3 comparisons on wordpress: 2025-12-29, code d1ge57" in section
    assert of_parts(first).splitlines()[0] == "Measured 2025-12-30 to 2025-12-31 in 1 part."


def test_parts_of_other_code_or_another_machine_say_so_although_they_were_put_together_here() -> None:
    elsewhere = msgspec.structs.replace(HOST, cpu_model="Other CPU")
    day = "2026-01-01"
    same = Part("9 comparisons", "d1ge57", HOST, day, day)
    older, far = msgspec.structs.replace(same, code="01d"), Part("9 comparisons", "01d", elsewhere, day, day)
    assert of_parts(same, older, far).splitlines()[0] == (
        "Measured 2026-01-01 in 3 parts. Of other code: 2 of 3 parts (01d). "
        "On another machine: 1 of 3 parts (Other CPU, 2 cores, 8.0 GiB, Linux 6.1.0)."
    )
    assert "Of other code: 1 part (01d)." in of_parts(older)
