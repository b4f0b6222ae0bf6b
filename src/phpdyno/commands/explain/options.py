"""The command `phpdyno explain` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from phpdyno.commands.common.options import NO_REQUESTS, RUNS, AppName, AsJson, Docroot, RequestOptions, Runs, Through, Urls, Verbose


@Parameter(name="*")
@dataclass(frozen=True)
class ExplainOptions:
    """The options of the command as they were typed."""

    reference: Annotated[str, Parameter(parse=False)] = ""
    specs: Annotated[tuple[str, ...], Parameter(parse=False)] = ()
    docroot: Docroot = None
    urls: Urls = ()
    requests: RequestOptions = NO_REQUESTS
    budget: Annotated[str, Parameter(help="time for fresh starts of the arms, four at least and eight at most")] = "40s"
    counted: Annotated[int, Parameter(name="--requests", help="requests at most that are traced at each start")] = 50
    concurrency: Annotated[int, Parameter(help="requests in flight, and workers")] = 1
    transport: Through = "http"
    seed: Annotated[int, Parameter(help="orders of targets follow from it")] = 1
    skip: Annotated[
        tuple[Literal["syscalls", "php-functions", "functions", "counters", "instructions"], ...],
        Parameter(negative="", show_default=False, help="a pass to leave out; more than once if you like (instructions take longest)"),
    ] = ()
    folded: Annotated[
        Path | None,
        Parameter(
            name="--export-folded", show_default=False, help="write stacks of PHP functions for flamegraph.pl; of two arms two files"
        ),
    ] = None
    speedscope: Annotated[Path | None, Parameter(name="--export-speedscope", show_default=False, help="the same for speedscope.app")] = None
    runs: Runs = RUNS
    json: AsJson = False
    verbose: Verbose = False


_DEFAULTS = ExplainOptions()


def explain(
    reference: AppName = "",
    /,
    *specs: Annotated[
        str, Parameter(name="SPEC", show_default=False, help="none: the app as it is; one: plain against it; two: one against the other")
    ],
    options: ExplainOptions = _DEFAULTS,
) -> int:
    """Say where a request's time goes, and what a change did inside: CPU, waits, database, syscalls, memory, functions."""
    from phpdyno.commands.explain import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    if options.docroot is not None and reference:
        # The app is named already, so that whatever follows is a SPEC.
        reference, specs = "", (reference, *specs)
    return command.run(replace(options, reference=reference, specs=specs))
