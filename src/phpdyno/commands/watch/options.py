"""The command `phpdyno watch` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import AsJson


@Parameter(name="*")
@dataclass(frozen=True)
class WatchOptions:
    """The options of the command as they were typed."""

    pool: Annotated[str, Parameter(parse=False)] = ""
    ask: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="where nothing else tells, ask the pool's own socket: that takes a worker of it"),
    ] = False
    interval: Annotated[str, Parameter(help="how long each line is over")] = "1s"
    lasting: Annotated[str | None, Parameter(name="--for", help="how long; default: until Ctrl-C")] = None
    record: Annotated[Path | None, Parameter(help="write all that is seen to a file too, as lines of JSON")] = None
    replay: Annotated[Path | None, Parameter(help="show the summary of such a file instead")] = None
    serve: Annotated[
        str | None,
        Parameter(help="[ADDRESS:]PORT: metrics for Prometheus at /metrics, a page at /; on loopback where no address is named"),
    ] = None
    json: AsJson = False


_DEFAULTS = WatchOptions()


def watch(
    pool: Annotated[str, Parameter(name="POOL", show_default=False, help="a pool's name, or PID:NAME; default: all that run")] = "",
    /,
    *,
    options: WatchOptions = _DEFAULTS,
) -> int:
    """Observe running php-fpm pools, without a request and without changing anything: what limits them, how many workers fit."""
    from phpdyno.commands.watch import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, pool=pool))
