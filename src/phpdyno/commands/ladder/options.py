"""The command `phpdyno ladder` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import (
    INSTALLED,
    NO_REQUESTS,
    RUNS,
    TRAINING,
    AppName,
    AsJson,
    BuildSourceOptions,
    RequestOptions,
    Runs,
    Through,
    Training,
    Verbose,
)


@Parameter(name="*")
@dataclass(frozen=True)
class LadderOptions:
    """The options of the command as they were typed."""

    reference: Annotated[str, Parameter(parse=False)] = ""
    build_source: BuildSourceOptions = INSTALLED
    recipes: Annotated[
        tuple[str, ...],
        Parameter(
            name="--recipe",
            negative="",
            show_default=False,
            help="a recipe to climb by; default: o2, o3, march=native, lto, pgo, pgo+lto, o3+pgo, pgo+bolt",
        ),
    ] = ()
    no_knobs: Annotated[
        bool, Parameter(negative="", show_default=False, help="builds only: no huge pages, no JIT and no preloading on top of the best one")
    ] = False
    training: Training = TRAINING
    margin: Annotated[str, Parameter(help="relevance margin: the smallest step worth taking")] = "1%"
    confidence: Annotated[str, Parameter(help="confidence of all intervals together")] = "95%"
    budget: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="time for measuring, when everything is built; default: 15m; with --resume: of what goes on top, if that has not begun",
        ),
    ] = None
    transport: Through = "http"
    requests: RequestOptions = NO_REQUESTS
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1
    runs: Runs = RUNS
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted ladder; all else but --budget comes from its record")] = None
    json: AsJson = False
    verbose: Verbose = False


_DEFAULTS = LadderOptions()


def ladder(reference: AppName = "", /, *, options: LadderOptions = _DEFAULTS) -> int:
    """Climb from the installed PHP to the best build of it for an app, with a verdict on each step."""
    from phpdyno.commands.ladder import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, reference=reference))
