"""An explanation shown again: terminal, JSON and report.html, all from its record alone."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, folder_of, show_run, typed_path
from phpdyno.commands.explain.answer import explain_answer
from phpdyno.journal.explained import read_explained
from phpdyno.model.inside.explained import Explained


def report_explained(run: Path, *, form: Form = "answer") -> Explained:
    """Write report.html beside the record of an explanation and print the terminal report (or the
    JSON document)."""
    folder = folder_of(run)
    record = read_explained(run)

    answer = explain_answer(record.found, typed_path(folder))

    def drawn() -> str:
        from phpdyno.commands.explain.render.page import render_explained  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_explained(record, folder.absolute().name, answer)

    def told() -> RenderableType:
        from phpdyno.commands.explain.render.terminal import explained_summary  # noqa: PLC0415 (rich tables: not with --json)

        return explained_summary(record.found)

    show_run(folder / PAGE, drawn, told, document=record.found, answer=answer, form=form)
    return record.found
