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
from phpdyno.paths import SUDO_PATH, own_place
from phpdyno.report.answer.shape import CommandAnswer

PAGE = "report.html"

Form = Literal["answer", "details", "json"]
"""How a run is told: its answer on one screen, that below all that a report for a terminal has, or
a JSON document."""


def form_of(*, json: bool, verbose: bool) -> Form:
    """The form that the options of a command ask for."""
    return "json" if json else "details" if verbose else "answer"


def show_run(
    page: Path, drawn: Callable[[], str], details: Callable[[], RenderableType], *, document: Struct, answer: CommandAnswer, form: Form
) -> None:
    """Write the page and print what the form asks for: the document as JSON, or the answer, below
    the details where these are wanted. Raises DynoError where the page cannot be written."""
    unwritten = write_page(page, drawn())
    if form == "json":
        from phpdyno.report.document import text  # noqa: PLC0415 (only with --json)

        sys.stdout.write(text(document) + "\n")
    else:
        print_answer(answer, details if form == "details" else None)
    if unwritten:
        raise DynoError(f"the page cannot be written: {unwritten}", where=str(page))


def print_answer(answer: CommandAnswer, details: Callable[[], RenderableType] | None = None) -> None:
    """Print an answer with its commands as this user's shell takes them, below the details where
    there are any."""
    from phpdyno.report.answer.terminal import answer_screen, command_lines  # noqa: PLC0415 (rich tables: not with --json)

    console = Console()
    if details is not None:
        console.print(details())
    console.print(answer_screen(answer))
    for line in command_lines(answer, own=_typed_name(), as_root=_typed_name(SUDO_PATH)):
        print_line(console, line)


def _typed_name(path: str | None = None) -> str:
    """Spell this phpdyno as a shell takes it that looks for programs in `path`."""
    place = own_place(path)
    if place is None:
        return "phpdyno"
    typed = typed_path(place)
    return typed if "/" in typed else f"./{typed}"


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
