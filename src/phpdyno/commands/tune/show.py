"""A tune shown again: terminal, JSON and report.html, all from its record alone."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, folder_of, show_run, typed_path
from phpdyno.commands.tune.answer import tune_answer
from phpdyno.commands.tune.view import TuneView, tune_view
from phpdyno.journal.tune import read_tune


def report_tune(run: Path, *, form: Form = "answer") -> TuneView:
    """Write report.html beside the record of a tune and print its answer, all the details as well,
    or the JSON document."""
    folder = folder_of(run)
    record = read_tune(run)
    view = tune_view(record, folder.absolute().name)

    answer = tune_answer(record, typed_path(folder))

    def drawn() -> str:
        from phpdyno.commands.tune.render.page import render_tune  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_tune(view, answer)

    def told() -> RenderableType:
        from phpdyno.commands.tune.render.terminal import tune_summary  # noqa: PLC0415 (rich tables: not with --json)

        return tune_summary(view)

    show_run(folder / PAGE, drawn, told, document=view, answer=answer, form=form)
    return view
