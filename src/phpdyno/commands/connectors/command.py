"""`phpdyno connectors`: options checked, measured, printed."""

import sys
from pathlib import Path

import msgspec
from rich.console import Console

from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.show import print_answer, typed_path
from phpdyno.commands.common.units import checked_seed, fraction, seconds
from phpdyno.commands.connectors import view
from phpdyno.commands.connectors.answer import LabRun, connectors_answer
from phpdyno.commands.connectors.found import LabFound, lab_found
from phpdyno.commands.connectors.options import ConnectorsOptions
from phpdyno.commands.connectors.present import divided_zts, look_around
from phpdyno.commands.connectors.render.page import check_page, page_view, write_page, write_study_page
from phpdyno.commands.connectors.request import LabRequest, check_operation, divided, operations_of, paths_of, rows_of
from phpdyno.commands.connectors.run import measure_connectors, resume_connectors
from phpdyno.commands.connectors.study import load_connector_study
from phpdyno.errors import UsageError
from phpdyno.model.runs.connector import CEILING
from phpdyno.servers.programs.choosing import named_php
from phpdyno.servers.programs.php import default_cli

EXIT_NO_FIGURE = 1


def run(options: ConnectorsOptions, *, runs: Path, page: Path | None, json: bool, verbose: bool = False) -> int:
    """Measure; 1 where a row got no figure. Raises UsageError, DynoError."""
    asked = _asked(options)
    if page is not None:
        check_page(page, is_study=asked.study is not None)
    with LiveProgress(Console(stderr=True), quiet=json, notes="") as progress:
        directory = measure_connectors(asked, runs=runs.absolute(), argv=sys.argv[1:], progress=progress)
    return show(directory, page=page, json=json, verbose=verbose)


def _asked(options: ConnectorsOptions) -> LabRequest:
    study = None if options.study is None else load_connector_study(options.study.absolute())
    if study is None:
        operations = operations_of(options.ops)
        wanted = rows_of(
            connectors=options.connectors,
            engines=options.engines,
            in_flight=options.in_flight,
            over=options.over,
            sweep=options.sweep,
            packers=options.packers,
            processes=options.processes,
        )
    else:
        operations, wanted = study.operations, study.rows
    php = named_php(options.php, cli=True) if options.php else default_cli()
    zts, given = divided_zts(options.with_)
    rows, skipped = divided(wanted, look_around(php, paths_of(given), zts=zts))
    if wanted[0].name in skipped:
        raise UsageError(f"the control, {wanted[0].name}, cannot be measured", where="connectors", next_step=skipped[wanted[0].name])
    for operation in operations:
        check_operation(operation, rows)
    if all(row.connector == CEILING for row in rows[1:]):
        why = next(iter(skipped.values()), "name more engines, connectors or transports")
        raise UsageError("there is nothing to hold against the control", where="connectors", next_step=why)
    return LabRequest(
        operations=operations,
        rows=rows,
        php=php,
        budget_s=seconds(options.budget, option="--budget"),
        seed=checked_seed(options.seed),
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.999),
        skipped=skipped,
        server=str(options.server.expanduser().absolute()) if options.server else "",
        study=study,
    )


def resume(run: Path, *, page: Path | None, json: bool, verbose: bool = False) -> int:
    """Go on with a run; 1 where a row got no figure. Raises UsageError, DynoError."""
    with LiveProgress(Console(stderr=True), quiet=json, notes="") as progress:
        directory = resume_connectors(run.absolute(), argv=sys.argv[1:], progress=progress)
    return show(directory, page=page, json=json, verbose=verbose)


def show(run: Path, *, page: Path | None, json: bool, verbose: bool = False) -> int:
    """Print what a run came to and write its pages, a study's to `page`; 1 where a row has no
    figure. Raises UsageError, DynoError."""
    found = lab_found(run.absolute())
    told = page_view(run.absolute(), found)
    ran = LabRun(told.outcome, told.outcome_detail, told.elapsed_s, told.warnings)
    study = write_study_page(run.absolute(), found, told, page)
    answer = connectors_answer(found, ran, typed_path(run), "" if study is None else typed_path(study))
    write_page(run.absolute(), found, told, answer)
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        if verbose:
            _print_details(found)
        print_answer(answer)
    return EXIT_NO_FIGURE if any(row.problem for part in found.parts for row in part.rows) else 0


def _print_details(found: LabFound) -> None:
    console = Console()
    for part in found.parts:
        print_line(console, view.title(part))
        for line in view.table(part):
            print_line(console, f"  {line}")
        for line in view.best(part):
            print_line(console, line)
        print_line(console, "")
    for name, why in found.skipped.items():
        print_line(console, f"{name} skipped: {why}")
    for line in (*view.lines(found), ""):
        print_line(console, line)
