"""report.html as a reader has it: opened in headless Chromium, wide and narrow, light and dark, and
on paper."""

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phpdyno.commands.compare.render.page import figures_of, render_page
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.reader import read_journal
from phpdyno.journal.records import Record
from tests.support.made_up.journals import JIT, finished, opening, plan, reaching
from tests.support.made_up.protocol import full
from tests.support.optional import absent
from tests.support.real.browser import Browser, browser, find_chromium
from tests.unit.commands.compare.render.test_page import SHOWN, hostile_run
from tests.unit.commands.compare.view.test_old_journal import OLD

pytestmark = pytest.mark.integration

PHONE = 360
RUNS: dict[str, Callable[[], list[Record]]] = {
    "full": full,
    "finished": finished,
    "hostile": hostile_run,
    "reaching": reaching,
    "empty": lambda: opening(plan(JIT)),
    "schema 1": lambda: read_journal(OLD),
}

# Elements whose right edge lies beyond the window, unless they stand in a box of their own that
# scrolls. A phone's window grows with what is too wide, so its width is given.
TOO_WIDE = """(width => [...document.querySelectorAll('main *')]
  .filter(e => e.getBoundingClientRect().right > width + 0.5 && !e.closest('.scroll'))
  .map(e => e.tagName + '.' + (e.className.baseVal ?? e.className) + ': ' + e.textContent.slice(0, 60)).slice(0, 5))"""
DRAWN = """Object.fromEntries([...document.querySelectorAll('.plot')].map(e => {
  const box = e.querySelector('svg.main-svg').getBoundingClientRect();
  return [e.id, box.width > 100 && box.height > 60 && box.width <= e.clientWidth + 1 && e.querySelectorAll('path').length > 0];
}))"""
TEXT_OVERLAPS = """[...document.querySelectorAll('.plot')].flatMap(plot => {
  const boxes = [...plot.querySelectorAll('.xtick text, .ytick text, .annotation-text, .g-xtitle text, .g-ytitle text')]
    .filter(e => e.textContent.trim()).map(e => [e.textContent, e.getBoundingClientRect()]);
  return boxes.flatMap(([said, a], at) => boxes.slice(at + 1)
    .filter(([_, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
    .map(([other]) => plot.id + ': ' + said + ' / ' + other));
}).slice(0, 5)"""
INK = "getComputedStyle(document.querySelector('#forest-cpu .xtick text')).fill"


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        absent("there is no chromium here; apt-get install chromium")
    with browser(program) as opened:
        yield opened


def page(folder: Path, records: list[Record]) -> Path:
    path = folder / "report.html"
    path.write_text(render_page(view_of(records, "20260102-030405-compare-wordpress")), encoding="utf-8")
    return path


@pytest.mark.parametrize("run", RUNS)
def test_every_plot_is_drawn_without_an_error_or_a_request_at_every_width(tab: Browser, tmp_path: Path, run: str) -> None:
    records = RUNS[run]()
    report = page(tmp_path, records)
    for width in (PHONE, 1100):
        seen = tab.open(report, width=width)
        assert seen.console == ()
        assert seen.requests == (report.as_uri(),)
        assert tab.evaluate(DRAWN) == dict.fromkeys(figures_of(view_of(records, "run")), True)
        assert tab.evaluate(f"{TOO_WIDE}({width})") == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(TEXT_OVERLAPS) == []


def test_the_page_is_looked_at_closely(tab: Browser, tmp_path: Path) -> None:
    """The checks above do see what they look for."""
    tab.open(page(tmp_path, full()), width=PHONE)
    tab.evaluate("document.querySelectorAll('#forest-cpu .annotation-text')[1].style.transform = 'translateY(-70px)'")
    assert tab.evaluate(TEXT_OVERLAPS)
    tab.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<p style=\"width: 500px\">wide</p>')")
    assert tab.evaluate(f"{TOO_WIDE}({PHONE})") == ["P.: wide"]
    tab.evaluate("Plotly.purge('steal')")
    assert tab.evaluate("document.querySelector('#steal svg')") is None
    tab.evaluate("setTimeout(() => missing.function(), 0)")
    tab.evaluate("fetch('https://example.test/').catch(() => null)")
    seen = tab.seen()
    assert any("missing is not defined" in said for said in seen.console)
    assert any("Content Security Policy" in said for said in seen.console)


def test_hostile_names_are_text_in_plots_too(tab: Browser, tmp_path: Path) -> None:
    tab.open(page(tmp_path, hostile_run()))
    assert tab.evaluate("document.querySelectorAll('img, iframe, a[href], script').length") == 3
    assert tab.evaluate("document.body.innerText.includes('1337')") is False
    labels = tab.evaluate("[...document.querySelectorAll('.annotation-text')].map(e => e.textContent).join('')")
    assert SHOWN.split("\ufffd", maxsplit=1)[0].replace(" ", "")[:30] in labels.replace(" ", "")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", tab.evaluate("document.body.textContent"))


def test_a_page_that_cannot_run_the_script_still_says_everything(tab: Browser, tmp_path: Path) -> None:
    report = page(tmp_path, full())
    report.write_text(re.sub("script-src [^;]*", "script-src 'none'", report.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    seen = tab.open(report, drawn=False)
    assert any("Content Security Policy" in said for said in seen.console)
    assert "more requests per second" in tab.evaluate("document.body.innerText")


def test_dark_and_light_follow_the_reader(tab: Browser, tmp_path: Path) -> None:
    report = page(tmp_path, full())
    tab.open(report, scheme="light")
    light = tab.evaluate(INK)
    tab.open(report, scheme="dark")
    dark = tab.evaluate(INK)
    assert brightness(light) < 60
    assert brightness(dark) > 200


def test_turning_the_phone_draws_again_for_the_new_width(tab: Browser, tmp_path: Path) -> None:
    tab.open(page(tmp_path, full()), width=PHONE)
    tab.resize(740)
    tab.until("document.querySelector('#forest-cpu svg.main-svg').getBoundingClientRect().width > 600")
    assert tab.evaluate(f"{TOO_WIDE}(740)") == []


def test_paper_is_light_and_complete_even_from_a_dark_screen(tab: Browser, tmp_path: Path) -> None:
    report = page(tmp_path, full())
    tab.open(report, scheme="dark")
    printed = tab.print()
    assert printed.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type /Page\b", printed)) <= 14
    filled = colours(printed)
    light_ink, dark_card = (0x1D, 0x23, 0x2B), (0x1B, 0x21, 0x29)
    assert light_ink in filled
    assert dark_card not in filled
    assert {(0x13, 0x79, 0x5B), (0x4A, 0x7F, 0xC1), (0xD0, 0x8A, 0x1D)} <= filled, "a forest's interval, the bars of the CPU split"
    assert tab.evaluate("document.documentElement.classList.contains('paper')") is False
    assert brightness(tab.evaluate(INK)) > 200, "the screen is dark again"


def brightness(color: str) -> float:
    red, green, blue = (int(each) for each in re.findall(r"\d+", color)[:3])
    return (red + green + blue) / 3


def colours(pdf: bytes) -> set[tuple[int, ...]]:
    """Colours that the drawing operators of a PDF set (`0.1 0.2 0.3 rg`), as bytes."""
    found = set()
    for held in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            text = zlib.decompress(held)
        except zlib.error:
            continue
        for said in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG)\b", text):
            found.add(tuple(round(255 * float(each)) for each in said))
    return found
