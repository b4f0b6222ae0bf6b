"""A tune shown again: terminal, JSON and report.html, all from its record alone."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, folder_of, show_run
from phpdyno.commands.tune.view import TuneView, tune_view
from phpdyno.journal.tune import read_tune


def report_tune(run: Path, *, json: bool = False) -> TuneView:
    """Write report.html beside the record of a tune and print the terminal report (or the JSON
    document); the path comes last."""
    folder = folder_of(run)
    view = tune_view(read_tune(run), folder.absolute().name)

    def drawn() -> str:
        from phpdyno.commands.tune.render.page import render_tune  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_tune(view)

    def told() -> RenderableType:
        from phpdyno.commands.tune.render.terminal import tune_summary  # noqa: PLC0415 (rich tables: not with --json)

        return tune_summary(view)

    show_run(folder / PAGE, drawn, view if json else told)
    return view
