"""The command `phpdyno compare` and its options."""

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
    KeepConn,
    RequestOptions,
    Runs,
    Through,
    Urls,
    Verbose,
)


@Parameter(name="*")
@dataclass(frozen=True)
class CompareOptions:
    """The options of the command as they were typed."""

    reference: Annotated[str, Parameter(parse=False)] = ""
    treatments: Annotated[
        tuple[str, ...],
        Parameter(
            name="--treatment",
            negative="",
            show_default=False,
            help="a SPEC to try, e.g. 'ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M'",
        ),
    ] = ()
    control: Control = ""
    aa: Annotated[bool, Parameter(negative="", show_default=False, help="add an A/A arm: the control against itself")] = False
    docroot: Docroot = None
    urls: Urls = ()
    script: Annotated[
        Path | None, Parameter(help="measure operations of a command-line script: a PHP file that returns a callable, or named ones")
    ] = None
    metric: Annotated[
        Literal["auto", "cpu", "throughput"],
        Parameter(help="auto: throughput for what changes waiting (pool, sockets, web server), else CPU time per request"),
    ] = "auto"
    margin: Annotated[
        str | None, Parameter(help="relevance margin: the smallest effect worth acting on; default: 1% of CPU, 5% of throughput")
    ] = None
    confidence: Annotated[str, Parameter(help="confidence of all intervals together")] = "95%"
    budget: Annotated[str, Parameter(help="time for measuring, starts and warm-up included")] = "5m"
    transport: Through = "http"
    concurrency: Annotated[int | None, Parameter(help="requests in flight, and workers; default: 1 for CPU, 2 per core for throughput")] = (
        None
    )
    slot: Annotated[
        int | None, Parameter(help="requests per slot; default: from the cost of a request, for throughput 20 for each in flight")
    ] = None
    keep_conn: KeepConn = False
    requests: RequestOptions = NO_REQUESTS
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1
    runs: Runs = RUNS
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted run; all else comes from its journal")] = None
    json: AsJson = False
    verbose: Verbose = False
    fail_on: Annotated[
        Literal["regression"] | None, Parameter(help="exit 3 when a treatment regressed, or saves in PHP less than it costs elsewhere")
    ] = None
    require_verdict: Annotated[
        bool, Parameter(negative="", show_default=False, help="exit 4 when a treatment is inconclusive, or has no result at all")
    ] = False
    export_csv: Annotated[Path | None, Parameter(show_default=False, help="write the verdicts as CSV, a line for each treatment")] = None
    export_markdown: Annotated[Path | None, Parameter(show_default=False, help="write the verdicts as a Markdown table")] = None
    explain: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="afterwards, outside the budget, look inside each treatment: CPU, waits, syscalls",
        ),
    ] = False


_DEFAULTS = CompareOptions()


def compare(reference: AppName = "", /, *, options: CompareOptions = _DEFAULTS) -> int:
    """Compare treatments with the control on a real stack and give one verdict each."""
    from phpdyno.commands.compare import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, reference=reference))
