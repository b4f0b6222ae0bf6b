"""A run shown again: terminal, JSON and report.html, all from its journal alone."""

import sys
from pathlib import Path

from rich.console import Console

from phpdyno.journal.reader import find_journal, read_journal
from phpdyno.journal.writer import cannot_write
from phpdyno.report.shape import RunView
from phpdyno.report.view import view_of


def report(run: Path, *, json: bool = False) -> RunView:
    """Write report.html beside the journal and print the terminal report (or the JSON document); the path comes last."""
    journal = find_journal(run)
    view = view_of(read_journal(journal), journal.parent.name)
    page = _write_page(view, journal.parent / "report.html")
    if json:
        from phpdyno.report.document import text  # noqa: PLC0415 (only with --json)

        sys.stdout.write(text(view) + "\n")
    else:
        from phpdyno.report.terminal import summary  # noqa: PLC0415 (rich tables: not with --json)

        console = Console()
        console.print(summary(view))
        console.print(f"report: {page}", soft_wrap=True, markup=False, highlight=False)
    return view


def _write_page(view: RunView, path: Path) -> Path:
    from phpdyno.report.page import render_page  # noqa: PLC0415 (jinja2 and plotly load slowly)

    try:
        path.write_text(render_page(view), encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error
    return path
