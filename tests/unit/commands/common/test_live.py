"""Live progress shows what it is told, whatever that means to a terminal or to the library that
draws."""

import io

import pytest
from rich.console import Console

from phpdyno.commands.common.live import LiveProgress

SPEC = "pool.php_admin_value[memory_limit]=64M"


def drawn(terminal: bool = True) -> tuple[io.StringIO, Console]:
    out = io.StringIO()
    return out, Console(file=out, width=200, force_terminal=terminal, color_system=None, legacy_windows=False)


@pytest.mark.parametrize("name", [SPEC, "[/x]", "[red]hot[/red]", "[link=file:///etc/passwd]here"])
def test_brackets_of_a_name_are_no_markup(name: str) -> None:
    out, console = drawn()
    with LiveProgress(console) as progress:
        progress.phase(f"{name}: counting")
        progress._last = float("-inf")
        progress.tick(1.0, 10.0, f"{name} settled")
    assert f"{name}: counting" in out.getvalue()
    assert f"{name} settled" in out.getvalue()


def test_a_step_after_one_that_is_done_has_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    _, console = drawn()
    now = 0.0
    with LiveProgress(console) as progress:
        monkeypatch.setattr(progress._bar, "get_time", lambda: now)
        (task,) = progress._bar.tasks
        task._get_time = lambda: now
        for share in (0.0, 0.5, 1.0):
            now += 10.0
            progress.tick(share, 1.0, "compiling o2")
        assert (task.finished, task.time_remaining) == (True, 0)
        for share in (0.0, 0.1, 0.2):
            now += 10.0
            progress.tick(share, 1.0, "compiling o3")
        assert not task.finished
        # A tenth in ten seconds, and eight tenths to go.
        assert task.time_remaining == pytest.approx(80, abs=2)


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    hostile = "its log ends with \x1b]0;owned\x07 \x9b2J \u202ereversed"
    out, console = drawn()
    with LiveProgress(console) as progress:
        progress.phase(hostile)
        progress.note(hostile)
        progress._last = float("-inf")
        progress.tick(1.0, 10.0, hostile)
    for character in ("\x1b]", "\x07", "\x9b", "\u202e"):
        assert character not in out.getvalue()
    assert out.getvalue().count("its log ends with �]0;owned� �2J �reversed") >= 3


def test_a_note_is_one_line_where_nobody_looks() -> None:
    out, console = drawn(terminal=False)
    with LiveProgress(console, notes="plan: ") as progress:
        progress.phase("unseen")
        progress.note(f"{SPEC}\r\nphpdyno: all is well \x1b[2J")
    assert out.getvalue() == f"plan: {SPEC}  phpdyno: all is well �[2J\n"


def test_an_indented_note_goes_on_with_the_one_before() -> None:
    out, console = drawn(terminal=False)
    with LiveProgress(console) as progress:
        progress.note("two things:")
        progress.note("  the first")
    assert out.getvalue() == "plan: two things:\n  the first\n"
