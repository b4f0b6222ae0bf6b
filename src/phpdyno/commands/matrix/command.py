"""`phpdyno matrix`: options checked, built, measured, shown."""

import sys

from rich.console import Console

from phpdyno.commands.build.command import foundation_of, trainees_of
from phpdyno.commands.common.endings import ended
from phpdyno.commands.common.live import LiveProgress
from phpdyno.commands.common.show import form_of
from phpdyno.commands.common.units import checked_seed, fraction, optional_seconds, seconds
from phpdyno.commands.matrix.options import MatrixOptions
from phpdyno.commands.matrix.run import MatrixRequest, matrix, resume_matrix
from phpdyno.commands.matrix.show import report_matrix
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.php_build.train.training import TrainingLength

USUAL_BUDGET = "10m"


def run(options: MatrixOptions) -> int:
    """Carry out the command; 1 when a comparison is missing."""
    argv = tuple(sys.argv[1:])
    console = Console(stderr=True)
    if options.resume is not None:
        if options.apps:
            what = "a matrix that is resumed keeps its apps"
            raise UsageError(what, where=f"--resume with {options.apps[0]}", next_step="leave it out, or start a new matrix")
        budget_s = optional_seconds(options.budget, option="--budget")
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = resume_matrix(options.resume.absolute(), argv=argv, progress=progress, budget_s=budget_s)
    else:
        wish = wish_of(options)
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = matrix(wish, runs=options.runs.absolute(), argv=argv, progress=progress)
    return ended(report_matrix(directory, form=form_of(json=options.json, verbose=options.verbose)).outcome, "matrix", directory, console)


def wish_of(options: MatrixOptions) -> MatrixRequest:
    """What is asked. Raises UsageError."""
    checked_seed(options.seed)
    return MatrixRequest(
        trainees=trainees_of(options.apps, where="phpdyno matrix"),
        recipe=parse_recipe(options.recipe),
        foundation=foundation_of(options.build_source),
        training_length=TrainingLength(seconds=seconds(options.training, option="--training"), seed=options.seed),
        margin=fraction(options.margin, option="--margin", least=0.0, most=1.0),
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        budget_s=seconds(options.budget or USUAL_BUDGET, option="--budget"),
        seed=options.seed,
    )
