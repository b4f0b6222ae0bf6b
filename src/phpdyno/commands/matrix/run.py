"""phpdyno matrix: a build for each app's profile and one for all together, each measured on every
app."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from phpdyno import __version__
from phpdyno.apps.registry import open_app
from phpdyno.commands.build.builder import LOGS, Trainee, open_build_session
from phpdyno.commands.build.named import refuse_rebuilt
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.commands.build.words import missing_words
from phpdyno.commands.compare.run import CompareRequest, compare_in, why_missing
from phpdyno.config.recipe import untrained
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.lock import MeasuringLock, holding_on
from phpdyno.journal.matrix import MATRIX_SCHEMA, MatrixApp, MatrixRecord, read_matrix, write_matrix
from phpdyno.journal.study import Provenance
from phpdyno.model.app import PreparedApp
from phpdyno.model.build import Build
from phpdyno.model.plan import AppSource
from phpdyno.model.recipe import Recipe
from phpdyno.model.runs.matrix import ALL
from phpdyno.php_build.train.requests import traffic_digest
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.session.arms import make_arms
from phpdyno.session.peers import go_on_with, named_peers
from phpdyno.session.provenance import read_provenance, refuse_changed
from phpdyno.session.run_directory import check_place, make_run_dir

COMMAND = "matrix"
LEAST_APPS = 2


class MatrixRequest(Struct, frozen=True):
    """What the user wants: apps, a recipe with a profile, and how it is measured; `budget_s` is
    that of one app."""

    trainees: tuple[Trainee, ...]
    recipe: Recipe
    foundation: SourceRequest = SourceRequest()
    training_length: TrainingLength = TrainingLength()
    margin: float = 0.01
    confidence: float = 0.95
    budget_s: float = 600.0
    seed: int = 1


class _Made(Struct, frozen=True):
    """The builds: without a profile, and by the names of the profiles."""

    plain: Build
    profiled: dict[str, Build]
    apps: tuple[str, ...]


@holding_on()
def matrix(wish: MatrixRequest, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Build what is not in the cache, then one comparison for each app; the run's directory.

    Raises UsageError: fewer than two apps, a recipe without a profile. DynoError where a build
    fails, and where none has its whole recipe.
    """
    if len(wish.trainees) < LEAST_APPS:
        raise UsageError("a matrix has two apps at least", where="phpdyno matrix", next_step="give another app")
    if not wish.recipe.trained:
        raise UsageError("this recipe learns nothing from an app", where="--recipe", next_step="give one with pgo or bolt")
    _refuse_namesakes(wish.trainees)
    runs = check_place(runs)
    made = _build(wish, logs=runs / LOGS, progress=progress)
    record = MatrixRecord(
        schema=MATRIX_SCHEMA,
        phpdyno=__version__,
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        argv=tuple(argv),
        apps=tuple(MatrixApp(each.reference, name) for each, name in zip(wish.trainees, made.apps, strict=True)),
        plain=made.plain.name,
        profiles={name: build.name for name, build in made.profiled.items()},
        builds={build.name: build for build in (made.plain, *made.profiled.values())},
        budget_s=wish.budget_s,
        margin=wish.margin,
        confidence=wish.confidence,
        seed=wish.seed,
        network=named_peers(),
        notes=(made.plain.origin.notice,) if made.plain.origin.notice else (),
    )
    record = structs.replace(record, ground=_provenance(record))
    with MeasuringLock():
        run = make_run_dir(runs, COMMAND, "-".join(made.apps))
    write_matrix(run, record)
    _measure(run, record, argv=argv, progress=progress)
    return run


