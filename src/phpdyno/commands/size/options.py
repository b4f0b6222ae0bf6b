"""The command `phpdyno size` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

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

BUDGET, CONFIDENCE = "5m", "95%"


@Parameter(name="*")
@dataclass(frozen=True)
class SizeOptions:
    """The options of the command as they were typed."""

    reference: Annotated[str, Parameter(parse=False)] = ""
    p99: Annotated[
        str | None, Parameter(show_default=False, help="objective: 99 % of the answers come within this time, e.g. 200ms; needs a rate")
    ] = None
    rate: Annotated[
        str | None,
        Parameter(show_default=False, help="requests that arrive, e.g. 50/s or 3000/min; default: the busiest minute of --from-log"),
    ] = None
    memory: Annotated[
        str | None, Parameter(show_default=False, help="memory for this pool, e.g. 512M; default: the cgroup's limit or the host's memory")
    ] = None
    others: Annotated[str | None, Parameter(show_default=False, help="memory that other pools and servers may take of that, e.g. 2G")] = (
        None
    )
    cores: Annotated[int | None, Parameter(show_default=False, help="cores that php-fpm has; default: three of four")] = None
    process_max: Annotated[int | None, Parameter(show_default=False, help="php-fpm's process.max, over all pools")] = None
    max_connections: Annotated[
        int | None, Parameter(show_default=False, help="the database's max_connections; default: that of the private one")
    ] = None
    most: Annotated[int, Parameter(help="the most workers to try")] = 400
    control: Control = ""
    docroot: Docroot = None
    urls: Urls = ()
    transport: Through = "http"
    budget: Annotated[str, Parameter(help="time for measuring, starts and warm-up included")] = BUDGET
    confidence: Annotated[str, Parameter(help="confidence of each interval by itself")] = CONFIDENCE
    managers: Annotated[
        bool, Parameter(show_default=False, help="try static, dynamic and ondemand through idle, burst and idle; default: yes")
    ] = True
    seed: Annotated[int, Parameter(help="orders, arrivals and targets follow from it")] = 1


_DEFAULTS = SizeOptions()


def size(
    reference: AppName = "",
    /,
    *,
    options: SizeOptions = _DEFAULTS,
    requests: RequestOptions = NO_REQUESTS,
    study: Annotated[
        Path | None, Parameter(show_default=False, help="carry out a study file of this kind: the apps and budgets come from it")
    ] = None,
    page: Annotated[Path | None, Parameter(show_default=False, help="with --study: where its page is written")] = None,
    reuse: Annotated[
        tuple[Path, ...],
        Parameter(negative="", show_default=False, help="with --study: a finished run that stands for its app instead of a new one"),
    ] = (),
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted run; all else comes from its record")] = None,
    json: AsJson = False,
    verbose: Verbose = False,
) -> int:
    """Find how many workers a pool needs: throughput and memory measured, response times predicted, the answer confirmed."""
    from phpdyno.commands.common.show import form_of  # noqa: PLC0415 (rich: not for --help)
    from phpdyno.commands.size import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    options = replace(options, reference=reference)
    if study is not None:
        return command.run_study(study, options, page=page, reuse=reuse, runs=runs)
    return command.run(options, requests=requests, runs=runs, resume=resume, form=form_of(json=json, verbose=verbose))
