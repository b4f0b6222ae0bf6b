"""The commands that make builds of PHP and measure them, and their options."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.cli.options import (
    INSTALLED,
    NO_REQUESTS,
    RECIPE,
    RUNS,
    TRAINING,
    AppName,
    AsJson,
    GroundOptions,
    RequestOptions,
    Runs,
    Through,
)

Training = Annotated[str, Parameter(help="how long traffic trains a build")]


def build(
    finished: Annotated[
        str,
        Parameter(
            name="BUILD", show_default=False, help="a finished build, by its name: with --package it is packaged, with --refresh made anew"
        ),
    ] = "",
    /,
    *,
    train: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="app whose traffic it is tried and trained on, built-in or app.toml; several share a profile, APP=3 weighs three times",
        ),
    ] = (),
    ground: GroundOptions = INSTALLED,
    recipe: Annotated[
        str,
        Parameter(show_default=False, help=f"how it is compiled: o2, o3, march=…, lto, pgo, bolt, no-pie, joined by +; default: {RECIPE}"),
    ] = "",
    training: Training = TRAINING,
    requests: RequestOptions = NO_REQUESTS,
    seed: Annotated[int, Parameter(help="order of the training's requests")] = 1,
    list_: Annotated[bool, Parameter(name="--list", negative="", show_default=False, help="show the finished builds")] = False,
    refresh: Annotated[
        bool, Parameter(negative="", show_default=False, help="make all of them anew that do not fit the installed PHP any more")
    ] = False,
    run_tests: Annotated[
        bool, Parameter(negative="", show_default=False, help="run PHP's own tests of Zend and opcache with it (minutes)")
    ] = False,
    package: Annotated[
        Path | None, Parameter(show_default=False, help="write a .deb that lies beside the distribution's PHP into this directory")
    ] = None,
    runs: Runs = RUNS,
    json: AsJson = False,
) -> int:
    """Rebuild the installed PHP for an app, as a drop-in that loads the distribution's own extensions."""
    from phpdyno.cli import build as command  # noqa: PLC0415 (not for --help)

    options = command.Options(
        finished=finished,
        train=train,
        requests=requests,
        ground=ground,
        recipe=recipe,
        training=training,
        seed=seed,
        runs=runs,
        listed=list_,
        refresh=refresh,
        package=package,
        run_tests=run_tests,
        json=json,
    )
    return command.run(options)


def ladder(
    reference: AppName = "",
    /,
    *,
    ground: GroundOptions = INSTALLED,
    recipe: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", show_default=False, help="a recipe to climb by; default: o2, o3, march=native, lto, pgo, pgo+lto, o3+pgo, pgo+bolt"
        ),
    ] = (),
    no_knobs: Annotated[
        bool, Parameter(negative="", show_default=False, help="builds only: no huge pages, no JIT and no preloading on top of the best one")
    ] = False,
    training: Training = TRAINING,
    margin: Annotated[str, Parameter(help="relevance margin: the smallest step worth taking")] = "1%",
    confidence: Annotated[str, Parameter(help="confidence of all intervals together")] = "95%",
    budget: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="time for measuring, when everything is built; default: 15m; with --resume: of what goes on top, if that has not begun",
        ),
    ] = None,
    transport: Through = "http",
    requests: RequestOptions = NO_REQUESTS,
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted ladder; all else but --budget comes from its record")] = None,
    json: AsJson = False,
) -> int:
    """Climb from the installed PHP to the best build of it for an app, with a verdict on each step."""
    from phpdyno.cli import ladder as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    options = command.Options(
        reference=reference,
        requests=requests,
        ground=ground,
        recipes=recipe,
        knobs=not no_knobs,
        training=training,
        margin=margin,
        confidence=confidence,
        budget=budget,
        transport=transport,
        seed=seed,
        runs=runs,
        resume=resume,
        json=json,
    )
    return command.run(options)


def matrix(
    *apps: Annotated[
        str, Parameter(name="APP", show_default=False, help="apps to train on and to measure; APP=3 weighs three times as much")
    ],
    ground: GroundOptions = INSTALLED,
    recipe: Annotated[str, Parameter(help="a recipe with pgo or bolt")] = RECIPE,
    training: Training = TRAINING,
    margin: Annotated[str, Parameter(help="relevance margin: the smallest difference that matters")] = "1%",
    confidence: Annotated[str, Parameter(help="confidence of all intervals of the matrix together")] = "95%",
    budget: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="time for measuring each app, when everything is built; default: 10m; with --resume: of apps not begun",
        ),
    ] = None,
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted matrix; all else but --budget comes from its record")] = None,
    json: AsJson = False,
) -> int:
    """Train a build on each app and one on all together, and measure each build on every app: where profiles help, where they hurt."""
    from phpdyno.cli import matrix as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    options = command.Options(
        apps=apps,
        ground=ground,
        recipe=recipe,
        training=training,
        margin=margin,
        confidence=confidence,
        budget=budget,
        seed=seed,
        runs=runs,
        resume=resume,
        json=json,
    )
    return command.run(options)
