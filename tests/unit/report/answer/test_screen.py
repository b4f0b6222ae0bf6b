"""An answer on a screen of 80 columns."""

import io

from rich.console import Console

from phpdyno.report.answer.parts import table_of
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer, TableLine
from phpdyno.report.answer.terminal import answer_screen, command_lines

LONG = "a note that is longer than a line of eighty columns has room for, so that it takes two of them "


def drawn(answer: CommandAnswer) -> list[str]:
    written = io.StringIO()
    Console(width=80, file=written).print(answer_screen(answer))
    return [*written.getvalue().splitlines(), *command_lines(answer)]


def test_it_never_has_more_lines_than_a_screen() -> None:
    lines = [TableLine((f"ini.setting.number{each}", "−1.0 % (−2.0 to 0.0)", "drop")) for each in range(30)]
    answer = CommandAnswer(
        "app · PHP 8.2.36", "7 % less CPU", "good", ("CPU 20 → 19 ms",), notes=(*[LONG * 2] * 5, "Scope: here."), next=(("Report", "r"),)
    )
    full = answer.with_table(table_of(("CHANGE", "CPU", "DECISION"), lines, 5, "change"))
    shown = drawn(full)
    assert len(shown) <= MOST_LINES
    assert "26 more changes in the report" in shown
    assert "Scope: here." in shown  # the last note stays
    assert full.fitted().lines == len(shown)


def test_a_command_is_never_broken_and_what_comes_from_outside_is_inert() -> None:
    command = f"sudo phpdyno bundle apply {'runs/' * 40}bundle"
    shown = drawn(CommandAnswer("a\x1b[31mpp", "[bold]none[/bold]", "none", next=(("Apply", command), ("Undo", "x"))))
    assert shown[-2:] == [f"Apply: {command}", "Undo:  x"]
    assert "\x1b" not in "".join(shown)
    assert "[bold]none[/bold]" in shown[1]
