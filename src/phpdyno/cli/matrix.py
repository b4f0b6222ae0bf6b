"""`phpdyno matrix`: options checked, built, measured, shown."""

import sys
from pathlib import Path

from msgspec import Struct
from rich.console import Console

from phpdyno.build.training import Course
from phpdyno.cli import show
from phpdyno.cli.build import foundation_of, trainees_of
from phpdyno.cli.live import LiveProgress
from phpdyno.cli.options import GroundOptions
from phpdyno.cli.units import checked_seed, fraction, seconds
from phpdyno.config.recipe import parse_recipe
from phpdyno.workflows.matrix import Wish, matrix, resume_matrix


class Options(Struct, frozen=True):
    """The options of the command as they were typed."""

    apps: tuple[str, ...]
    ground: GroundOptions
    recipe: str
    training: str
    margin: str
    confidence: str
    budget: str
    seed: int
    runs: Path
    resume: Path | None
    json: bool


def run(options: Options) -> int:
    """Carry out the command."""
    argv = tuple(sys.argv[1:])
    console = Console(stderr=True)
    if options.resume is not None:
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = resume_matrix(options.resume.absolute(), argv=argv, progress=progress)
    else:
        wish = wish_of(options)
        with LiveProgress(console, quiet=options.json, notes="") as progress:
            directory = matrix(wish, runs=options.runs.absolute(), argv=argv, progress=progress)
    show.report_matrix(directory, json=options.json)
    return 0


def wish_of(options: Options) -> Wish:
    """What is asked. Raises UsageError."""
    checked_seed(options.seed)
    return Wish(
        trainees=trainees_of(options.apps, where="phpdyno matrix"),
        recipe=parse_recipe(options.recipe),
        foundation=foundation_of(options.ground),
        course=Course(seconds=seconds(options.training, option="--training"), seed=options.seed),
        margin=fraction(options.margin, option="--margin", least=0.0, most=1.0),
        confidence=fraction(options.confidence, option="--confidence", least=0.5, most=0.9999),
        budget_s=seconds(options.budget, option="--budget"),
        seed=options.seed,
    )
