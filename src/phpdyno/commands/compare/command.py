"""`phpdyno compare`: options checked, measured, shown."""

import sys

from rich.console import Console

from phpdyno.commands.common.app_source import MOST_CONCURRENCY, app_source
from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.requests import refuse_with_resume, with_requests
from phpdyno.commands.common.show import form_of
from phpdyno.commands.common.units import checked_seed, fraction, seconds
from phpdyno.commands.compare.explained import compare_and_explain, resume_and_explain
from phpdyno.commands.compare.export import export
from phpdyno.commands.compare.options import CompareOptions
from phpdyno.commands.compare.run import CompareRequest
from phpdyno.commands.compare.show import report
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.errors import UsageError

EXIT_REGRESSED = 3
EXIT_INCONCLUSIVE = 4
EXIT_NO_RESULT = 5


def run(options: CompareOptions) -> int:
    """Carry out the command; the exit code says what was asked to be said by it."""
    argv = tuple(sys.argv[1:])
    console = Console(stderr=True)
    if options.resume is not None:
        refuse_with_resume(options.requests)
        with LiveProgress(console, quiet=options.json) as progress:
            directory = resume_and_explain(options.resume.absolute(), argv=argv, progress=progress)
    else:
        question = with_requests(_question(options), options.requests, console)
        with LiveProgress(console, quiet=options.json) as progress:
            directory = compare_and_explain(question, runs=options.runs.absolute(), argv=argv, progress=progress)
    view = report(directory, form=form_of(json=options.json, verbose=options.verbose))
    export(view, csv=options.export_csv, markdown=options.export_markdown)
    return _exit_code(options, view)


def _question(options: CompareOptions) -> CompareRequest:
    if options.concurrency is not None and not 1 <= options.concurrency <= MOST_CONCURRENCY:
        raise UsageError(f"{options.concurrency} is not from 1 to {MOST_CONCURRENCY}", where="--concurrency")
    if options.slot is not None and options.slot < (options.concurrency or 1):
        raise UsageError(f"a slot of {options.slot} cannot hold --concurrency {options.concurrency} requests", where="--slot")
    if options.script is not None:
        _refuse_servers(options)
    checked_seed(options.seed)
    return CompareRequest(
        source=app_source(options.reference, options.docroot, options.urls, options.script),
        control=options.control,
        treatments=options.treatments,
        aa=options.aa,
        metric=None if options.metric == "auto" else options.metric,
        margin=None if options.margin is None else fraction(options.margin, option="--margin", least=0.0, most=1.0),
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        budget_s=seconds(options.budget, option="--budget"),
        seed=options.seed,
        transport="script" if options.script else options.transport,
        concurrency=options.concurrency,
        slot_requests=options.slot,
        keep_conn=options.keep_conn,
        explain=options.explain,
    )


def _refuse_servers(options: CompareOptions) -> None:
    """A script is one process that performs one operation at a time."""
    where = f"--script {options.script}"
    if options.reference or options.docroot or options.urls:
        raise UsageError("both a script and an app are given", where=where, next_step="give one of the two")
    if given := options.requests.given or options.requests.way:
        raise UsageError(f"{given} belongs to an app; a script has operations", where=where)
    if options.transport != "http":
        raise UsageError(f"--transport {options.transport} belongs to an app; a script has no server", where=where)
    if options.explain:
        raise UsageError("a script has no workers to be looked into", where=where, next_step="leave --explain out")
    if options.metric == "throughput":
        raise UsageError("a script is judged by CPU per operation only", where=where, next_step="leave --metric out")
    if (options.concurrency or 1) > 1:
        raise UsageError("a script performs one operation at a time", where=where, next_step="leave --concurrency out")


def _exit_code(options: CompareOptions, view: RunView) -> int:
    if options.fail_on == "regression" and any(row.kind == "regressed" or row.relevance == "spent elsewhere" for row in view.rows):
        return EXIT_REGRESSED
    if options.require_verdict and any(row.kind in {"inconclusive", "invalid"} for row in view.rows):
        return EXIT_INCONCLUSIVE
    broken = [row for row in view.rows if row.kind == "invalid"]
    # Nothing was measured, or a check for regressions looked at less than it was told to.
    return EXIT_NO_RESULT if broken and (options.fail_on or len(broken) == len(view.rows)) else 0
