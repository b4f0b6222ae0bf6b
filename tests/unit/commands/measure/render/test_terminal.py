import io

import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.commands.measure.render.terminal import sweep_summary
from phpdyno.commands.measure.view.shape import CrossRow, Estimate
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.commands.measure.view.words import cross_words, estimate_words
from phpdyno.journal.sweep import Sweep
from phpdyno.model.arm import Arm
from phpdyno.model.runs.sweep import Point
from phpdyno.model.workload import Target, Workload
from tests.support.made_up.journals import PHP
from tests.support.made_up.sweeps.sweep_runs import ENDED, empty_sweep, full_sweep, short_sweep, sweep_of, sweep_plan, visits
from tests.unit.commands.compare.render.test_page import HOSTILE, LONG


def hostile_sweep() -> Sweep:
    """Names from outside wherever a sweep has one."""
    bad = Arm(HOSTILE, PHP, {"pool.pm.max_children": "5", f"env.{HOSTILE}": HOSTILE})
    long = Arm(LONG, PHP, {"pool.pm.max_children": "10", "env.X": LONG})
    asked = Workload((Target("/" + HOSTILE), Target("/" + LONG)), HOSTILE)
    planned = sweep_plan((bad, long), (Point(1), Point(50), Point(100, 0.7)), workload=asked)
    plan = structs.replace(planned, app=HOSTILE, app_version=HOSTILE)
    held = [structs.replace(each, excluded=HOSTILE) if each.round == 4 else each for each in visits(plan, 4, failing=3)]
    held = [structs.replace(each, kinds={HOSTILE: 3}) if each.kinds else each for each in held]
    made = sweep_of(plan, held, warnings=(HOSTILE,), ends=(structs.replace(ENDED, outcome="failed", detail=HOSTILE),))
    return structs.replace(made, header=structs.replace(made.header, argv=(HOSTILE,)))


def shown(sweep: Sweep, width: int = 80, *, color: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=color, no_color=not color, color_system="truecolor" if color else None).print(
        sweep_summary(sweep_view(sweep, "run"))
    )
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_fits_the_width(width: int) -> None:
    for sweep in (full_sweep(), short_sweep(), empty_sweep(), hostile_sweep()):
        assert max(len(line) for line in shown(sweep, width).splitlines()) <= width


def test_at_80_columns_every_load_is_one_line() -> None:
    lines = shown(full_sweep(), 80).splitlines()
    table = lines[next(at for at, line in enumerate(lines) if "requests per s" in line and "p50" in line) :]
    assert [line.split()[0].rstrip("*") for line in table[1:9]] == ["1", "3", "5", "10", "20", "30", "40", "50"]


def test_the_last_words_are_a_finding_for_each_arm() -> None:
    lines = shown(full_sweep(), 1000).splitlines()
    assert lines[-2].startswith("default: most throughput at c = ")
    assert lines[-1].startswith("pool.pm=static;pool.pm.max_children=10: most throughput at c = ")


def test_markup_and_escapes_from_outside_are_inert() -> None:
    text = shown(hostile_sweep(), 4000)
    assert HOSTILE[:40] in text
    assert "[red]" in text
    plan = sweep_plan((Arm("\x1b[31mred\x07", PHP, {"pool.pm.max_children": "5"}),), (Point(1),))
    escaping = sweep_of(plan, visits(plan, 3), warnings=("\x1b]0;title\x07",), ends=(structs.replace(ENDED, detail="\x1b[2J\r\n"),))
    assert "\x1b" not in shown(escaping)
    assert "\x07" not in shown(escaping)


def test_color_is_an_addition() -> None:
    assert "\x1b[" in shown(full_sweep(), color=True)
    assert "\x1b[" not in shown(full_sweep())


def test_all_is_told() -> None:
    text = shown(full_sweep(), 300)
    for said in (
        "GET / (75 %), /feed/ (25 %) as synthetic.test",
        "independent (Poisson) arrivals at 70 % of saturation as one round of these showed it",
        "Requests per second in a closed loop (95 % CI), and service times in ms:",
        "network: the kernel's time in interrupts, contained in the others and not added",
        "Memory: 10 workers, PSS of one 5.0 MiB (3.0 its own), of all 50.0 MiB (20.0 in shared memory); the master 7.8 MiB",
        "1,260 requests per s, 70 % of saturation in the first round",
        "default: wrk / ours at c = 10: 0.995 (95 % CI ",
        "default: ab -k / ours at c = 10: not compared: it reports 12 failed requests",
        "host: load average 1.4: something else is running",
        "default, c = 50: failed: 15 of ",
        "(10 wrong_status (502), 5 timed_out)",
        "2 visits discarded by a rule fixed in advance, none for being slow:",
        "default, c = 3, round 2: steal 12.0%",
        "nothing is full at c = 1",
        "PHP's CPU is the limit (figures of c = 50)",
        "phpdyno measure hello --budget 2m --seed 1",
    ):
        assert said in text, said


def test_no_round_says_so() -> None:
    text = shown(empty_sweep())
    assert text.count("No visit counts, so there is nothing to show.") == 2
    assert "No warnings, no failed requests, nothing excluded." in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "–"),
        (Estimate(1804.31, None, None, 2), "1,804 (no interval)"),
        (Estimate(1804.31, 1790.2, 1818.4, 5), "1,804 (1,790 to 1,818)"),
        (Estimate(37.31, 35.99, 38.64, 5), "37.3 (36.0 to 38.6)"),
        (Estimate(0.5321, 0.5301, 0.5342, 5), "0.5321 (0.5301 to 0.5342)"),
        (Estimate(5.0, 5.0, 5.0, 5), "5.000 (5.000 to 5.000)"),
        (Estimate(0.0, None, None, 3), "0 (no interval)"),
    ],
)
def test_a_figure_is_said_with_as_many_digits_as_its_interval_deserves(found: Estimate | None, said: str) -> None:
    assert estimate_words(found) == said


def test_rivals_without_keep_alive_are_told() -> None:
    row = CrossRow("ab", "control", 10, Estimate(0.98, None, None, 2), (0.97, 0.99), False, "")
    assert cross_words(row, 0.95) == "ab without keep-alive / ours at c = 10: 0.980 (no interval, 2 pairs)"
