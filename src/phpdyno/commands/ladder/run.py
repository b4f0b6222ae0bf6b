"""phpdyno ladder: build by every recipe, measure all builds in one comparison, then what goes on
top of the best of them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.commands.build.builder import LOGS, Trainee, open_build_session, refuse_unknown
from phpdyno.commands.build.named import refuse_rebuilt
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.commands.compare.run import CompareRequest, arms_of, compare, compare_in, planned_records, resume, why_missing
from phpdyno.commands.explain.hot_pass import look_for_hot_functions
from phpdyno.commands.ladder.steps import best_of, found_steps, measured_in
from phpdyno.commands.ladder.top import find_top
from phpdyno.errors import DynoError, Interrupted, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.lock import holding_on
from phpdyno.journal.ladder import KNOBS, LADDER_SCHEMA, LadderRecord, read_ladder, write_ladder
from phpdyno.journal.reader import FILE, begun_in, read_journal
from phpdyno.model.build import Build, stock_of
from phpdyno.model.plan import Plan
from phpdyno.model.recipe import Recipe
from phpdyno.model.runs.ladder import STOCK, LadderStep, StepFound
from phpdyno.php_build.rungs import steps_of
from phpdyno.php_build.train.bolt import require_bolt
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.session.peers import go_on_with
from phpdyno.session.run_directory import check_place
from phpdyno.session.source import refuse_changed

COMMAND = "ladder"
NOT_ON_TOP = "what goes on top of the builds is not measured: "
BUILDS_SHARE = 0.6
"""Of the time for measuring; the rest is for what goes on top."""


class LadderRequest(Struct, frozen=True):
    """What the user wants climbed: an app, recipes in order, and how the steps are measured.

    `knobs`: huge pages, the JIT and preloading go on top of the best build. `question` holds the
    app and how it is measured; its arms are ours.
    """

    recipes: tuple[Recipe, ...]
    question: CompareRequest
    foundation: SourceRequest = SourceRequest()
    training_length: TrainingLength = TrainingLength()
    knobs: bool = True


@holding_on()
def ladder(climb: LadderRequest, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Build what is not in the cache, then measure; the run's directory. Nothing is compiled while
    anything is measured.

    A recipe that cannot be built is a step that says why. Raises DynoError where none can.
    """
    runs = check_place(runs)
    refuse_unknown([climb.question.source.reference])
    record = build_steps(climb, logs=runs / LOGS, progress=progress)
    question = climb.question
    if climb.knobs:
        # Two comparisons, of which each has half of the error probability.
        record = structs.replace(record, knob_budget_s=(1 - BUILDS_SHARE) * question.budget_s)
        question = structs.replace(question, budget_s=BUILDS_SHARE * question.budget_s, confidence=(1 + question.confidence) / 2)
    specs = tuple(each.spec for each in record.steps if each.spec)
    question = structs.replace(question, control=f"build={_stock(record)}", treatments=specs, metric="cpu", settle="never")
    run = compare(question, runs=runs, argv=argv, progress=progress, command=COMMAND, begun=lambda run: write_ladder(run, record))
    _finish(run, argv=argv, progress=progress)
    return run


