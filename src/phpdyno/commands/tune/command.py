"""`phpdyno tune`: options checked, searched, proved, shown."""

import sys

from rich.console import Console

from phpdyno.commands.common.app_source import MOST_CONCURRENCY, app_source
from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.requests import refuse_with_resume, with_requests
from phpdyno.commands.common.show import form_of
from phpdyno.commands.common.units import checked_seed, fraction, seconds
from phpdyno.commands.compare.run import MARGINS
from phpdyno.commands.tune.explained import resume_and_explain_tune, tune_and_explain
from phpdyno.commands.tune.options import TuneOptions
from phpdyno.commands.tune.show import report_tune
from phpdyno.errors import UsageError
from phpdyno.model.runs.tune import TuneRequest
from phpdyno.session.requirements import loaded_concurrency

LEAST_BUDGET_S = 60.0


def run(options: TuneOptions) -> int:
    """Carry out the command."""
    argv = tuple(sys.argv[1:])
    console = Console(stderr=True)
    if options.resume is not None:
        refuse_with_resume(options.requests)
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = resume_and_explain_tune(options.resume.absolute(), progress=progress)
    else:
        asked = with_requests(asked_of(options), options.requests, console)
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = tune_and_explain(asked, runs=options.runs.absolute(), argv=argv, progress=progress, with_builds=options.with_builds)
    report_tune(directory, form=form_of(json=options.json, verbose=options.verbose))
    return 0


def asked_of(options: TuneOptions) -> TuneRequest:
    """What is asked, before a log or a workload file is read. Raises UsageError for what cannot
    be."""
    checked_seed(options.seed)
    if options.concurrency is not None and not 1 <= options.concurrency <= MOST_CONCURRENCY:
        raise UsageError(f"{options.concurrency} is not from 1 to {MOST_CONCURRENCY}", where="--concurrency")
    given = None if options.margin is None else fraction(options.margin, option="--margin", least=0.0, most=1.0)
    budget_s = seconds(options.budget, option="--budget")
    if budget_s < LEAST_BUDGET_S:
        raise UsageError("in less than a minute nothing can be tuned", where=f"--budget {options.budget}", next_step="give 15m, or more")
    return TuneRequest(
        source=app_source(options.reference, options.docroot, options.urls),
        control=options.control,
        goal=options.goal,
        knobs=options.knobs,
        margin=MARGINS["cpu"] if given is None else given,
        loaded_margin=MARGINS["throughput"] if given is None else given,
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        budget_s=budget_s,
        seed=options.seed,
        transport=options.transport,
        loaded_concurrency=options.concurrency or loaded_concurrency(),
        explain=options.explain,
    )
