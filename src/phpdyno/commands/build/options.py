"""The command `phpdyno build` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import (
    INSTALLED,
    NO_REQUESTS,
    RECIPE,
    RUNS,
    TRAINING,
    AsJson,
    BuildSourceOptions,
    RequestOptions,
    Runs,
    Training,
)


@Parameter(name="*")
@dataclass(frozen=True)
class BuildOptions:
    """The options of the command as they were typed."""

    finished: Annotated[str, Parameter(parse=False)] = ""
    train: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="app whose traffic it is tried and trained on, built-in or app.toml; several share a profile, APP=3 weighs three times",
        ),
    ] = ()
    build_source: BuildSourceOptions = INSTALLED
    recipe: Annotated[
        str,
        Parameter(show_default=False, help=f"how it is compiled: o2, o3, march=…, lto, pgo, bolt, no-pie, joined by +; default: {RECIPE}"),
    ] = ""
    training: Training = TRAINING
    requests: RequestOptions = NO_REQUESTS
    seed: Annotated[int, Parameter(help="order of the training's requests")] = 1
    listed: Annotated[bool, Parameter(name="--list", negative="", show_default=False, help="show the finished builds")] = False
    refresh: Annotated[
        bool, Parameter(negative="", show_default=False, help="make all of them anew that do not fit the installed PHP any more")
    ] = False
    run_tests: Annotated[
        bool, Parameter(negative="", show_default=False, help="run PHP's own tests of Zend and opcache with it (minutes)")
    ] = False
    package: Annotated[
        Path | None, Parameter(show_default=False, help="write a .deb that lies beside the distribution's PHP into this directory")
    ] = None
    runs: Runs = RUNS
    json: AsJson = False


_DEFAULTS = BuildOptions()


def build(
    finished: Annotated[
        str,
        Parameter(
            name="BUILD", show_default=False, help="a finished build, by its name: with --package it is packaged, with --refresh made anew"
        ),
    ] = "",
    /,
    *,
    options: BuildOptions = _DEFAULTS,
) -> int:
    """Rebuild the installed PHP for an app, as a drop-in that loads the distribution's own extensions."""
    from phpdyno.commands.build import command  # noqa: PLC0415 (not for --help)

    return command.run(replace(options, finished=finished))