@holding_on()
def resume_matrix(run: Path, *, argv: Sequence[str], progress: Progress, budget_s: float | None = None) -> Path:
    """Go on with the comparisons that are not done; `budget_s`, where it is given, is the budget of
    those of which no block is measured.

    Raises UsageError where there is none, also where code, host or servers are not those of the
    finished ones; DynoError where a build is another one now.
    """
    run = check_place(run)
    record = read_matrix(run)
    if all(each.state == "done" for each in record.apps):
        raise UsageError("this matrix is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    go_on_with(record.network)
    refuse_rebuilt(record.builds.values(), of=COMMAND)
    provenance = _provenance(record)
    refuse_changed(run, record, provenance)
    apps = tuple(each if each.state == "done" else MatrixApp(each.reference, each.name) for each in record.apps)
    record = structs.replace(record, apps=apps, ground=provenance, budget_s=record.budget_s if budget_s is None else budget_s)
    write_matrix(run, record)
    _measure(run, record, argv=argv, progress=progress)
    return run


def _refuse_namesakes(trainees: Sequence[Trainee]) -> None:
    """Profiles and columns go by the names of the apps. Raises UsageError."""
    names = [open_app(each.reference).name for each in trainees]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError("two of these apps have one name", where=twice, next_step="give each its own name in app.toml")


def _provenance(record: MatrixRecord) -> Provenance:
    """What its builds would be measured on now."""
    question = question_of(record, record.apps[0])
    arms = make_arms(question.control, question.treatments, metric=question.metric)
    return read_provenance(arm.php for arm in (arms.control, *arms.treatments))


def _build(wish: MatrixRequest, *, logs: Path, progress: Progress) -> _Made:
    foundation = structs.replace(wish.foundation, laid_out=wish.recipe.bolt)
    with open_build_session(foundation, logs=logs, progress=progress) as builder:
        teachings = [builder.taught_by(each, wish.training_length) for each in wish.trainees]
        sets = [*((each.app, [structs.replace(each, weight=1.0)]) for each in teachings), (ALL, teachings)]
        # The same recipe without what it learns: in a cell is nothing else, but for options that
        # are there for BOLT.
        plain = untrained(wish.recipe)
        _, without = builder.build(plain, teachings, title=f"build 1 of {len(sets) + 1}: {plain.name}")
        profiled = {}
        for number, (name, taught) in enumerate(sets, 2):
            title = f"build {number} of {len(sets) + 1}: {wish.recipe.name}, trained on {name}"
            _, profiled[name] = builder.build(wish.recipe, taught, title=title)
    if all(each.skipped for each in profiled.values()):
        said = "; ".join(dict.fromkeys(each for build in profiled.values() for each in missing_words(wish.recipe.name, build.skipped)))
        raise DynoError(f"no build has all of its recipe: {said}", where="--recipe", next_step="leave that step out")
    return _Made(without, profiled, tuple(each.app for each in teachings))


def question_of(record: MatrixRecord, app: MatrixApp) -> CompareRequest:
    """One app's comparison; the error probability of the matrix is shared out among them. A build
    that is without a step of the recipe is no answer to what that does, so it is not measured.
    Profiles are held against each other, so none is left off when it is known to help: its interval
    would end at the margin then, whatever it gains."""
    return CompareRequest(
        source=AppSource(reference=app.reference),
        control=f"build={record.plain}",
        treatments=tuple(f"build={name}" for name in record.profiles.values() if not record.builds[name].skipped),
        metric="cpu",
        margin=record.margin,
        confidence=1.0 - (1.0 - record.confidence) / len(record.apps),
        budget_s=record.budget_s,
        seed=record.seed,
        settle="never",
    )


def _refuse_retrained(record: MatrixRecord, app: PreparedApp) -> None:
    """What is measured is what has trained. Raises DynoError."""
    taught = next((each for each in record.builds[record.plain].examined if each.app == app.name), None)
    if taught is not None and (taught.version, taught.traffic) != (app.version, traffic_digest(app.workload)):
        raise DynoError(
            "this app is not the one that the builds were trained on: its version or its requests changed",
            where=app.name,
            next_step="start a new matrix",
        )


def _measure(run: Path, record: MatrixRecord, *, argv: Sequence[str], progress: Progress) -> None:
    """Every comparison that is not done. One that fails is recorded, and the others go on. Raises
    Interrupted."""
    try:
        for each in record.apps:
            if each.state == "done":
                continue
            try:
                compare_in(
                    question_of(record, each),
                    run / each.name,
                    origin=record.argv,
                    argv=argv,
                    progress=progress,
                    accept=partial(_refuse_retrained, record),
                )
                done = structs.replace(each, state="done", detail="")
            except DynoError as error:
                said = why_missing(error)
                progress.note(f"{each.name}: {said}")
                done = structs.replace(each, state="failed", detail=said.replace(f"{run}/", ""))
            record = record.with_app(done)
            write_matrix(run, record)
    except KeyboardInterrupt:
        raise Interrupted(str(run), COMMAND) from None
