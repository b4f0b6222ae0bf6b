"""After a tune: what was found is looked into beside the control, on servers of their own, and the
record gets what that showed."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.commands.explain.passes import ExplainRequest, explain
from phpdyno.commands.tune.run import COMMAND, resume_tune, tune
from phpdyno.commands.tune.session import subject_of
from phpdyno.errors import DynoError, Interrupted
from phpdyno.experiment.common.progress import Progress
from phpdyno.explain.slim import slim
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.records import ExplainedArms
from phpdyno.journal.tune import TuneRecord, read_tune, write_tune
from phpdyno.model.runs.tune import TuneRequest
from phpdyno.session.peers import go_on_with
from phpdyno.session.run_directory import check_place

FOUND = "the winner"
NOTHING_FOUND = "nothing was adopted, so there is no change to be looked into"


def tune_and_explain(asked: TuneRequest, *, runs: Path, argv: Sequence[str], progress: Progress, with_builds: bool = False) -> Path:
    """Tune, and where it was asked for look inside afterwards; gives the run's directory. Raises
    DynoError."""
    run = tune(asked, runs=runs, argv=argv, progress=progress, with_builds=with_builds)
    _explain(run, progress)
    return run


def resume_and_explain_tune(run: Path, *, progress: Progress) -> Path:
    """Go on with a tune, or only with looking inside where that alone is left. Raises UsageError
    where nothing is left to do."""
    run = check_place(run)
    record = read_tune(run)
    if record.outcome == "finished" and is_left(record):
        go_on_with(record.asked.source.network)
    else:
        run = resume_tune(run, progress=progress)
    _explain(run, progress)
    return run


def is_left(record: TuneRecord) -> bool:
    """Whether its winner is yet to be looked into."""
    return record.asked.explain and record.explained is None


def _explain(run: Path, progress: Progress) -> None:
    record = read_tune(run)
    if not is_left(record):
        return
    try:
        write_tune(run, structs.replace(record, explained=winner_inside(run, record, progress)))
    except KeyboardInterrupt:
        raise Interrupted(str(run), COMMAND) from None


def winner_inside(run: Path, record: TuneRecord, progress: Progress) -> ExplainedArms:
    """What the settings that were found do inside; of a goal under load with as many requests in
    flight."""
    settings, asked = record.found.settings, record.asked
    if not settings:
        return ExplainedArms(FOUND, None, NOTHING_FOUND)
    progress.note("looking inside the winner, which takes about two minutes, outside the budget")
    loaded = asked.metric == "throughput"
    try:
        subject = subject_of(asked)
        control = subject.controls[1 if loaded else 0]
        reader, bases = subject.maker.reader, subject.maker.bases
        winner = reader.arm(FOUND, reader.on_top(bases.loaded if loaded else bases.cpu, settings), settings)
        wanted = ExplainRequest(
            concurrency=asked.loaded_concurrency if loaded else 1,
            transport=asked.transport,
            seed=asked.seed,
            workload=asked.workload,
        )
        with MeasuringLock():
            found = explain(subject.definition, (control, winner), wanted, logs=run / "logs", progress=progress)
        return ExplainedArms(FOUND, slim(found))
    except DynoError as error:
        return ExplainedArms(FOUND, None, str(error))
