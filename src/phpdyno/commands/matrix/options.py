"""The command `phpdyno matrix` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import INSTALLED, RECIPE, RUNS, TRAINING, AsJson, BuildSourceOptions, Runs, Training, Verbose


@Parameter(name="*")
@dataclass(frozen=True)
class MatrixOptions:
    """The options of the command as they were typed."""

    apps: Annotated[tuple[str, ...], Parameter(parse=False)] = ()
    build_source: BuildSourceOptions = INSTALLED
    recipe: Annotated[str, Parameter(help="a recipe with pgo or bolt")] = RECIPE
    training: Training = TRAINING
    margin: Annotated[str, Parameter(help="relevance margin: the smallest difference that matters")] = "1%"
    confidence: Annotated[str, Parameter(help="confidence of all intervals of the matrix together")] = "95%"
    budget: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="time for measuring each app, when everything is built; default: 10m; with --resume: of apps not begun",
        ),
    ] = None
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1
    runs: Runs = RUNS
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted matrix; all else but --budget comes from its record")] = None
    json: AsJson = False
    verbose: Verbose = False


_DEFAULTS = MatrixOptions()


def matrix(
    *apps: Annotated[
        str, Parameter(name="APP", show_default=False, help="apps to train on and to measure; APP=3 weighs three times as much")
    ],
    options: MatrixOptions = _DEFAULTS,
) -> int:
    """Train a build on each app and one on all together, and measure each build on every app: where profiles help, where they hurt."""
    from phpdyno.commands.matrix import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, apps=apps))
