"""`phpdyno selfcheck`: options checked, comparisons made, shown as a table or as JSON."""

import sys

from msgspec import json, structs
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.show import print_answer, typed_path
from phpdyno.commands.common.units import checked_seed, fraction
from phpdyno.commands.selfcheck.answer import selfcheck_answer
from phpdyno.commands.selfcheck.options import SelfcheckOptions
from phpdyno.commands.selfcheck.run import FULL, QUICK, resume_selfcheck, selfcheck, with_comparisons
from phpdyno.commands.selfcheck.view import ChecksView, checks_view
from phpdyno.errors import UsageError
from phpdyno.journal.checks import SelfcheckRequest
from phpdyno.report.terminal_parts import inert

EXIT_CONTRADICTED = 1
STYLE = {"reached": "green", "open": "yellow", "not reached": "red", "–": "dim"}
MOST_SHOWN = 3
MOST_COMPARISONS = 100_000


def run(options: SelfcheckOptions) -> int:
    """Carry out the command; 1 when something found contradicts a target."""
    argv = tuple(sys.argv[1:])
    with LiveProgress(Console(stderr=True), quiet=options.json) as progress:
        if options.resume is not None:
            _refuse_new_wishes(options)
            place, checks = resume_selfcheck(options.resume.absolute(), progress)
        else:
            place, checks = selfcheck(_wish(options), runs=options.runs.absolute(), argv=argv, progress=progress)
    view = checks_view(checks)
    if options.json:
        sys.stdout.write(json.format(json.encode(view), indent=2).decode() + "\n")
    else:
        print_answer(selfcheck_answer(view, typed_path(place)), (lambda: table(view)) if options.verbose else None)
    return EXIT_CONTRADICTED if view.contradicted else 0


def _refuse_new_wishes(options: SelfcheckOptions) -> None:
    if options.quick or any(each is not None for each in (options.comparisons, options.effect, options.seed)):
        raise UsageError(
            "a selfcheck that is resumed keeps what it was asked for", where="--resume", next_step="leave the other options out"
        )


def _wish(options: SelfcheckOptions) -> SelfcheckRequest:
    effect = 0.01 if options.effect is None else fraction(options.effect, option="--effect", least=0.001, most=0.5)
    seed = 1 if options.seed is None else options.seed
    checked_seed(seed)
    comparisons = options.comparisons
    if comparisons is not None and not 1 <= comparisons <= MOST_COMPARISONS:
        raise UsageError(f"{comparisons} is not from 1 to {MOST_COMPARISONS}", where="--comparisons")
    wish = structs.replace(QUICK if options.quick else FULL, effect=effect, seed=seed)
    return wish if comparisons is None else with_comparisons(wish, comparisons)


def table(view: ChecksView) -> Group:
    """The checks, for 80 columns and more; the answer comes below."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("check", "found", "target", ""):
        grid.add_column(name, overflow="fold", no_wrap=name == "")
    for row in view.rows:
        grid.add_row(row.check, row.found, row.target, Text(row.outcome, style=STYLE[row.outcome]))
    parts: list[RenderableType] = [grid, Text()]
    counts = ", ".join(f"{count} {kind}" for kind, count in view.counts.items())
    parts.append(
        Text(f"{view.done} of {view.wanted} comparisons on {view.app} ({counts or 'none'}), seed {view.seed}; intervals are 95 %.")
    )
    parts.append(Text("The target never is judged by the count: no interval can show it."))
    if view.host:
        parts.append(inert(f"Scope: {view.host}; PHP {view.php}; it says nothing about others."))
    parts.append(Text(f"Measured {view.measured}."))
    parts += [inert(f"Warning: {text}.", "yellow") for text in view.warnings]
    if view.planted:
        parts.append(Text(f"Planted: {view.planted}."))
    if view.invalid:
        parts.append(inert(f"{len(view.invalid)} gave no number: {'; '.join(view.invalid[:MOST_SHOWN])}.", "red"))
    if view.kept:
        shown = ", ".join(view.kept[:MOST_SHOWN]) + (", …" if len(view.kept) > MOST_SHOWN else "")
        parts.append(Text(f"Came out wrong and kept to be looked at with phpdyno report: {shown}."))
    parts.append(Text())
    return Group(*parts)
