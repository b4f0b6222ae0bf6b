"""`phpdyno measure`: options checked, swept, shown."""

import re
import sys

from rich.console import Console

from phpdyno.commands.common.app_source import MOST_CONCURRENCY, app_source
from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.requests import refuse_with_resume, with_requests
from phpdyno.commands.common.show import form_of
from phpdyno.commands.common.units import checked_seed, fraction, seconds
from phpdyno.commands.measure.options import MeasureOptions
from phpdyno.commands.measure.run import MeasureRequest, measure, resume
from phpdyno.commands.measure.show import report_sweep
from phpdyno.errors import UsageError
from phpdyno.model.runs.sweep import Point, points_of

MOST_POINTS = 20
MOST_ARMS = 10
USUAL_BUDGET_S = 300.0
MOST_BUDGET_S = 1200.0
"""What is taken unasked where three rounds need it: WordPress with all loads wants 7 minutes on two
cores."""
EXAMPLE = "write for example 1,3,5,10"
_LOAD = re.compile(r"[0-9]{1,9}")


def run(options: MeasureOptions) -> int:
    """Carry out the command."""
    argv = tuple(sys.argv[1:])
    console = Console(stderr=True)
    if options.resume is not None:
        refuse_with_resume(options.requests)
        refuse_another_plan(options)
        with LiveProgress(console, quiet=options.json) as progress:
            directory = resume(options.resume.absolute(), argv=argv, progress=progress)
    else:
        asked = with_requests(question_of(options), options.requests, console)
        with LiveProgress(console, quiet=options.json) as progress:
            directory = measure(asked, runs=options.runs.absolute(), argv=argv, progress=progress)
    report_sweep(directory, form=form_of(json=options.json, verbose=options.verbose))
    return 0


def question_of(options: MeasureOptions) -> MeasureRequest:
    """What is asked, before a log or a workload file is read. Raises UsageError for what cannot
    be."""
    checked_seed(options.seed)
    if len(options.arms) >= MOST_ARMS:
        raise UsageError(f"{len(options.arms) + 1} arms are more than {MOST_ARMS}", where="--arm", next_step="name fewer")
    return MeasureRequest(
        source=app_source(options.reference, options.docroot, options.urls),
        control=options.control,
        others=options.arms,
        points=asked_points(options.concurrency, options.asked_share, kept=options.keep_conn),
        budget_s=USUAL_BUDGET_S if options.budget is None else seconds(options.budget, option="--budget"),
        arrivals=options.arrivals,
        most_budget_s=MOST_BUDGET_S if options.budget is None else 0.0,
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        seed=options.seed,
        transport=options.transport,
        cross_check=options.cross_check,
        keep_conn=options.keep_conn,
    )


def refuse_another_plan(options: MeasureOptions) -> None:
    """Raise UsageError for what a sweep that is resumed has from its own plan and would pass over
    in silence."""
    for name, given in (("--budget", options.budget), ("--control", options.control), ("--arm", options.arms)):
        if given:
            what = "a run that is resumed keeps its plan"
            raise UsageError(what, where=f"--resume with {name}", next_step="leave that one out, or start a new run")


def asked_points(concurrency: str, open_share: str | None, *, kept: bool = False) -> tuple[Point, ...]:
    """`1,3,5` and a share as points; `kept`: connections hold workers. Raises UsageError."""
    loads: list[int] = []
    for part in concurrency.split(","):
        text = part.strip()
        if not _LOAD.fullmatch(text):
            raise UsageError(f"{text!r} is no number of requests in flight", where=f"--concurrency {concurrency}", next_step=EXAMPLE)
        load = int(text)
        if not 1 <= load <= MOST_CONCURRENCY:
            raise UsageError(f"{load} is not from 1 to {MOST_CONCURRENCY}", where=f"--concurrency {concurrency}")
        if load in loads:
            raise UsageError(f"{load} is named twice", where=f"--concurrency {concurrency}", next_step="keep one of the two")
        loads.append(load)
    if len(loads) > MOST_POINTS:
        raise UsageError(f"{len(loads)} points are more than {MOST_POINTS}", where="--concurrency", next_step="name fewer")
    share = 0.0 if open_share is None else fraction(open_share, option="--open-share", least=0.01, most=1.5)
    return points_of(loads, share, kept=kept)
