"""`phpdyno watch`: options that cannot be used, and the live view within a terminal's bounds."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from phpdyno.commands.watch import command as watch
from phpdyno.commands.watch.found import Limit, StuckWorker
from phpdyno.commands.watch.options import WatchOptions
from phpdyno.commands.watch.render.screen import Screen
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up.moments import host, pool
from tests.unit.commands.watch.render.test_told import ADVICE

LIMIT = Limit(
    kind="workers-waiting", because="all 5 workers were busy for 90% of the time, 4.0 in the queue; they wait for 84% of it, on no core"
)


def options(**changed: object) -> WatchOptions:
    given = {"pool": "", "ask": False, "interval": "1s", "lasting": None, "record": None, "replay": None, "serve": None, "json": False}
    return WatchOptions(**{**given, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"interval": "0.1s"}, "--interval: an interval is 0.2 s at least; leave it out for 1s"),
        ({"interval": "often"}, "--interval: 'often' is not a duration; write for example 90s, 5m or 1h"),
        ({"lasting": "0"}, "--for: '0' is not a duration; write for example 90s, 5m or 1h"),
        ({"serve": "nope"}, "--serve nope: this is no port; write --serve 9253, or --serve 127.0.0.1:9253"),
        ({"replay": Path("/none/seen.jsonl")}, "--replay /none/seen.jsonl: it cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_one_line(changed: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError) as error:
        watch.run(options(**changed))
    assert str(error.value) == why


def test_a_pool_that_no_process_has_is_one_line() -> None:
    with pytest.raises(DynoError, match=r"^watch( no-such-pool)?: no (such pool|php-fpm) runs"):
        watch.run(options(pool="no-such-pool", lasting="1s"))


@pytest.mark.parametrize(("count", "width", "height"), [(1, 80, 24), (2, 80, 24), (3, 80, 30), (3, 120, 40), (60, 80, 24), (60, 120, 40)])
def test_the_view_keeps_within_its_terminal(count: int, width: int, height: int) -> None:
    drawn = io.StringIO()
    console = Console(file=drawn, width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False)
    stuck = (StuckWorker(pid=4711, age_s=900.0, waits_on="recvfrom on 10.0.0.5:3306"),)
    pools = tuple(pool(pool=f"site{number:02}", master=100 + number, limit=LIMIT, stuck=stuck) for number in range(count))
    with Screen(console) as screen:
        for number in range(9):
            screen.note(f"something that happened, number {number}, \x1b[31mnot in red")
        screen.draw(host(), pools, (ADVICE,), "")
        shape = screen._live.get_renderable()
        lines = console.render_lines(shape, console.options, pad=False)
    assert len(lines) <= height
    texts = ["".join(segment.text for segment in line) for line in lines]
    assert all(len(text) <= width for text in texts), texts
    said = "\n".join(texts)
    assert "\x1b" not in said
    assert "site00" in said
    assert ("and " in said and "more" in said) == (count == 60)
    assert "number 8" in said
    assert "number 2" not in said, "the last few stay"
