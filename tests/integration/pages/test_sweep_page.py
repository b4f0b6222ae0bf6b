"""A sweep's page as a reader has it: opened in headless Chromium, wide and narrow, light and dark,
and on paper."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phpdyno.commands.measure.render.page import render_sweep, sweep_figures
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.journal.sweep import Sweep
from tests.integration.pages.test_report_page import DRAWN, PHONE, TEXT_OVERLAPS, TOO_WIDE, brightness, colours
from tests.support.made_up.sweeps.sweep_runs import empty_sweep, full_sweep, short_sweep
from tests.support.optional import absent
from tests.support.real.browser import Browser, browser, find_chromium
from tests.unit.commands.measure.render.test_terminal import hostile_sweep

pytestmark = pytest.mark.integration

SWEEPS: dict[str, Callable[[], Sweep]] = {"full": full_sweep, "short": short_sweep, "empty": empty_sweep, "hostile": hostile_sweep}
INK = "getComputedStyle(document.querySelector('#throughput .xtick text')).fill"


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        absent("there is no chromium here; apt-get install chromium")
    with browser(program) as opened:
        yield opened


def page(folder: Path, sweep: Sweep) -> Path:
    path = folder / "report.html"
    path.write_text(render_sweep(sweep_view(sweep, "20260102-030405-measure-hello")), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SWEEPS)
def test_every_plot_is_drawn_without_an_error_or_a_request_at_every_width(tab: Browser, tmp_path: Path, name: str) -> None:
    sweep = SWEEPS[name]()
    report = page(tmp_path, sweep)
    for width in (PHONE, 1100):
        seen = tab.open(report, width=width)
        assert seen.console == ()
        assert seen.requests == (report.as_uri(),)
        assert tab.evaluate(DRAWN) == dict.fromkeys(sweep_figures(sweep_view(sweep, "run")), True)
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert tab.evaluate(f"{TOO_WIDE}({width})") == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(TEXT_OVERLAPS) == []


def test_dark_light_and_paper(tab: Browser, tmp_path: Path) -> None:
    report = page(tmp_path, full_sweep())
    tab.open(report, scheme="light")
    assert brightness(tab.evaluate(INK)) < 60
    tab.open(report, scheme="dark")
    assert brightness(tab.evaluate(INK)) > 200
    filled = colours(tab.print())
    assert (0x1D, 0x23, 0x2B) in filled, "light ink"
    assert (0x1B, 0x21, 0x29) not in filled, "a dark card"
    assert {(0x4A, 0x7F, 0xC1), (0x1F, 0x9D, 0x76)} <= filled, "the bars of the CPU split"


def test_no_table_is_cut_off_on_paper(tab: Browser, tmp_path: Path) -> None:
    tab.open(page(tmp_path, full_sweep()), width=640)
    tab._call("Emulation.setEmulatedMedia", media="print")
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"
    assert tab.evaluate(cut) == []
