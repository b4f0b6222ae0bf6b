"""A matrix shown again: terminal, JSON and report.html, all from its record and its comparisons'
journals."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, folder_of, show_run, typed_path
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.matrix.answer import matrix_answer
from phpdyno.commands.matrix.view import MatrixView, matrix_view
from phpdyno.journal.matrix import read_matrix
from phpdyno.journal.reader import FILE, begun_in, read_journal


def report_matrix(run: Path, *, form: Form = "answer") -> MatrixView:
    """Write report.html beside the record of a matrix and print the terminal report (or the JSON
    document); the path comes last."""
    folder = folder_of(run)
    record = read_matrix(folder)
    begun = {each.name: place for each in record.apps if (place := begun_in(folder / each.name)) is not None}
    compared = {name: view_of(read_journal(place / FILE), place.name) for name, place in begun.items()}
    view = matrix_view(record, compared, folder.absolute().name)

    answer = matrix_answer(view, typed_path(folder))

    def drawn() -> str:
        from phpdyno.commands.matrix.render.page import render_matrix  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_matrix(view, answer)

    def told() -> RenderableType:
        from phpdyno.commands.matrix.render.terminal import matrix_summary  # noqa: PLC0415 (rich tables: not with --json)

        return matrix_summary(view)

    show_run(folder / PAGE, drawn, told, document=view, answer=answer, form=form)
    return view
