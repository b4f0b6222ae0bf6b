import io
import subprocess
import sys

import pytest
from rich.console import Console

from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.records import Concluded, Ended, Record
from phpdyno.model.verdict import Verdict
from tests.support.made_up.journals import HUGE, JIT, OPCACHE_OFF, blocks, finished, opening, paid_by_the_database, plan, proved, tuned
from tests.support.made_up.protocol import TCP, full
from tests.unit.commands.compare.render.test_page import HOSTILE, hostile_run


def shown(records: list[Record], width: int = 80, *, color: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=color, no_color=not color, color_system="truecolor" if color else None).print(
        summary(view_of(records, "run"))
    )
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_fits_the_width(width: int) -> None:
    wide = [*opening(plan(*(tuned(f"ini.x={'y' * size}") for size in (3, 90, 200)))), Ended("finished", "", 1.0)]
    for records in (finished(), full(), wide, hostile_run()):
        assert max(len(line) for line in shown(records, width).splitlines()) <= width


def test_the_last_words_are_a_verdict() -> None:
    text = shown([*opening(plan(JIT)), *blocks({JIT.name: 1.07}, 12), Ended("finished", "", 61.0)], 200)
    assert text.splitlines()[-1].startswith(f"{JIT.name}: 6.7 % less CPU per request (95 % CI 5.8 to 7.7 %")


def test_markup_and_escapes_from_outside_are_inert() -> None:
    text = shown(hostile_run(), 200)
    assert HOSTILE[:40] in text
    assert "[red]" in text
    escaping = [*opening(plan(tuned("ini.x=\x1b[31mred\x07"))), Ended("failed", "\x1b]0;title\x07\r\n", 1.0)]
    assert "\x1b" not in shown(escaping)
    assert "\x07" not in shown(escaping)


def test_color_is_an_addition() -> None:
    colored = shown(finished(), color=True)
    assert "\x1b[" in colored
    assert "\x1b[" not in shown(finished())


def test_what_is_saved_in_php_and_spent_elsewhere_is_no_good_news() -> None:
    records: list[Record] = [*opening(plan(JIT)), *paid_by_the_database(blocks({JIT.name: 1.07}, 20)), Ended("finished", "", 61.0)]
    assert shown(records, 300).splitlines()[-1].endswith("improved, spent elsewhere (not concluded)")
    assert "PHP + nginx + database together cost more per request, so nothing is gained" in shown(records, 200)
    assert "\x1b[31mimproved, spent elsewhere" in shown(records, 200, color=True)


def test_every_verdict_line_has_the_same_columns() -> None:
    endings = ("relevant", "equivalent", "open", "invalid")
    lines = [line for line in shown(finished()).splitlines() if line.startswith("  ") and line.rstrip().endswith(endings)]
    assert len(lines) == 6
    assert {len(line[:54].rstrip()) for line in lines} <= {53, 54}
    assert {line[54] for line in lines} == {" "}


def test_no_block_says_so() -> None:
    text = shown(opening(plan(JIT)))
    assert "No block was finished" in text
    assert "no interval below 7 blocks" in text


def test_why_an_arm_is_invalid_is_said_once_in_the_table() -> None:
    text = shown(finished(), 200)
    table = text[text.index(HUGE.name) : text.index("Milliseconds per request")]
    assert "not proved: env.USE_ZEND_ALLOC_HUGE_PAGES=1: AnonHugePages: 0 KiB" in table
    assert table.count("AnonHugePages") == 1
    crashed = [*opening(plan(JIT)), Concluded(Verdict(JIT.name, "invalid", proofs=proved(JIT).proofs, reason="requests fail"))]
    assert "  requests fail" in shown(crashed).splitlines()


def test_a_run_of_one_disaster() -> None:
    text = shown([*opening(plan(OPCACHE_OFF)), *blocks({OPCACHE_OFF.name: 0.2}, 9)])
    assert "% more CPU per request (95 % CI 390 to 407 %" in text


def test_importing_the_report_loads_nothing_slow() -> None:
    code = (
        "import sys, phpdyno.commands.compare.view.whole, phpdyno.commands.compare.render.page\n"
        "import phpdyno.report.document, phpdyno.stats.comparison.conclusion\n"
        "print([name for name in ('numpy', 'scipy', 'plotly', 'jinja2', 'rich') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_whole_protocol_is_told() -> None:
    text = shown(full(), 200)
    for said in (
        "CPU per request against the control (95 % CI, simultaneous over 4 treatments; this host, these 2 min 51 s, these builds):",
        "Requests per second against the control (95 % CI, simultaneous over 4 treatments; this host, these 2 min 51 s, these builds):",
        "Valid requests per second, failed requests, and CPU milliseconds per valid request:",
        "failed: control none; treatment 192 of 96000 (144 wrong_status (502), 48 timed_out)",
        "Calibration for CPU per request",
        "variance × time in ms by requests per slot: 1: 0.216 (chosen), 2: 0.288",
        "one pair 6.6 %, a start 0.5 %, so a block about 1.4 % (one standard deviation)",
        "42 blocks fit in the budget of 5 min",
        "Carry-over: the effect in shorter and longer slots:",
        "they differ: see the warning below",
        "2 observations discarded by a rule fixed in advance, none for being slow:",
        "block 10: steal 21.0% (2 treatments)",
        "at most 21 %; the generator late for at most 5 %",
    ):
        assert said in text, said
    assert text.splitlines()[-1].startswith(f"{TCP.name}: 5.3 % fewer requests per second")


def test_each_metric_has_a_scale_of_its_own() -> None:
    lines = shown(full(), 120).splitlines()
    scales = [line for line in lines if "blocks verdict" in line]
    assert len(scales) == 2
    assert scales[0] != scales[1]


def test_many_excluded_blocks_are_cut_short() -> None:
    done = [block for number in range(12) for block in blocks({JIT.name: 1.07}, 1, first=number, stolen=number)]
    text = shown([*opening(plan(JIT)), *done])
    assert "12 observations discarded" in text
    assert "and 7 more, listed on the page" in text
