"""The command `phpdyno tune` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from phpdyno.commands.common.options import (
    NO_REQUESTS,
    RUNS,
    AppName,
    AsJson,
    Control,
    Docroot,
    RequestOptions,
    Runs,
    Through,
    Urls,
    Verbose,
)


@Parameter(name="*")
@dataclass(frozen=True)
class TuneOptions:
    """The options of the command as they were typed."""

    reference: Annotated[str, Parameter(parse=False)] = ""
    control: Control = ""
    docroot: Docroot = None
    urls: Urls = ()
    goal: Annotated[
        Literal["cpu", "throughput", "p99", "memory"],
        Parameter(help="cpu: CPU time per request; throughput and p99 under load; memory: of a worker"),
    ] = "cpu"
    knobs: Annotated[
        tuple[str, ...],
        Parameter(
            name="--knob", negative="", show_default=False, help="a knob to look at, NAME or NAME=VALUE; default: the whole catalogue"
        ),
    ] = ()
    with_builds: Annotated[
        bool, Parameter(negative="", show_default=False, help="try the builds in the cache that stand in for the control's PHP as well")
    ] = False
    margin: Annotated[
        str | None, Parameter(help="relevance margin: the smallest effect worth acting on; default: 1% of CPU and memory, 5% under load")
    ] = None
    confidence: Annotated[str, Parameter(help="confidence of all intervals of a stage together")] = "95%"
    budget: Annotated[str, Parameter(help="time for all of it, starts and warm-up included")] = "15m"
    transport: Through = "http"
    concurrency: Annotated[
        int | None, Parameter(help="requests in flight, and workers, where throughput is measured; default: 2 per core")
    ] = None
    requests: RequestOptions = NO_REQUESTS
    seed: Annotated[int, Parameter(help="designs, orders, coins and targets follow from it")] = 1
    runs: Runs = RUNS
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted tune; all else comes from its record")] = None
    json: AsJson = False
    verbose: Verbose = False
    explain: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="afterwards, outside the budget, look inside what was found: CPU, waits, syscalls",
        ),
    ] = False


_DEFAULTS = TuneOptions()


def tune(reference: AppName = "", /, *, options: TuneOptions = _DEFAULTS) -> int:
    """Find the changes that make an app better, prove them together and one by one, and write a bundle that can be deployed."""
    from phpdyno.commands.tune import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, reference=reference))
