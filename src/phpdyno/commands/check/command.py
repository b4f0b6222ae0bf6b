"""`phpdyno check`: the app is looked at and what was found is printed."""

import sys
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from phpdyno.commands.check import view
from phpdyno.commands.check.found import CheckFound
from phpdyno.commands.check.run import look_at
from phpdyno.commands.common.app_source import app_source
from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.options import RequestOptions
from phpdyno.commands.common.requests import own_requests
from phpdyno.report.terminal_parts import inert
from phpdyno.session.arms import make_arms
from phpdyno.session.requirements import require_servers
from phpdyno.session.source import open_source

EXIT_NOT_MEASURABLE = 1


def run(reference: str, *, control: str, docroot: Path | None, urls: tuple[str, ...], requests: RequestOptions, json: bool) -> int:
    """Check an app; 1 where it cannot be measured. Raises UsageError, DynoError."""
    definition = open_source(app_source(reference, docroot, urls))
    arm = make_arms(control, (), aa=True, app=definition).control
    require_servers("http", [arm])
    console = Console(stderr=True)
    own = own_requests(requests, console)
    with tempfile.TemporaryDirectory(prefix="pd-check-") as logs, LiveProgress(console, quiet=json, notes="") as progress:
        found = look_at(definition, arm, logs=Path(logs), progress=progress, workload=own.workload)
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        _print(found)
    return 0 if found.measurable else EXIT_NOT_MEASURABLE


def _print(found: CheckFound) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(view.HEADS):
        table.add_column(name, overflow="fold", justify="right" if number else "left")
    for cells in view.rows(found):
        table.add_row(*map(inert, cells))
    console = Console()
    for line in view.head(found):
        print_line(console, line)
    console.print(table)
    for line in view.lines(found):
        print_line(console, line)
