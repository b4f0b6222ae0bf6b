"""`phpdyno doctor`: the check-up, shown as a table or as JSON."""

import itertools
import sys
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from phpdyno.apps.registry import open_app
from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.show import print_answer
from phpdyno.commands.common.units import checked_seed
from phpdyno.commands.doctor.answer import doctor_answer
from phpdyno.commands.doctor.estimate import make_estimate
from phpdyno.commands.doctor.run import CheckUp, examine
from phpdyno.host.checkup.check import Check

EXIT_IMPOSSIBLE = 1
STYLE = {"ok": "green", "limits": "yellow", "missing": "red", "unknown": "dim"}
STATE_COLUMNS = len("  unknown")
NAME_COLUMNS = 20
"""Room for the longest usual name; a longer one (a path) is folded."""


def run(app: str, runs: Path, *, estimate: bool, seed: int, json: bool, verbose: bool = False) -> int:
    """Look, measure for a moment, and print what was found; 1 when nothing can be measured here.

    Raises UsageError for an unknown app, or what is no seed.
    """
    checked_seed(seed)
    definition = open_app(app)
    with LiveProgress(Console(stderr=True), quiet=json) as progress:
        measure = partial(make_estimate, definition, seed=seed, progress=progress) if estimate else None
        found = examine(app, runs.absolute(), estimate=measure, phase=progress.phase)
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        print_answer(doctor_answer(found), (lambda: table(found)) if verbose else None)
    return 0 if found.possible else EXIT_IMPOSSIBLE


def table(found: CheckUp) -> Group:
    """The check-up, for 80 columns and more; its answer comes below."""
    parts: list[RenderableType] = []
    for group, checks in itertools.groupby(found.checks, key=lambda check: check.group):
        parts += [Text(group, style="bold"), _lines(list(checks)), Text()]
    return Group(*parts)


def _lines(checks: list[Check]) -> Group:
    """Each check in three columns; its command starts further left, so that most fit into one line
    of 80 columns."""
    parts: list[RenderableType] = []
    for check in checks:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True, min_width=STATE_COLUMNS, max_width=STATE_COLUMNS)
        grid.add_column(overflow="fold", min_width=NAME_COLUMNS, max_width=NAME_COLUMNS)
        grid.add_column(overflow="fold")
        told = Text(_clean(check.found), overflow="fold")
        if check.means:
            told.append("\n" + _clean(check.means), style="dim")
        grid.add_row(Text(f"  {check.state}", style=STYLE[check.state]), Text(_clean(check.name)), told)
        parts.append(grid)
        if check.fix:
            label = "fix" if check.state in {"limits", "missing"} else "to change it"
            parts.append(Padding(Text.assemble((f"{label}: ", "cyan"), _clean(check.fix), overflow="fold"), (0, 0, 0, STATE_COLUMNS + 1)))
    return Group(*parts)


def _clean(text: str) -> str:
    """Control characters (of a program's version, a path) become visible instead of being
    obeyed."""
    return "".join(each if each.isprintable() else "�" for each in text)
