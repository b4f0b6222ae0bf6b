"""The answer of a matrix: whether one profile is safe for all apps, and what each brings. Pure."""

from phpdyno.commands.matrix.view import MatrixView, best_of_all, safest
from phpdyno.model.notices import first_of
from phpdyno.model.runs.matrix import Cell, ProfileFound
from phpdyno.report.answer.parts import SCOPE, next_of, table_of
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer, Standing, TableLine
from phpdyno.report.change_words import change_words
from phpdyno.report.words import duration


def matrix_answer(view: MatrixView, run: str) -> CommandAnswer:
    """What a matrix comes to; `run` is the path of its directory, as a shell takes it."""
    safe = safest(view.profiles)
    answer = CommandAnswer(
        subject=f"{view.title} · {duration(view.elapsed_s)}",
        result=best_of_all(view.profiles, view.cells),
        standing="good" if safe is not None else "open",
        notes=(SCOPE,),
        notices=first_of(view.warnings),
        next=next_of("matrix", view.outcome, run),
    )
    by_place = {(each.profile, each.app): each for each in view.cells}
    lines = [TableLine((each.name, *(_cell(by_place[each.name, app]) for app in view.apps)), _standing(each)) for each in view.profiles]
    heads = ("CPU, TRAINED ON", *(f"ON {app}" for app in view.apps))
    return answer.with_table(table_of(heads, lines, MOST_LINES - answer.lines - 1, "profile"))


def _standing(profile: ProfileFound) -> Standing:
    return "bad" if profile.hurts else "good" if profile.safe else "open"


def _cell(cell: Cell) -> str:
    return "no number" if cell.ratio is None else change_words(cell.ratio)
