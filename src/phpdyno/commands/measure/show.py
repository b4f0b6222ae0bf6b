"""A sweep shown again: terminal, JSON and report.html, all from its record alone."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, folder_of, show_run, typed_path
from phpdyno.commands.measure.answer import measure_answer
from phpdyno.commands.measure.view.shape import SweepView
from phpdyno.journal.sweep import read_sweep


def report_sweep(run: Path, *, form: Form = "answer") -> SweepView:
    """Write report.html beside the record of a sweep and print the terminal report (or the JSON
    document); the path comes last."""
    # numpy and the native core, which a comparison's report does without.
    from phpdyno.commands.measure.view.whole import sweep_view  # noqa: PLC0415

    folder = folder_of(run)
    view = sweep_view(read_sweep(run), folder.absolute().name)

    answer = measure_answer(view, typed_path(folder))

    def drawn() -> str:
        from phpdyno.commands.measure.render.page import render_sweep  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_sweep(view, answer)

    def told() -> RenderableType:
        from phpdyno.commands.measure.render.terminal import sweep_summary  # noqa: PLC0415 (rich tables: not with --json)

        return sweep_summary(view)

    show_run(folder / PAGE, drawn, told, document=view, answer=answer, form=form)
    return view
