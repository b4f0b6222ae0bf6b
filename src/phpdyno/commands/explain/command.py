"""`phpdyno explain`: options checked, looked at, shown."""

import sys
import time

from msgspec import structs
from rich.console import Console

from phpdyno import __version__
from phpdyno.commands.common.app_source import app_source
from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.requests import asked_source, own_requests
from phpdyno.commands.common.show import form_of
from phpdyno.commands.common.units import checked_seed, seconds
from phpdyno.commands.explain.exporting import FOLDED, SPEEDSCOPE, check_export, export
from phpdyno.commands.explain.options import ExplainOptions
from phpdyno.commands.explain.passes import ExplainRequest
from phpdyno.commands.explain.request import arms_asked, check_wanted, skipped_of
from phpdyno.commands.explain.run import look_inside
from phpdyno.commands.explain.show import report_explained
from phpdyno.explain.slim import slim
from phpdyno.journal.explained import EXPLAIN_SCHEMA, ExplainRecord, write_explained
from phpdyno.session.run_directory import make_run_dir
from phpdyno.session.source import open_source


def run(options: ExplainOptions) -> int:
    """Look, keep what was found, show it. Raises UsageError, DynoError."""
    wanted = check_wanted(
        ExplainRequest(
            budget_s=seconds(options.budget, option="--budget"),
            counted_requests=options.counted,
            concurrency=options.concurrency,
            transport=options.transport,
            seed=checked_seed(options.seed),
            skipped=skipped_of(options.skip),
        )
    )
    source = app_source(options.reference, options.docroot, options.urls)
    arms = arms_asked(options.specs, open_source(source), wanted)
    check_export(options.folded, option=FOLDED, arms=len(arms))
    check_export(options.speedscope, option=SPEEDSCOPE, arms=len(arms))
    console = Console(stderr=True)
    own = own_requests(options.requests, console)
    definition = open_source(asked_source(source, options.requests, own))
    wanted = structs.replace(wanted, workload=own.workload)
    directory = make_run_dir(options.runs.absolute(), "explain", definition.name)
    started, begun = time.strftime("%Y-%m-%dT%H:%M:%S%z"), time.monotonic()
    with LiveProgress(console, quiet=options.json, notes="") as progress:
        found = look_inside(definition, arms, wanted, logs=directory / "logs", progress=progress)
    took_s = time.monotonic() - begun
    write_explained(directory, ExplainRecord(EXPLAIN_SCHEMA, __version__, started, tuple(sys.argv[1:]), slim(found), took_s))
    report_explained(directory, form=form_of(json=options.json, verbose=options.verbose))
    for file in export(found, folded=options.folded, scope=options.speedscope):
        print_line(console, f"stacks: {file}")
    return 0
