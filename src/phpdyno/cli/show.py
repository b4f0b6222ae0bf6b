"""A run shown again: terminal, JSON and report.html, all from its journal alone."""

import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from rich.console import Console, RenderableType

from phpdyno.cli.live import print_line
from phpdyno.errors import DynoError
from phpdyno.journal.explained import EXPLAIN_FILE, read_explained
from phpdyno.journal.ladder import KNOBS, LADDER_FILE, read_ladder
from phpdyno.journal.matrix import MATRIX_FILE, read_matrix
from phpdyno.journal.reader import FILE, begun_in, find_journal, read_journal
from phpdyno.journal.sweep import SWEEP_FILE, read_sweep
from phpdyno.journal.tune import TUNE_FILE, read_tune
from phpdyno.model.explained import Explained
from phpdyno.report.ladder_view import LadderView, ladder_view, measured_in
from phpdyno.report.matrix_view import MatrixView, matrix_view
from phpdyno.report.shape import RunView
from phpdyno.report.sweep_shape import SweepView
from phpdyno.report.tune_view import TuneView, tune_view
from phpdyno.report.view import view_of

PAGE, COMPARISON_PAGE = "report.html", "comparison.html"
SIZE_FILE, BUNDLE = "size.jsonl", "bundle"
"""As `commands/size/record.py` and `pool_file.py` call them, which load slowly."""


def report_any(run: Path, *, json: bool = False) -> None:
    """Show whatever lies there: a sweep, a tune, a ladder, a matrix or an explanation by its own record, anything else by its journal."""
    if run.name == TUNE_FILE or (run / TUNE_FILE).is_file():
        report_tune(run, json=json)
    elif run.name == LADDER_FILE or (run / LADDER_FILE).is_file():
        report_ladder(run, json=json)
    elif run.name == MATRIX_FILE or (run / MATRIX_FILE).is_file():
        report_matrix(run, json=json)
    elif run.name == SIZE_FILE or (run / SIZE_FILE).is_file():
        report_size(run, json=json)
    elif run.name == EXPLAIN_FILE or (run / EXPLAIN_FILE).is_file():
        report_explained(run, json=json)
    elif run.name == SWEEP_FILE or (run / SWEEP_FILE).is_file():
        report_sweep(run, json=json)
    else:
        # The folder of a part of a larger run holds the part's own.
        part = begun_in(run) if run.is_dir() and not (run / FILE).is_file() else None
        report(part or run, json=json)


def report(run: Path, *, json: bool = False) -> RunView:
    """Write report.html beside the journal and print the terminal report (or the JSON document); the path comes last.

    A page that cannot be written (a full disk, somebody else's run) is said after what can be shown.
    """
    journal = find_journal(run)
    view = view_of(read_journal(journal), journal.parent.name)

    def drawn() -> str:
        from phpdyno.report.page import render_page  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_page(view)

    def told() -> RenderableType:
        from phpdyno.report.terminal import summary  # noqa: PLC0415 (rich tables: not with --json)

        return summary(view)

    _show(journal.parent / PAGE, drawn, view if json else told)
    return view


def report_sweep(run: Path, *, json: bool = False) -> SweepView:
    """The same of a sweep."""
    # numpy and the native core, which a comparison's report does without.
    from phpdyno.report.sweep_view import sweep_view  # noqa: PLC0415

    folder = run if run.is_dir() else run.parent
    view = sweep_view(read_sweep(run), folder.absolute().name)

    def drawn() -> str:
        from phpdyno.report.sweep_page import render_sweep  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_sweep(view)

    def told() -> RenderableType:
        from phpdyno.report.sweep_terminal import sweep_summary  # noqa: PLC0415 (rich tables: not with --json)

        return sweep_summary(view)

    _show(folder / PAGE, drawn, view if json else told)
    return view


def report_tune(run: Path, *, json: bool = False) -> TuneView:
    """The same of a tune."""
    folder = run if run.is_dir() else run.parent
    view = tune_view(read_tune(run), folder.absolute().name)

    def drawn() -> str:
        from phpdyno.report.tune_page import render_tune  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_tune(view)

    def told() -> RenderableType:
        from phpdyno.report.tune_terminal import tune_summary  # noqa: PLC0415 (rich tables: not with --json)

        return tune_summary(view)

    _show(folder / PAGE, drawn, view if json else told)
    return view


