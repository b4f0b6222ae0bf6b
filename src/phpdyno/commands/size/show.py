"""A run of `size` shown again: terminal, JSON and report.html, all from its record alone."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, folder_of, show_run, typed_path
from phpdyno.errors import DynoError


def report_size(run: Path, *, form: Form = "answer") -> None:
    """Write report.html beside the record of a run and print the terminal report (or the JSON
    document).

    Raises DynoError where it was interrupted before there was an answer.
    """
    # numpy and the native core, which a comparison's report does without.
    from phpdyno.commands.size.answer import size_answer  # noqa: PLC0415
    from phpdyno.commands.size.pool_file import BUNDLE  # noqa: PLC0415
    from phpdyno.commands.size.record import read_size  # noqa: PLC0415
    from phpdyno.commands.size.result import found_of  # noqa: PLC0415

    folder = folder_of(run)
    found = found_of(read_size(run), folder.absolute().name)
    if found is None:
        what = "this run was interrupted before it had an answer"
        raise DynoError(what, where=str(run), next_step=f"go on with it: phpdyno size --resume {run}")

    answer = size_answer(found, typed_path(folder), typed_path(folder / BUNDLE) if (folder / BUNDLE).is_dir() else "")

    def drawn() -> str:
        from phpdyno.commands.size.render.page import render_size  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_size(found, answer)

    def told() -> RenderableType:
        from phpdyno.commands.size.render.terminal import size_summary  # noqa: PLC0415 (rich tables: not with --json)

        return size_summary(found)

    show_run(folder / PAGE, drawn, told, document=found, answer=answer, form=form)
