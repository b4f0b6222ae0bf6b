"""`phpdyno size`: options checked, measured, shown."""

import sys
from dataclasses import fields
from pathlib import Path

from msgspec import structs
from rich.console import Console

from phpdyno.commands.common.app_source import app_source
from phpdyno.commands.common.live import LiveProgress, print_line
from phpdyno.commands.common.options import RequestOptions
from phpdyno.commands.common.requests import OwnRequests, asked_source, own_requests, refuse_with_resume
from phpdyno.commands.common.show import Form
from phpdyno.commands.common.units import checked_seed, fraction, seconds
from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.options import SizeOptions
from phpdyno.commands.size.record import SizeRun, read_size
from phpdyno.commands.size.render.study_page import study_page
from phpdyno.commands.size.request import GivenLimits, Objective, SizeRequest, memory_kib, request_rate, response_time
from phpdyno.commands.size.result import found_of
from phpdyno.commands.size.run import resume as go_on
from phpdyno.commands.size.run import size
from phpdyno.commands.size.show import report_size
from phpdyno.commands.size.study import load_size_study
from phpdyno.errors import DynoError, UsageError

UNASKED = SizeOptions()
"""The options where none is typed."""
EXIT_NO_ANSWER = 1


def run(options: SizeOptions, *, requests: RequestOptions, runs: Path, resume: Path | None, form: Form) -> int:
    """Carry out the command. Raises UsageError, DynoError."""
    argv, console = tuple(sys.argv[1:]), Console(stderr=True)
    if resume is not None:
        refuse_with_resume(requests)
        _refuse_another_plan(options, "--resume")
        with LiveProgress(console, quiet=form == "json") as progress:
            directory = go_on(resume.absolute(), argv=argv, progress=progress)
    else:
        asked = asked_of(options)
        own = own_requests(requests, console)
        asked = structs.replace(with_requests(asked, own), source=asked_source(asked.source, requests, own))
        with LiveProgress(console, quiet=form == "json") as progress:
            directory = size(asked, runs=runs.absolute(), argv=argv, progress=progress)
    report_size(directory, form=form)
    return 0


def asked_of(options: SizeOptions) -> SizeRequest:
    """Turn the options into what is asked, before a log or a workload file is read. Raises
    UsageError."""
    rate = None if options.rate is None else request_rate(options.rate, option="--rate")
    return SizeRequest(
        source=app_source(options.reference, options.docroot, options.urls),
        control=options.control,
        objective=Objective(
            p99_s=None if options.p99 is None else response_time(options.p99, option="--p99"),
            rate_per_s=rate,
            rate_from="" if rate is None else "--rate",
        ),
        limits=GivenLimits(
            memory_kib=None if options.memory is None else memory_kib(options.memory, option="--memory"),
            others_kib=None if options.others is None else memory_kib(options.others, option="--others"),
            cores=options.cores,
            process_max=options.process_max,
            connections=options.max_connections,
        ),
        most=options.most,
        budget_s=seconds(options.budget, option="--budget"),
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        seed=checked_seed(options.seed),
        transport=options.transport,
        managers=options.managers,
    )


def with_requests(asked: SizeRequest, own: OwnRequests) -> SizeRequest:
    """The requests of a log or a workload file in the place of the app's own; its busiest minute is
    the rate, unless one was named."""
    objective, arrival = asked.objective, own.arrival
    if objective.rate_per_s is None and arrival is not None:
        rate = arrival.busiest_minute_per_s or arrival.rate_per_s
        which = "the busiest minute" if arrival.busiest_minute_per_s else "the mean"
        objective = structs.replace(objective, rate_per_s=rate, rate_from=f"{which} of {Path(own.file).name}")
    source = structs.replace(asked.source, requests=own.file)
    return structs.replace(asked, source=source, workload=own.workload, objective=objective)


def run_study(file: Path, options: SizeOptions, *, page: Path | None, reuse: tuple[Path, ...], runs: Path) -> int:
    """Carry out a study: each of its apps, then the page; 1 where an app has no answer. Raises
    UsageError, DynoError."""
    _refuse_another_plan(options, "--study")
    study = load_size_study(file.absolute())
    place = page or runs / f"{file.stem}.md"
    if not place.absolute().parent.is_dir() and page is not None:
        raise UsageError("there is no such directory", where=f"--page {page}", next_step="make it, or name another file")
    given = _reused(reuse, tuple(study.app))
    held: dict[str, tuple[SizeRun, SizeFound]] = {}
    for name, app in study.app.items():
        directory = given.get(name)
        if directory is None:
            asked = SizeRequest(source=app_source(app.app, None, ()), budget_s=app.budget_s, seed=study.seed)
            with LiveProgress(Console(stderr=True)) as progress:
                progress.note(f"{name}: {app.about}" if app.about else name)
                try:
                    directory = size(asked, runs=runs.absolute(), argv=("size", app.app), progress=progress)
                except DynoError as error:
                    progress.note(f"{name} has no answer: {error}")
                    continue
        record = read_size(directory)
        found = found_of(record, directory.name)
        if found is not None:
            held[name] = record, found
        report_size(directory)
    told = study_page(study, {name: found for name, (_, found) in held.items()}, runs={name: run for name, (run, _) in held.items()})
    try:
        place.write_text(told, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the page cannot be written: {error.strerror}", where=str(place)) from error
    print_line(Console(), f"page: {place}")
    return 0 if held.keys() == study.app.keys() else EXIT_NO_ANSWER


def _reused(runs: tuple[Path, ...], names: tuple[str, ...]) -> dict[str, Path]:
    """Finished runs by the name of their app in the study. Raises UsageError for one that is not
    finished, or of another app."""
    found = {}
    for run in runs:
        record = read_size(run.absolute())
        if not record.finished:
            raise UsageError("this run is not finished", where=f"--reuse {run}", next_step=f"phpdyno size --resume {run}")
        if record.header.app not in names:
            what = f"this run is of {record.header.app}, which the study does not name"
            raise UsageError(what, where=f"--reuse {run}", next_step=f"its apps: {', '.join(names)}")
        found[record.header.app] = run.absolute()
    return found


def _refuse_another_plan(options: SizeOptions, beside: str) -> None:
    """Raise UsageError for what a run that is resumed, or a study, has from elsewhere and would
    pass over in silence."""
    for name in (each.name for each in fields(SizeOptions)):
        if getattr(options, name) != getattr(UNASKED, name):
            option = "APP" if name == "reference" else f"--{name.removesuffix('s') if name == 'urls' else name.replace('_', '-')}"
            what = "a run that is resumed keeps what it was asked, and a study says it itself"
            raise UsageError(what, where=f"{beside} with {option}", next_step="leave that one out, or start a new run")
