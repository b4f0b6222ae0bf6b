"""A run shown: its page written, and what is told of it printed."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct
from rich.console import Console, RenderableType

from phpdyno.commands.common.live import print_line
from phpdyno.errors import DynoError
from phpdyno.report.answer.shape import CommandAnswer

PAGE = "report.html"

Form = Literal["answer", "details", "json"]
"""How a run is told: its answer on one screen, that below all that a report for a terminal has, or
a JSON document."""


def form_of(*, json: bool, verbose: bool) -> Form:
    """The form that the options of a command ask for."""
    return "json" if json else "details" if verbose else "answer"


def show_run(
    page: Path,
    drawn: Callable[[], str],
    shown: Struct | Callable[[], RenderableType] | None,
    *,
    answer: CommandAnswer | None = None,
) -> None:
    """Write the page, print what is `shown` (a view as a JSON document) and the `answer` below it,
    or say where the page is, or that it cannot be."""
    unwritten = write_page(page, drawn())
    if isinstance(shown, Struct):
        from phpdyno.report.document import text  # noqa: PLC0415 (only with --json)

        sys.stdout.write(text(shown) + "\n")
    else:
        console = Console()
        if shown is not None:
            console.print(shown())
        if answer is not None:
            from phpdyno.report.answer.terminal import answer_screen, command_lines  # noqa: PLC0415 (rich tables: not with --json)

            console.print(answer_screen(answer))
            for line in command_lines(answer):
                print_line(console, line)
        elif not unwritten:
            print_line(console, f"report: {page}")
    if unwritten:
        raise DynoError(f"the page cannot be written: {unwritten}", where=str(page))


def folder_of(run: Path) -> Path:
    """The directory of a run that was named, or whose record was."""
    return run if run.is_dir() else run.parent


def typed_path(path: Path) -> str:
    """A path as one types it here, quoted for a shell: relative where it lies below the working
    directory."""
    absolute = path.absolute()
    try:
        return shlex.quote(str(absolute.relative_to(Path.cwd())))
    except (ValueError, OSError):
        return shlex.quote(str(absolute))


def write_page(path: Path, text: str) -> str:
    """Why the file could not be written; '' when it was."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return error.strerror or str(error)
    return ""
