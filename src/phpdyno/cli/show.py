"""A run shown again: terminal, JSON and report.html, all from its journal alone."""

import sys
from pathlib import Path

from rich.console import Console

from phpdyno.errors import DynoError
from phpdyno.journal.reader import find_journal, read_journal
from phpdyno.report.shape import RunView
from phpdyno.report.view import view_of


def report(run: Path, *, json: bool = False) -> RunView:
    """Write report.html beside the journal and print the terminal report (or the JSON document); the path comes last.

    A page that cannot be written (a full disk, somebody else's run) is said after what can be shown.
    """
    journal = find_journal(run)
    view = view_of(read_journal(journal), journal.parent.name)
    page = journal.parent / "report.html"
    unwritten = _write_page(view, page)
    if json:
        from phpdyno.report.document import text  # noqa: PLC0415 (only with --json)

        sys.stdout.write(text(view) + "\n")
    else:
        from phpdyno.report.terminal import summary  # noqa: PLC0415 (rich tables: not with --json)

        console = Console()
        console.print(summary(view))
        if not unwritten:
            console.print(f"report: {page}", soft_wrap=True, markup=False, highlight=False)
    if unwritten:
        raise DynoError(f"the page cannot be written: {unwritten}", where=str(page))
    return view


def _write_page(view: RunView, path: Path) -> str:
    """Why the page could not be written; '' when it was."""
    from phpdyno.report.page import render_page  # noqa: PLC0415 (jinja2 and plotly load slowly)

    try:
        path.write_text(render_page(view), encoding="utf-8")
    except OSError as error:
        return error.strerror or str(error)
    return ""
