"""A run shown: its page written, and what is told of it printed."""

import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from rich.console import Console, RenderableType

from phpdyno.commands.common.live import print_line
from phpdyno.errors import DynoError

PAGE = "report.html"


def show_run(page: Path, drawn: Callable[[], str], shown: Struct | Callable[[], RenderableType]) -> None:
    """Write the page, print what is `shown` (a view as a JSON document), then say where the page
    is, or that it cannot be."""
    unwritten = write_page(page, drawn())
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


def folder_of(run: Path) -> Path:
    """The directory of a run that was named, or whose record was."""
    return run if run.is_dir() else run.parent


def write_page(path: Path, text: str) -> str:
    """Why the file could not be written; '' when it was."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return error.strerror or str(error)
    return ""
