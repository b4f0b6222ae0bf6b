"""`phpdyno check`: the app is looked at and what was found is printed."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from phpdyno.commands.check import view
from phpdyno.commands.check.answer import check_answer
from phpdyno.commands.check.found import CheckFound
from phpdyno.commands.check.run import look_at
from phpdyno.commands.common.app_source import app_source
from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.options import RequestOptions
from phpdyno.commands.common.requests import asked_source, own_requests
from phpdyno.commands.common.show import print_answer
from phpdyno.host.files.scratch import scratch_directory
from phpdyno.paths import live_root
from phpdyno.report.terminal_parts import inert
from phpdyno.session.arms import make_arms
from phpdyno.session.requirements import require_servers
from phpdyno.session.source import open_source, workload_for

EXIT_NOT_MEASURABLE = 1
SAVED = "--save-workload"
FORMS = frozenset({"--verbose", "-v"})
"""Options that say how a check is told."""


def run(
    reference: str,
    *,
    control: str,
    docroot: Path | None,
    urls: tuple[str, ...],
    requests: RequestOptions,
    tune: str,
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Check an app; 1 where it cannot be measured. `tune` is the command that tunes it. Raises
    UsageError, DynoError."""
    source = app_source(reference, docroot, urls)
    arm = make_arms(control, (), aa=True, app=open_source(source)).control
    require_servers("http", [arm])
    console = Console(stderr=True)
    own = own_requests(requests, console)
    definition = open_source(asked_source(source, requests, own))
    asked = workload_for(own.workload, definition.workload)
    with scratch_directory(live_root()) as logs, LiveProgress(console, quiet=json, notes="") as progress:
        found = look_at(
            definition,
            arm,
            logs=logs,
            progress=progress,
            workload=asked,
        )
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        if verbose:
            _print_details(Console(), found)
        print_answer(check_answer(found, arm.php.version, tune))
    return 0 if found.measurable else EXIT_NOT_MEASURABLE


def _print_details(console: Console, found: CheckFound) -> None:
    """All that was found, each line whole, so that it can be copied."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(view.HEADS):
        table.add_column(name, overflow="fold", justify="right" if number else "left")
    for cells in view.rows(found):
        table.add_row(*map(inert, cells))
    console.print(table)
    for line in (*view.lines(found), ""):
        print_line(console, line)


def tuned(argv: Sequence[str]) -> str:
    """The command that tunes what was checked with these words."""
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == SAVED:
            next(rest, None)
        elif word not in FORMS and not word.startswith(f"{SAVED}="):
            words.append(word)
    at = words.index("check") if "check" in words else 0
    return shlex.join(["phpdyno", *words[:at], "tune", *words[at + 1 :]])
