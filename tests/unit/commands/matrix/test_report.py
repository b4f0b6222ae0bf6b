"""The report of a matrix."""

import io

import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.compare.view.words import tone
from phpdyno.commands.matrix.answer import matrix_answer
from phpdyno.commands.matrix.render.page import matrix_figures, render_matrix
from phpdyno.commands.matrix.render.terminal import matrix_summary
from phpdyno.commands.matrix.view import NOT_MEASURED, MatrixView, matrix_view, outcome_words, profile_found, safest, warmth
from phpdyno.journal.matrix import MatrixRecord
from phpdyno.model.runs.matrix import ALL, Cell
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up.ladders import journal, matrix_record

RECORD = matrix_record()
TRUTH = {"wordpress": (1.09, 0.97, 1.08), "hello": (0.96, 1.06, 1.05)}
"""By app: with the profile of wordpress, of hello, of both."""


def view(*apps: str, record: MatrixRecord = RECORD) -> MatrixView:
    compared = {}
    for app in apps:
        truth = {f"build={build}": ratio for build, ratio in zip(RECORD.profiles.values(), TRUTH[app], strict=True)}
        compared[app] = view_of(journal(app, truth), app)
    return matrix_view(record, compared, "20260102-matrix-wordpress-hello")


def test_it_says_where_profiles_hurt_and_which_one_is_safe() -> None:
    held = view("wordpress", "hello")
    said = held.sentences
    assert "The profile of wordpress makes hello slower." in said
    assert "The profile of hello makes wordpress slower." in said
    assert said[-1].startswith(
        "Outcome: the profile of all together is safe for all of these apps: none loses what matters, and each uses at least"
    )
    assert len(held.cells) == 6
    assert [each.safe for each in held.profiles] == [False, False, True]


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_every_cell(width: int) -> None:
    written = io.StringIO()
    Console(width=width, file=written).print(matrix_summary(view("wordpress", "hello")))
    said = written.getvalue()
    assert max(map(len, said.splitlines())) <= width
    words = " ".join(said.split())
    assert words.count(" to ") >= 6
    assert "Outcome: the profile of all together is safe" in words


def test_the_page_has_a_coloured_cell_for_each_and_a_plot_for_each_app() -> None:
    held = view("wordpress", "hello")
    assert set(matrix_figures(held)) == {"app-0", "app-1"}
    page = render_matrix(held)
    for part in ('class="warm2"', 'class="warm-2"', "measured on hello", f'scope="row">{ALL}<'):
        assert part in page, part


def test_what_was_not_measured_is_no_promise() -> None:
    held = view("wordpress")
    assert held.outcome == "finished"
    missing = [each for each in held.cells if each.app == "hello"]
    assert all((each.ratio, each.reason) == (None, "not measured") for each in missing)
    assert held.sentences[-1] == "Outcome: open, since hello is not measured."
    begun = view_of(journal("hello", dict.fromkeys((f"build={name}" for name in RECORD.profiles.values()), 1.0), blocks=0), "hello")
    assert {each.reason for each in matrix_view(RECORD, {"hello": begun}, "run").cells} == {NOT_MEASURED}
    unfinished = structs.replace(RECORD, apps=(RECORD.apps[0], structs.replace(RECORD.apps[1], state="failed", detail="it crashed")))
    assert matrix_view(unfinished, {}, "run").outcome_detail == "hello: it crashed"


def test_a_build_without_a_step_of_the_recipe_has_no_figures_beside_the_others_and_says_why() -> None:
    name = RECORD.profiles[ALL]
    less = structs.replace(RECORD.builds[name], skipped={"bolt": "it crashed"})
    held = view("wordpress", "hello", record=structs.replace(RECORD, builds={**RECORD.builds, name: less}))
    cells = [each for each in held.cells if each.profile == ALL]
    assert {(each.ratio, each.kind, each.reason) for each in cells} == {(None, "invalid", "pgo: without bolt: it crashed")}
    assert next(each for each in held.profiles if each.name == ALL).unsafe == ("wordpress", "hello")
    assert held.sentences[-1] == "Outcome: no profile is certain not to cost any of these apps what matters."
    page = render_matrix(held).replace("<wbr>", "")
    assert f"hello, trained on {ALL}: pgo: without bolt: it crashed" in page
    written = io.StringIO()
    Console(width=80, file=written).print(matrix_summary(held))
    assert "without bolt: it crashed" in written.getvalue()


