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


def test_what_casts_doubt_on_the_result_is_never_left_out() -> None:
    doubt = f"Warning: {LONG * 3}"
    answer = CommandAnswer("app", "7 % less CPU", "good", notes=(LONG * 2, *[LONG] * 6, "Scope: here."), doubts=(doubt,))
    kept = answer.fitted()
    assert kept.doubts == (doubt,)
    assert "Warning: a note" in " ".join(drawn(answer))
    assert kept.notes[-1] == "Scope: here."
    assert LONG * 2 not in kept.notes
    assert kept.lines <= MOST_LINES


def test_a_command_is_never_broken_and_what_comes_from_outside_is_inert() -> None:
    command = f"sudo phpdyno bundle apply {'runs/' * 40}bundle"
    shown = drawn(CommandAnswer("a\x1b[31mpp", "[bold]none[/bold]", "none", next=(("Apply", command), ("Undo", "x"))))
    assert shown[-2:] == [f"Apply: {command}", "Undo:  x"]
    assert "\x1b" not in "".join(shown)
    assert "[bold]none[/bold]" in shown[1]


def test_a_long_name_takes_one_line_with_its_middle_left_out() -> None:
    name = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M;pool.pm.max_children=16"
    table = table_of(
        ("TREATMENT", "CPU PER REQUEST", "VERDICT"),
        [TableLine((name, "−1.0 % (−2.0 to 0.0)", "better, whether by 1 % is open"))] * 3,
        9,
        "x",
    )
    answer = CommandAnswer("app", "3 treatments", "none").with_table(table)
    shown = drawn(answer)
    assert len(shown) == answer.lines
    assert max(map(len, shown)) <= 80
    assert shown[-1].startswith("ini.")
    assert "…" in shown[-1]


def test_what_must_be_known_first_stands_first_and_is_never_dropped() -> None:
    notices = ("measured without a bottle (" + "why " * 40 + ")", "lets through: 127.0.0.1:1", "the project is /srv/shop: x")
    shown = drawn(CommandAnswer("app", "result", "none", notes=(*[LONG * 2] * 9, "Scope: here."), notices=notices))
    assert shown[1].startswith("measured without a bottle")
    assert all(any(line.startswith(each[:20]) for line in shown) for each in notices)
    assert len(shown) <= MOST_LINES


def test_commands_name_phpdyno_as_a_shell_finds_it() -> None:
    answer = CommandAnswer(
        "app", "done", "good", next=(("Apply", "sudo phpdyno bundle apply r"), ("Go on", "phpdyno tune --resume r"), ("Report", "r"))
    )
    assert command_lines(answer, own="phpdyno", as_root="/opt/venv/bin/phpdyno") == (
        "Apply:  sudo /opt/venv/bin/phpdyno bundle apply r",
        "Go on:  phpdyno tune --resume r",
        "Report: r",
    )
