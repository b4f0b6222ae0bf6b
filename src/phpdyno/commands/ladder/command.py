"""`phpdyno ladder`: options checked, built, measured, shown."""

import sys

from rich.console import Console

from phpdyno.commands.build.command import foundation_of
from phpdyno.commands.common.app_source import app_source
from phpdyno.commands.common.endings import ended
from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.requests import refuse_with_resume, with_requests
from phpdyno.commands.common.show import form_of
from phpdyno.commands.common.units import checked_seed, fraction, optional_seconds, seconds
from phpdyno.commands.compare.run import CompareRequest
from phpdyno.commands.ladder.options import LadderOptions
from phpdyno.commands.ladder.run import LadderRequest, ladder, resume_ladder
from phpdyno.commands.ladder.show import report_ladder
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.model.recipe import Recipe
from phpdyno.php_build.rungs import RUNGS
from phpdyno.php_build.train.training import TrainingLength

USUAL_BUDGET = "15m"


def run(options: LadderOptions) -> int:
    """Carry out the command; 1 when what goes on top of the builds is not measured."""
    argv = tuple(sys.argv[1:])
    console = Console(stderr=True)
    if options.resume is not None:
        refuse_with_resume(options.requests)
        if options.reference:
            what = "a ladder that is resumed keeps its app"
            raise UsageError(what, where=f"--resume with {options.reference}", next_step="leave it out, or start a new ladder")
        budget_s = optional_seconds(options.budget, option="--budget")
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = resume_ladder(options.resume.absolute(), argv=argv, progress=progress, budget_s=budget_s)
    else:
        climb = climb_of(options, console)
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = ladder(climb, runs=options.runs.absolute(), argv=argv, progress=progress)
    return ended(report_ladder(directory, form=form_of(json=options.json, verbose=options.verbose)).outcome, "ladder", directory, console)


def climb_of(options: LadderOptions, console: Console) -> LadderRequest:
    """What is to be climbed; requests of a log are told of. Raises UsageError."""
    if not options.reference:
        raise UsageError("a ladder needs an app", where="phpdyno ladder APP", next_step="give one, for instance wordpress")
    checked_seed(options.seed)
    question = CompareRequest(
        source=app_source(options.reference, None, ()),
        margin=fraction(options.margin, option="--margin", least=0.0, most=1.0),
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        budget_s=seconds(options.budget or USUAL_BUDGET, option="--budget"),
        seed=options.seed,
        transport=options.transport,
    )
    training_length = TrainingLength(seconds=seconds(options.training, option="--training"), seed=options.seed)
    recipes, foundation = _recipes(options.recipes or RUNGS), foundation_of(options.build_source)
    return LadderRequest(recipes, with_requests(question, options.requests, console), foundation, training_length, not options.no_knobs)


def _recipes(texts: tuple[str, ...]) -> tuple[Recipe, ...]:
    found = tuple(parse_recipe(text) for text in texts)
    names = [each.name for each in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is climbed twice", where="--recipe", next_step="leave one of the two out")
    return found
