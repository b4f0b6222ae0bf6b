"""`phpdyno study`: a study file carried out, shown, and written as a page."""

import sys
from pathlib import Path

from msgspec import json
from rich.console import Console

from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.show import Form, form_of, print_answer, typed_path, write_page
from phpdyno.commands.common.units import optional_seconds
from phpdyno.commands.connectors.study import KIND as CONNECTORS
from phpdyno.commands.size.study import KIND as SIZE
from phpdyno.commands.study.answer import study_answer
from phpdyno.commands.study.options import StudyOptions
from phpdyno.commands.study.render.page import study_page
from phpdyno.commands.study.render.terminal import study_summary
from phpdyno.commands.study.run import begun_sweep_in, resume_study, study
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.commands.study.view.whole import study_view
from phpdyno.config.values import read_toml
from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.reader import FILE, begun_in, read_journal
from phpdyno.journal.study import StudyRecord
from phpdyno.journal.sweep import read_sweep

PAGE = "study.md"


def _refuse_another_kind(file: Path) -> None:
    """Raise UsageError, with the command that carries it out, for a study of clients of Tarantool
    or of pool sizes."""
    kind = read_toml(file).get("kind")
    for theirs, command, what in ((CONNECTORS, "connectors", "clients of Tarantool"), (SIZE, "size", "pool sizes")):
        if kind == theirs:
            raise UsageError(f"this study is one of {what}", where=str(file), next_step=f"phpdyno {command} --study {file}")


def run(options: StudyOptions) -> int:
    """Carry out the command; 1 when a part failed."""
    argv = tuple(sys.argv[1:])
    with LiveProgress(Console(stderr=True), quiet=options.json) as progress:
        if options.resume is not None:
            if options.file is not None or options.budget is not None:
                raise UsageError("a study that is resumed keeps its file and its budgets", where="--resume", next_step="leave them out")
            place, record = resume_study(options.resume.absolute(), only=options.only, argv=argv, progress=progress)
        elif options.file is not None:
            _refuse_another_kind(options.file)
            budget_s = optional_seconds(options.budget, option="--budget")
            place, record = study(
                options.file, budget_s=budget_s, only=options.only, runs=options.runs.absolute(), argv=argv, progress=progress
            )
        else:
            raise UsageError("no study file is named", next_step="give one, for example studies/opcache.toml, or --resume RUN")
    view = view_of_study(place, record)
    _show(view, place, options.page or place / PAGE, form=form_of(json=options.json, verbose=options.verbose))
    return 1 if any(part.state == "failed" for part in record.parts) else 0


def view_of_study(place: Path, record: StudyRecord) -> StudyView:
    """The view of a study's directory: its record, the journal of every comparison that has a plan,
    and every sweep's record."""
    begun = {part.name: begun_in(place / part.name) for part in record.parts if part.kind == "comparison"}
    swept = {part.name: begun_sweep_in(place / part.name) for part in record.parts if part.kind == "sweep"}
    return study_view(
        record,
        {name: read_journal(run / FILE) for name, run in begun.items() if run is not None},
        {name: read_sweep(run) for name, run in swept.items() if run is not None},
    )


def _show(view: StudyView, run: Path, page: Path, *, form: Form) -> None:
    """Print it and write the page; a page that cannot be written is said after what can be
    shown."""
    unwritten = write_page(page, study_page(view))
    if form == "json":
        sys.stdout.write(json.format(json.encode(view), indent=2).decode() + "\n")
    else:
        answer = study_answer(view, typed_path(run), "" if unwritten else typed_path(page))
        print_answer(answer, (lambda: study_summary(view)) if form == "details" else None)
    if unwritten:
        raise DynoError(f"the page cannot be written: {unwritten}", where=str(page))
