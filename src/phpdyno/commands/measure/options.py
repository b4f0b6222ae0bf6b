"""The command `phpdyno measure` and its options."""

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
class MeasureOptions:
    """The options of the command as they were typed."""

    reference: Annotated[str, Parameter(parse=False)] = ""
    control: Control = ""
    arms: Annotated[
        tuple[str, ...],
        Parameter(
            name="--arm", negative="", show_default=False, help="another SPEC to sweep in the same rounds; more than once if you like"
        ),
    ] = ()
    docroot: Docroot = None
    urls: Urls = ()
    transport: Through = "http"
    concurrency: Annotated[str, Parameter(help="requests in flight, one visit each per round, joined by commas")] = (
        "1,3,5,10,20,30,40,50,100"
    )
    open_share: Annotated[
        str, Parameter(negative="", help="offered rate of the open loop as a share of the throughput at which the closed ones saturate")
    ] = "70%"
    no_open: Annotated[bool, Parameter(negative="", show_default=False, help="closed loops only")] = False
    arrivals: Annotated[
        Literal["poisson", "constant", "ramp", "burst"],
        Parameter(help="how requests of the open loop follow each other; the mean rate is the same"),
    ] = "poisson"
    keep_conn: KeepConn = False
    budget: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="time for measuring, starts and warm-up included; default: 5m, or what three rounds need, 20m at most",
        ),
    ] = None
    confidence: Annotated[str, Parameter(help="confidence of each interval by itself")] = "95%"
    seed: Annotated[int, Parameter(help="orders, arrivals and targets follow from it")] = 1
    requests: RequestOptions = NO_REQUESTS
    cross_check: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="let ab -k and wrk, where they are installed, load the same instances as well"),
    ] = False
    runs: Runs = RUNS
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted sweep; all else comes from its record")] = None
    json: AsJson = False
    verbose: Verbose = False

    @property
    def asked_share(self) -> str | None:
        """The share of the open loop; None without one."""
        return None if self.no_open else self.open_share


_DEFAULTS = MeasureOptions()


def measure(reference: AppName = "", /, *, options: MeasureOptions = _DEFAULTS) -> int:
    """Measure throughput, times, CPU and memory as more is asked of an app, and say what limits it."""
    from phpdyno.commands.measure import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, reference=reference))