def report_explained(run: Path, *, json: bool = False) -> Explained:
    """The same of an explanation."""
    folder = run if run.is_dir() else run.parent
    record = read_explained(run)

    def drawn() -> str:
        from phpdyno.report.explained_page import render_explained  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_explained(record, folder.absolute().name)

    def told() -> RenderableType:
        from phpdyno.report.explained_terminal import explained_summary  # noqa: PLC0415 (rich tables: not with --json)

        return explained_summary(record.found)

    _show(folder / PAGE, drawn, record.found if json else told)
    return record.found


def report_ladder(run: Path, *, json: bool = False) -> LadderView:
    """The same of a ladder; the comparison that it rests on gets a page of its own."""
    folder = run if run.is_dir() else run.parent
    name = folder.absolute().name
    measured = measured_in(read_journal(find_journal(folder)), name)
    on_top = begun_in(folder / KNOBS)
    knobs = measured_in(read_journal(on_top / FILE), name) if on_top else None
    view = ladder_view(read_ladder(folder), measured, knobs)

    def drawn() -> str:
        from phpdyno.report.ladder_page import render_ladder  # noqa: PLC0415 (jinja2 and plotly load slowly)
        from phpdyno.report.page import render_page  # noqa: PLC0415

        # Where this one cannot be written the other cannot either, and says so.
        _write(folder / COMPARISON_PAGE, render_page(measured.view))
        return render_ladder(view)

    def told() -> RenderableType:
        from phpdyno.report.ladder_terminal import ladder_summary  # noqa: PLC0415 (rich tables: not with --json)

        return ladder_summary(view)

    _show(folder / PAGE, drawn, view if json else told)
    return view


def report_matrix(run: Path, *, json: bool = False) -> MatrixView:
    """The same of a matrix."""
    folder = run if run.is_dir() else run.parent
    record = read_matrix(folder)
    begun = {each.name: place for each in record.apps if (place := begun_in(folder / each.name)) is not None}
    compared = {name: view_of(read_journal(place / FILE), place.name) for name, place in begun.items()}
    view = matrix_view(record, compared, folder.absolute().name)

    def drawn() -> str:
        from phpdyno.report.matrix_page import render_matrix  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_matrix(view)

    def told() -> RenderableType:
        from phpdyno.report.matrix_terminal import matrix_summary  # noqa: PLC0415 (rich tables: not with --json)

        return matrix_summary(view)

    _show(folder / PAGE, drawn, view if json else told)
    return view


def _show(page: Path, drawn: Callable[[], str], shown: Struct | Callable[[], RenderableType]) -> None:
    """Write the page, print what is `shown` (a view as a JSON document), then say where the page is, or that it cannot be."""
    unwritten = _write(page, drawn())
    if isinstance(shown, Struct):
        from phpdyno.report.document import text  # noqa: PLC0415 (only with --json)

        sys.stdout.write(text(shown) + "\n")
    else:
        console = Console()
        console.print(shown())
        if not unwritten:
            print_line(console, f"report: {page}")
    if unwritten:
        raise DynoError(f"the page cannot be written: {unwritten}", where=str(page))


def _write(path: Path, text: str) -> str:
    """Why the file could not be written; '' when it was."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def report_size(run: Path, *, json: bool = False) -> None:
    """The same of a run of size. Raises DynoError where it was interrupted before there was an answer."""
    # numpy and the native core, which a comparison's report does without.
    from phpdyno.commands.size.record import read_size  # noqa: PLC0415
    from phpdyno.commands.size.result import found_of  # noqa: PLC0415

    folder = run if run.is_dir() else run.parent
    found = found_of(read_size(run), folder.absolute().name)
    if found is None:
        what = "this run was interrupted before it had an answer"
        raise DynoError(what, where=str(run), next_step=f"go on with it: phpdyno size --resume {run}")

    def drawn() -> str:
        from phpdyno.commands.size.page import render_size  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_size(found)

    def told() -> RenderableType:
        from phpdyno.commands.size.terminal import size_summary  # noqa: PLC0415 (rich tables: not with --json)

        return size_summary(found, str(folder / BUNDLE) if (folder / BUNDLE).is_dir() else "")

    _show(folder / PAGE, drawn, found if json else told)
