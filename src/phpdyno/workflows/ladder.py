"""phpdyno ladder: build by every recipe, then measure all steps in one comparison, each against what it stands on."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.build.elf import text_kib
from phpdyno.build.rungs import knob_steps, last_standing, steps_of
from phpdyno.build.training import Course
from phpdyno.errors import DynoError
from phpdyno.experiment.progress import Progress
from phpdyno.experiment.state import RunState
from phpdyno.journal.ladder import LADDER_SCHEMA, LadderRecord, read_ladder, write_ladder
from phpdyno.journal.reader import FILE, read_journal
from phpdyno.model.build import Build, stock_of
from phpdyno.model.ladder import Step
from phpdyno.model.recipe import Recipe
from phpdyno.stack.host_settings import PAGES, can_set
from phpdyno.workflows.build_ground import Foundation
from phpdyno.workflows.build_site import Trainee, open_site
from phpdyno.workflows.compare import Question, compare, resume
from phpdyno.workflows.hot_pass import look_for_hot_functions

COMMAND = "ladder"


class Climb(Struct, frozen=True):
    """What the user wants climbed: an app, recipes in order, and how the steps are measured.

    `knobs`: huge text pages and the JIT go on top of the last build. `question` holds the app and how it is measured; its arms are ours.
    """

    recipes: tuple[Recipe, ...]
    question: Question
    foundation: Foundation = Foundation()
    course: Course = Course()
    knobs: bool = True


def ladder(climb: Climb, *, runs: Path, logs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Build what is not in the cache, then measure; the run's directory. Nothing is compiled while anything is measured.

    A recipe that cannot be built is a step that says why. Raises DynoError where none can.
    """
    record = build_steps(climb, logs=logs, progress=progress)
    specs = tuple(each.spec for each in record.steps if each.spec)
    control = f"build={stock_of(next(iter(record.builds)))}"
    question = structs.replace(climb.question, control=control, treatments=specs, metric="cpu", settle="never")
    run = compare(question, runs=runs, argv=argv, progress=progress, command=COMMAND, begun=lambda run: write_ladder(run, record))
    look_inside(run, progress=progress)
    return run


def resume_ladder(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a ladder whose measuring was interrupted. Raises UsageError where nothing is left to do."""
    run = resume(run, argv=argv, progress=progress)
    look_inside(run, progress=progress)
    return run


def look_inside(run: Path, *, progress: Progress) -> None:
    """Where the time of a request goes in the first build and in the last one, into the record of a measured ladder."""
    record = read_ladder(run)
    plan = RunState.replay(read_journal(run / FILE)).plan
    standing = [step for step in record.steps if step.build]
    first, last = standing[0], next(step for step in reversed(standing) if step.build and step.spec == f"build={step.build}")
    if record.hot is not None or first == last or not plan.source.reference:
        return
    try:
        specs, names = (first.spec, last.spec), (first.name, last.name)
        hot = look_for_hot_functions(plan.source.reference, specs, names, seed=plan.seed, logs=run / "logs", progress=progress)
        record = structs.replace(record, hot=hot)
    except DynoError as error:
        # The verdicts are there; this only explains them.
        record = structs.replace(record, not_hot=str(error))
        progress.note(f"functions are not looked at: {error}")
    write_ladder(run, record)


def build_steps(climb: Climb, *, logs: Path, progress: Progress) -> LadderRecord:
    """Every recipe built, or why it is not. Raises DynoError where none is."""
    made: dict[str, tuple[Path, Build]] = {}
    failed: dict[str, str] = {}
    with open_site(climb.foundation, logs=logs, progress=progress) as site:
        teaching = site.taught_by(Trainee(climb.question.source.reference), climb.course)
        for number, recipe in enumerate(climb.recipes):
            progress.phase(f"build {number + 1} of {len(climb.recipes)}: {recipe.name}")
            try:
                made[recipe.name] = site.build(recipe, [teaching])
            except DynoError as error:
                failed[recipe.name] = str(error)
                progress.note(f"{recipe.name} is not climbed: {error}")
    if not made:
        raise DynoError("none of these recipes can be built", where=", ".join(failed), next_step=next(iter(failed.values())))
    steps = steps_of(climb.recipes, {name: build for name, (_, build) in made.items()}, failed)
    top = last_standing(steps)
    if climb.knobs and top is not None:
        steps += _on_top(top, made[top.name][0])
    notes = tuple(dict.fromkeys(build.origin.notice for _, build in made.values() if build.origin.notice))
    return LadderRecord(LADDER_SCHEMA, steps, {build.name: build for _, build in made.values()}, notes)


def _on_top(top: Step, place: Path) -> tuple[Step, ...]:
    return knob_steps(top, text_kib=text_kib(place / "php-fpm"), pages=can_set(PAGES))
