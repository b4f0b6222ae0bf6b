"""The command `phpdyno connectors` and its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import RUNS, AsJson, Runs, Verbose

WITH = (
    "NAME=PATH, what is not ours: tarantool-php or revolt (the PHP file that loads it), pecl, swoole, parallel or msgpack (an extension), "
    "php-zts (a command-line PHP for threads)"
)


@Parameter(name="*")
@dataclass(frozen=True)
class ConnectorsOptions:
    """The options of the command as they were typed."""

    ops: Annotated[
        str, Parameter(help="operations, with commas: ping, call, eval, select, insert, … sql-select, sql-select-prepared; all")
    ] = "select"
    connectors: Annotated[str, Parameter(help="clients, with commas: own, tarantool-php, pecl; the first is the control")] = "own"
    with_: Annotated[
        tuple[str, ...],
        Parameter(name="--with", negative="", show_default=False, help=WITH),
    ] = ()
    engines: Annotated[
        str,
        Parameter(
            help="how operations are under way at once: sync, fibers (on one socket), fibers-sockets (one each), batch, window, revolt, "
            "swoole, threads"
        ),
    ] = "sync,fibers,batch,window"
    in_flight: Annotated[str, Parameter(help="so many operations in flight, with commas")] = "25,128,512"
    over: Annotated[str, Parameter(help="unix, tcp")] = "unix"
    packers: Annotated[str, Parameter(help="pure, msgpack (the extension), codec (ours, in tarantool-php/client)")] = "pure"
    processes: Annotated[str, Parameter(help="so many processes share the operations, with commas")] = "1"
    sweep: Annotated[
        bool, Parameter(negative="", show_default=False, help="1 to 512 in flight, to find the best number of each engine")
    ] = False
    study: Annotated[
        Path | None, Parameter(show_default=False, help="carry out a study file of this kind: operations and rows come from it")
    ] = None
    server: Annotated[
        Path | None, Parameter(show_default=False, help="binary of a Tarantool; default: Debian's, unpacked into the cache")
    ] = None
    php: Annotated[str, Parameter(show_default=False, help="command-line PHP; default: the newest installed")] = ""
    budget: Annotated[str, Parameter(help="time for measuring all operations together, starts and warm-up included")] = "5m"
    confidence: Annotated[str, Parameter(help="confidence of all intervals together")] = "95%"
    seed: Annotated[int, Parameter(help="orders and coins follow from it")] = 1


_DEFAULTS = ConnectorsOptions()


def connectors(
    *,
    options: ConnectorsOptions = _DEFAULTS,
    page: Annotated[
        Path | None, Parameter(show_default=False, help="with --study, --show or --resume of one: where its page is written")
    ] = None,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted run; all else comes from its record")] = None,
    show: Annotated[Path | None, Parameter(help="show a run that is there")] = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> int:
    """Hold clients of Tarantool against each other: one request at a time, pipelined, in Fibers on one socket, in batches."""
    from phpdyno.commands.connectors import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    if show is not None:
        return command.show(show, page=page, json=json, verbose=verbose)
    if resume is not None:
        return command.resume(resume, page=page, json=json, verbose=verbose)
    return command.run(options, runs=runs, page=page, json=json, verbose=verbose)