def cell(app: str, low: float, high: float) -> Cell:
    return Cell("a", app, TunedRatio((low + high) / 2, low, high, 20), "improved", "relevant")


def test_a_profile_is_safe_where_no_interval_holds_a_loss_that_matters() -> None:
    safe = profile_found("a", "pgo-a", [cell("x", 0.995, 1.02), cell("y", 1.01, 1.03)], 0.01)
    assert (safe.safe, safe.worst) == (True, 0.995)
    unsafe = profile_found("a", "pgo-a", [cell("x", 0.985, 1.02), cell("y", 1.01, 1.03)], 0.01)
    assert unsafe.unsafe == ("x",)
    assert safest([unsafe]) is None
    assert safest([unsafe, safe]) == safe


def said_of(**changed: object) -> tuple[str, ...]:
    """What is said where all is well on x, and on y is this."""
    cells = [cell("x", 1.02, 1.04), structs.replace(cell("y", 0.985, 1.02), **changed)]
    return outcome_words([profile_found("a", "pgo-a", cells, 0.01)], cells)


def test_what_stands_against_a_profile_is_said() -> None:
    nothing = "Outcome: no profile is certain not to cost any of these apps what matters"
    assert said_of(kind="inconclusive") == (
        "The profile of a, on y: a loss that matters cannot be ruled out, −0.2 % (−2.0 to +1.5).",
        f"{nothing}; longer measuring may decide about that of a.",
    )
    assert said_of(kind="invalid", ratio=None, reason="it answers otherwise") == (
        "The profile of a, on y: no number (it answers otherwise).",
        f"{nothing}.",
    )
    assert said_of(kind="regressed") == ("The profile of a makes y slower.", f"{nothing}.")
    assert said_of(relevance="spent elsewhere", ratio=TunedRatio(1.05, 1.04, 1.06, 20)) == (
        "The profile of a, on y: what PHP saves the other servers pay, and more.",
        f"{nothing}.",
    )
    assert said_of(kind="inconclusive", ratio=None, reason=NOT_MEASURED) == ("Outcome: open, since y is not measured.",)
    assert said_of(ratio=TunedRatio(1.002, 1.0001, 1.004, 20)) == (
        "Outcome: the profile of a is safe for all of these apps: none loses what matters.",
    )


def test_what_is_spent_elsewhere_is_no_gain_in_colour_either() -> None:
    paid = structs.replace(cell("y", 1.04, 1.06), relevance="spent elsewhere")
    assert (warmth(paid), tone(paid)) == (-1, "regressed")


def test_the_command_that_repeats_it_is_quoted() -> None:
    view = matrix_view(structs.replace(RECORD, argv=("matrix", "my app", "hello")), {}, "run")
    assert view.repeat == "phpdyno matrix 'my app' hello"


@pytest.mark.parametrize(
    ("low", "high", "colour"), [(0.99, 1.02, 0), (1.001, 1.02, 1), (1.03, 1.05, 2), (1.1, 1.3, 3), (0.8, 0.9, -3), (0.96, 0.99, -1)]
)
def test_a_cell_is_coloured_where_the_direction_is_certain(low: float, high: float, colour: int) -> None:
    assert warmth(cell("x", low, high)) == colour


def test_the_answer_is_a_table_of_percent_with_the_outcome_above_it() -> None:
    answer = matrix_answer(view("wordpress", "hello"), "runs/one").fitted()
    assert answer.standing == "good"
    assert answer.result.startswith("the profile of all together is safe for all of these apps")
    assert answer.table is not None
    cells = {line.cells[0]: line.cells[1:] for line in answer.table.rows}
    assert cells["wordpress"][0].startswith("−8.")
    assert cells["wordpress"][1].startswith("+4.")
    assert answer.lines <= MOST_LINES