@holding_on()
def resume_ladder(run: Path, *, argv: Sequence[str], progress: Progress, budget_s: float | None = None) -> Path:
    """Go on with a ladder whose measuring was interrupted; `budget_s`, where it is given, is the
    budget of the knobs as long as no block of theirs is measured. Raises UsageError where nothing
    is left to do, or no budget is."""
    run = check_place(run)
    record = read_ladder(run)
    go_on_with(RunState.replay(planned_records(run)).plan.source.network)
    going = _open(run)
    if not going and _is_finished(run, record):
        raise UsageError("this ladder is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    refuse_rebuilt(record.builds.values(), of=COMMAND)
    if budget_s is not None:
        if not record.knob_budget_s:
            what = "this ladder has no knobs, and its builds keep their budget"
            raise UsageError(what, where="--resume with --budget", next_step="leave it out")
        write_ladder(run, structs.replace(record, knob_budget_s=budget_s))
    if going:
        resume(run, argv=argv, progress=progress)
    _finish(run, argv=argv, progress=progress)
    return run


def _open(run: Path) -> bool:
    return bool(RunState.replay(planned_records(run)).open_treatments())


def _is_finished(run: Path, record: LadderRecord) -> bool:
    """Whether nothing is left to do once the builds are measured: no comparison of knobs, no look
    inside."""
    on_top = begun_in(run / KNOBS)
    if record.knob_budget_s and (on_top is None or _open(on_top)):
        return False
    return bool(record.hot or record.not_hot) or _pair(_climbed(run, record), record) is None


def _stock(record: LadderRecord) -> str:
    return stock_of(next(iter(record.builds)))


def _finish(run: Path, *, argv: Sequence[str], progress: Progress) -> None:
    """What comes after the builds are measured: knobs on top of the best one, and a look inside.
    Raises Interrupted."""
    record = read_ladder(run)
    climbed = _climbed(run, record)
    try:
        if record.knob_budget_s:
            record = _climb_on(climbed, record, argv=argv, progress=progress)
        _look_inside(climbed, record, progress=progress)
    except KeyboardInterrupt:
        raise Interrupted(str(run), COMMAND) from None


class _Climbed(Struct, frozen=True):
    """A ladder whose builds are measured: by which command line, how, on how much memory, and the
    step that is best for certain."""

    run: Path
    argv: tuple[str, ...]
    plan: Plan
    memory_kib: int
    best: StepFound | None


def _climbed(run: Path, record: LadderRecord) -> _Climbed:
    measured = measured_in(read_journal(run / FILE), run.name)
    gathered = measured.gathered
    memory_kib = gathered.host.memory_kib if gathered.host is not None else 0
    return _Climbed(run, gathered.header.argv, gathered.plan, memory_kib, best_of(found_steps(record.steps, measured)))


def _climb_on(climbed: _Climbed, record: LadderRecord, *, argv: Sequence[str], progress: Progress) -> LadderRecord:
    """The comparison of the knobs, begun or gone on with; the record with what is known of them."""
    run = climbed.run
    notes = tuple(note for note in record.notes if not note.startswith(NOT_ON_TOP))
    try:
        if not record.knobs:
            # Of the stock PHP where no build is certain to be better.
            bottom = climbed.best.step if climbed.best is not None else LadderStep(STOCK, f"build={_stock(record)}")
            top = find_top(bottom, climbed.plan, memory_kib=climbed.memory_kib, logs=run / "logs", progress=progress)
            notes = (*notes, *top.notes)
            record = structs.replace(record, knobs=top.steps, notes=notes)
            write_ladder(run, record)
        if record.knobs:
            question = _question_of_knobs(record, climbed.plan)
            # Totals are products: both factors must be of one app and one PHP.
            below = climbed.plan
            accept = partial(refuse_changed, below, arms=arms_of(below))
            compare_in(question, run / KNOBS, origin=climbed.argv, argv=argv, progress=progress, accept=accept)
    except DynoError as error:
        # What the builds came to is known all the same.
        said = f"{NOT_ON_TOP}{why_missing(error)}".replace(f"{run}/", "")
        progress.note(said)
        notes = (*notes, said)
    if notes != record.notes:
        record = structs.replace(record, notes=notes)
        write_ladder(run, record)
    return record


def _question_of_knobs(record: LadderRecord, plan: Plan) -> CompareRequest:
    """The request that measures the knobs as the builds were measured (`plan`), on top of the
    one that the knobs stand on."""
    below = record.knobs[0].on
    return CompareRequest(
        source=plan.source,
        control=next((step.spec for step in record.steps if step.name == below), f"build={_stock(record)}"),
        treatments=tuple(step.spec for step in record.knobs),
        metric="cpu",
        margin=plan.margin,
        confidence=plan.confidence,
        budget_s=record.knob_budget_s,
        seed=plan.seed + 1,
        transport=plan.transport,
        settle="never",
        workload=plan.workload if plan.source.requests else None,
    )


def _pair(climbed: _Climbed, record: LadderRecord) -> tuple[LadderStep, LadderStep] | None:
    """The steps of the first build and of the best one; None where they are the same, or the app
    has no name to be opened by."""
    standing = [step for step in record.steps if step.build]
    first, last = standing[0], climbed.best.step if climbed.best is not None else standing[-1]
    return None if first == last or not climbed.plan.source.reference else (first, last)


def _look_inside(climbed: _Climbed, record: LadderRecord, *, progress: Progress) -> None:
    """Where the time of a request goes in the first build and in the best one, into the record."""
    run, plan, pair = climbed.run, climbed.plan, _pair(climbed, record)
    if record.hot is not None or pair is None:
        return
    first, last = pair
    try:
        specs, names = (first.spec, last.spec), (first.name, last.name)
        hot = look_for_hot_functions(plan, specs, names, logs=run / "logs", progress=progress)
        record = structs.replace(record, hot=hot, not_hot="")
    except DynoError as error:
        # The verdicts are there; this only explains them.
        record = structs.replace(record, not_hot=str(error))
        progress.note(f"functions are not looked at: {error}")
    write_ladder(run, record)


def build_steps(climb: LadderRequest, *, logs: Path, progress: Progress) -> LadderRecord:
    """Every recipe built, or why it is not. Raises DynoError where none is."""
    # Said before an hour of compiling: it can still be installed.
    failed = _without_bolt(climb.recipes)
    for name, why in failed.items():
        progress.note(f"{name} is not climbed: {why}")
    wanted = [recipe for recipe in climb.recipes if recipe.name not in failed]
    made, broken = _build_each(wanted, climb, logs=logs, progress=progress) if wanted else ({}, {})
    steps = steps_of(climb.recipes, made, {**failed, **broken})
    if not any(step.build for step in steps):
        raise DynoError("none of these recipes can be built", where=", ".join(step.name for step in steps), next_step=steps[0].failed)
    climbed = [made[step.name] for step in steps if step.build]
    notes = tuple(dict.fromkeys(build.origin.notice for build in climbed if build.origin.notice))
    builds = {build.name: build for build in climbed}
    return LadderRecord(LADDER_SCHEMA, steps, builds, notes, climb.question.confidence)


def _without_bolt(recipes: Sequence[Recipe]) -> dict[str, str]:
    """The recipes by name that BOLT is missing for, and what to do about it."""
    try:
        require_bolt()
    except DynoError as error:
        return {recipe.name: str(error) for recipe in recipes if recipe.bolt}
    return {}


def _build_each(
    recipes: Sequence[Recipe], climb: LadderRequest, *, logs: Path, progress: Progress
) -> tuple[dict[str, Build], dict[str, str]]:
    """The builds by the names of their recipes, and why there is none. Raises DynoError where there
    is nothing to build of."""
    made: dict[str, Build] = {}
    failed: dict[str, str] = {}
    question = climb.question
    trainee = Trainee(question.source.reference, workload=question.workload, requests=question.source.requests)
    with open_build_session(climb.foundation, logs=logs, progress=progress) as builder:
        teaching = builder.taught_by(trainee, climb.training_length)
        for number, recipe in enumerate(recipes):
            title = f"build {number + 1} of {len(recipes)}: {recipe.name}"
            try:
                _, made[recipe.name] = builder.build(recipe, [teaching], title=title)
            except DynoError as error:
                failed[recipe.name] = str(error)
                progress.note(f"{recipe.name} is not climbed: {error}")
    return made, failed
