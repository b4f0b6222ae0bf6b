"""What an explanation says: cells, and the answer in the last lines."""

import io

from rich.console import Console

from phpdyno.commands.explain.render.page import inside_figures
from phpdyno.commands.explain.render.terminal import MOST_ROWS, explained_summary
from phpdyno.commands.explain.words import amount, answer, heads, rows, signed, title_of
from phpdyno.model.inside.explained import Explained, Figure, Reading, Section
from phpdyno.report.view_parts import ExplainedRow


def reading(value: float) -> Reading:
    return Reading(value, 0.9 * value, 1.1 * value, 5)


def figure(name: str, *values: float, spread: float | None = None, part: bool = True) -> Figure:
    difference = values[1] - values[0] if len(values) == 2 else None
    return Figure(name, "ms", tuple(map(reading, values)), difference, spread, part)


def explained(*sections: Section, arms: tuple[str, ...] = ("plain", "ini.opcache.enable=0")) -> Explained:
    return Explained(
        app="shop",
        app_version="1.2",
        arms=arms,
        targets=("/",),
        starts=5,
        requests=1000,
        concurrency=1,
        transport="http",
        sections=sections,
    )


def section(key: str, *figures: Figure, unread: str = "", notes: tuple[str, ...] = ()) -> Section:
    return Section(key=key, title=f"Title of {key}", read_by="a test", figures=figures, unread=unread, notes=notes)  # type: ignore[arg-type]


SLOWER = explained(
    section(
        "cpu",
        figure("PHP", 1.0, 4.0, spread=0.1),
        figure("database", 1.0, 1.02, spread=0.1),
        figure("all of it", 2.0, 5.02, spread=0.2, part=False),
    ),
    section("syscalls", notes=("(nearly) gone in plain: openat 3",)),
    section("database", unread="no MariaDB belongs to this app"),
)


def test_the_last_line_says_what_changed_most_how_much_and_how_sure() -> None:
    *_, last = answer(SLOWER)
    assert last.startswith("what changed most: CPU of PHP, 1.000 to 4.000 ms per request (+300 %), ")
    assert last.endswith("far beyond what chance makes of it over 5 fresh starts (± 0.100 ms)")


def test_what_could_not_be_read_has_a_line_of_its_own_and_patterns_are_told() -> None:
    said = answer(SLOWER)
    assert said[0] == "not read: title of database: no MariaDB belongs to this app"
    assert "CPU of a request: 2.000 ms in A, 5.020 in B, +3.020 ± 0.200 (+151 %); of it PHP +3.000 ± 0.100 (+300 %)" in said
    assert "(nearly) gone in plain: openat 3" in said


def test_nothing_that_changed_is_said_with_the_largest_difference() -> None:
    alike = explained(section("cpu", figure("PHP", 1.0, 1.05, spread=0.1), figure("all of it", 1.0, 1.05, spread=0.1, part=False)))
    *_, last = answer(alike)
    assert last.startswith(
        "no part of a request's time changed by more than chance makes of it over 5 fresh starts; the largest: CPU of PHP, 1.000 to 1.050"
    )


def test_time_on_a_cpu_is_told_where_php_s_own_account_does_not_say_it() -> None:
    cpu, wall = figure("PHP", 1.0, 0.9, spread=0.2), figure("on a CPU", 1.0, 0.9, spread=0.05)
    *_, last = answer(explained(section("cpu", cpu), section("wall", wall)))
    assert last.startswith("what changed most: on a CPU, 1.000 to 0.900 ms per request (−10 %), beyond")
    both = explained(section("cpu", figure("PHP", 1.0, 0.9, spread=0.05)), section("wall", wall))
    assert answer(both)[-1].startswith("what changed most: CPU of PHP, 1.000 to 0.900")


def test_an_arm_alone_is_told_in_shares() -> None:
    alone = explained(
        section("wall", figure("on a CPU", 3.0), figure("database (MariaDB)", 1.0), figure("all of it, in the worker", 4.0, part=False)),
        arms=("plain",),
    )
    assert answer(alone) == ("a request takes 4.000 ms in the worker: on a CPU 75 %, database (MariaDB) 25 %",)
    assert heads(alone)[1:] == ("value", "share", "least to greatest")
    assert next(rows(alone.sections[0])) == ("on a CPU", "3.000", "75.0 %", "2.700 to 3.300")
    assert title_of(alone) == "Where a request's time goes: shop 1.2"


def test_cells_of_two_arms() -> None:
    cells = list(rows(SLOWER.sections[0]))
    assert cells[0] == ("PHP", "1.000", "4.000", "+3.000", "± 0.100", "+300 %")
    assert cells[1] == ("database", "1.000", "1.020", "+0.0200", "± 0.100", "")


def test_values_in_their_units() -> None:
    assert amount(-0.0123, "ms") == "−0.0123"
    assert amount(12345.6, "KiB") == "12,346"
    assert amount(99.851, "percent") == "99.85"
    assert amount(2.02567, "calls") == "2.026"
    assert signed(7.0, "calls") == "+7"


def shown(found: Explained, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(explained_summary(found))
    return console.export_text()


def test_the_screen_ends_with_the_answer_and_fits_80_columns() -> None:
    for width in (80, 120):
        text = shown(SLOWER, width)
        assert max(len(line) for line in text.splitlines()) <= width
        assert " ".join(text.split()).endswith("over 5 fresh starts (± 0.100 ms)")
        assert "A: plain" in text


def test_a_hostile_name_is_shown_and_not_obeyed() -> None:
    text = shown(explained(section("cpu", figure("[red]PHP\x1b[2J", 1.0, 4.0, spread=0.1))), 120)
    assert "[red]PHP" in text
    assert "\x1b" not in text


def test_a_long_section_keeps_what_differs_on_the_screen() -> None:
    many = [figure(f"call{number}", 1.0, 1.0, spread=0.0) for number in range(40)]
    text = shown(
        explained(
            section("syscalls", *many, figure("rare", 0.0, 0.5, spread=0.0), figure("all calls", 40.0, 40.5, spread=0.0, part=False))
        ),
        80,
    )
    assert "rare" in text
    assert "all calls" in text
    assert f"and {42 - MOST_ROWS} more, on the page and in the JSON" in text


def test_plots_are_made_of_sections_with_a_whole() -> None:
    drawn = inside_figures([ExplainedRow("x", SLOWER)])
    assert list(drawn) == ["explain-0-cpu"]
    assert [trace["x"] for trace in drawn["explain-0-cpu"]["data"]] == [[1.0, 4.0], [1.0, 1.02]]
