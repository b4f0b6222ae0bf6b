"""Commands and their options."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from phpdyno import __version__
from phpdyno.cli.build_app import build, ladder, matrix
from phpdyno.cli.bundle_app import bundle_app
from phpdyno.cli.cache_app import cache
from phpdyno.cli.check_app import check
from phpdyno.cli.connectors_app import connectors
from phpdyno.cli.explain_app import explain as explain_command
from phpdyno.cli.options import NO_REQUESTS, RUNS, AppName, AsJson, Control, Docroot, KeepConn, RequestOptions, Runs, Through, Urls
from phpdyno.cli.size_app import size
from phpdyno.cli.watch_app import watch
from phpdyno.config.peers import ALLOW_NETWORK, distinct, parse_peer
from phpdyno.config.values import is_utf8
from phpdyno.errors import UsageError
from phpdyno.host.network import NO_BOTTLE, allow, decline

app = App(
    name="phpdyno",
    help="A dynamometer for PHP: one command, one honest verdict per change.\n\n"
    "All that is measured runs in namespaces of its own, without the host's network and files. Where none can be made, --no-bottle with "
    "any command measures in the open. --allow-network HOST:PORT with any command, more than once if you like, lets this peer through.",
    version=__version__,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

for command in (bundle_app, build, ladder, matrix, cache, check, connectors, size, watch):
    app.command(command)
app.command(explain_command, name="explain")


@app.command
def compare(
    reference: AppName = "",
    /,
    *,
    treatment: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="a SPEC to try, e.g. 'ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M'"),
    ] = (),
    control: Control = "",
    aa: Annotated[bool, Parameter(negative="", show_default=False, help="add an A/A arm: the control against itself")] = False,
    docroot: Docroot = None,
    url: Urls = (),
    script: Annotated[
        Path | None, Parameter(help="measure operations of a command-line script: a PHP file that returns a callable, or named ones")
    ] = None,
    metric: Annotated[
        Literal["auto", "cpu", "throughput"],
        Parameter(help="auto: throughput for what changes waiting (pool, sockets, web server), else CPU time per request"),
    ] = "auto",
    margin: Annotated[
        str | None, Parameter(help="relevance margin: the smallest effect worth acting on; default: 1% of CPU, 5% of throughput")
    ] = None,
    confidence: Annotated[str, Parameter(help="confidence of all intervals together")] = "95%",
    budget: Annotated[str, Parameter(help="time for measuring, starts and warm-up included")] = "5m",
    transport: Through = "http",
    concurrency: Annotated[
        int | None, Parameter(help="requests in flight, and workers; default: 1 for CPU, 2 per core for throughput")
    ] = None,
    slot: Annotated[
        int | None, Parameter(help="requests per slot; default: from the cost of a request, for throughput 20 for each in flight")
    ] = None,
    keep_conn: KeepConn = False,
    requests: RequestOptions = NO_REQUESTS,
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted run; all else comes from its journal")] = None,
    json: AsJson = False,
    fail_on: Annotated[
        Literal["regression"] | None, Parameter(help="exit 3 when a treatment regressed, or saves in PHP less than it costs elsewhere")
    ] = None,
    require_verdict: Annotated[bool, Parameter(negative="", show_default=False, help="exit 4 when a treatment is inconclusive")] = False,
    explain: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="afterwards, outside the budget, look inside each treatment: CPU, waits, syscalls",
        ),
    ] = False,
) -> int:
    """Compare treatments with the control on a real stack and give one verdict each."""
    from phpdyno.cli import compare as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    options = command.Options(
        reference=reference,
        treatments=treatment,
        control=control,
        aa=aa,
        docroot=docroot,
        urls=url,
        script=script,
        metric=metric,
        margin=margin,
        confidence=confidence,
        budget=budget,
        transport=transport,
        concurrency=concurrency,
        slot=slot,
        seed=seed,
        runs=runs,
        resume=resume,
        json=json,
        fail_on=fail_on,
        require_verdict=require_verdict,
        requests=requests,
        keep_conn=keep_conn,
        explain=explain,
    )
    return command.run(options)


@app.command
def measure(
    reference: AppName = "",
    /,
    *,
    control: Control = "",
    arm: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="another SPEC to sweep in the same rounds; more than once if you like"),
    ] = (),
    docroot: Docroot = None,
    url: Urls = (),
    transport: Through = "http",
    concurrency: Annotated[
        str, Parameter(help="requests in flight, one visit each per round, joined by commas")
    ] = "1,3,5,10,20,30,40,50,100",
    open_share: Annotated[
        str, Parameter(negative="", help="offered rate of the open loop as a share of the throughput at which the closed ones saturate")
    ] = "70%",
    no_open: Annotated[bool, Parameter(negative="", show_default=False, help="closed loops only")] = False,
    arrivals: Annotated[
        Literal["poisson", "constant", "ramp", "burst"],
        Parameter(help="how requests of the open loop follow each other; the mean rate is the same"),
    ] = "poisson",
    keep_conn: KeepConn = False,
    budget: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="time for measuring, starts and warm-up included; default: 5m, or what three rounds need, 20m at most",
        ),
    ] = None,
    confidence: Annotated[str, Parameter(help="confidence of each interval by itself")] = "95%",
    seed: Annotated[int, Parameter(help="orders, arrivals and targets follow from it")] = 1,
    requests: RequestOptions = NO_REQUESTS,
    cross_check: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="let ab -k and wrk, where they are installed, load the same instances as well"),
    ] = False,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted sweep; all else comes from its record")] = None,
    json: AsJson = False,
) -> int:
    """Measure throughput, times, CPU and memory as more is asked of an app, and say what limits it."""
    from phpdyno.cli import measure as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    options = command.Options(
        reference=reference,
        control=control,
        docroot=docroot,
        urls=url,
        transport=transport,
        concurrency=concurrency,
        open_share=None if no_open else open_share,
        arrivals=arrivals,
        budget=budget,
        confidence=confidence,
        seed=seed,
        requests=requests,
        cross_check=cross_check,
        keep_conn=keep_conn,
        runs=runs,
        resume=resume,
        json=json,
        arms=arm,
    )
    return command.run(options)


@app.command
def tune(
    reference: AppName = "",
    /,
    *,
    control: Control = "",
    docroot: Docroot = None,
    url: Urls = (),
    goal: Annotated[
        Literal["cpu", "throughput", "p99", "memory"],
        Parameter(help="cpu: CPU time per request; throughput and p99 under load; memory: of a worker"),
    ] = "cpu",
    knob: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="a knob to look at, NAME or NAME=VALUE; default: the whole catalogue"),
    ] = (),
    with_builds: Annotated[
        bool, Parameter(negative="", show_default=False, help="try the builds in the cache that stand in for the control's PHP as well")
    ] = False,
    margin: Annotated[
        str | None, Parameter(help="relevance margin: the smallest effect worth acting on; default: 1% of CPU and memory, 5% under load")
    ] = None,
    confidence: Annotated[str, Parameter(help="confidence of all intervals of a stage together")] = "95%",
    budget: Annotated[str, Parameter(help="time for all of it, starts and warm-up included")] = "15m",
    transport: Through = "http",
    concurrency: Annotated[
        int | None, Parameter(help="requests in flight, and workers, where throughput is measured; default: 2 per core")
    ] = None,
    requests: RequestOptions = NO_REQUESTS,
    seed: Annotated[int, Parameter(help="designs, orders, coins and targets follow from it")] = 1,
    runs: Runs = RUNS,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted tune; all else comes from its record")] = None,
    json: AsJson = False,
    explain: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="afterwards, outside the budget, look inside what was found: CPU, waits, syscalls",
        ),
    ] = False,
) -> int:
    """Find the changes that make an app better, prove them together and one by one, and write a bundle that can be deployed."""
    from phpdyno.cli import tune as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    options = command.Options(
        reference=reference,
        control=control,
        docroot=docroot,
        urls=url,
        goal=goal,
        knobs=knob,
        margin=margin,
        confidence=confidence,
        budget=budget,
        transport=transport,
        concurrency=concurrency,
        seed=seed,
        requests=requests,
        runs=runs,
        resume=resume,
        json=json,
        with_builds=with_builds,
        explain=explain,
    )
    return command.run(options)


@app.command
def report(
    run: Annotated[Path, Parameter(name="RUN", help="the directory of a run, runs/…")],
    /,
    *,
    json: AsJson = False,
) -> int:
    """Rebuild the reports of a comparison, a sweep, a tune, a ladder, a matrix or an explanation from its journal alone."""
    from phpdyno.cli import show  # noqa: PLC0415 (numpy: not for --help)

    show.report_any(run, json=json)
    return 0


@app.command
def doctor(
    *,
    app: Annotated[str, Parameter(name="--app", help="what the estimate measures: a built-in app or an app.toml")] = "hello",
    estimate: Annotated[
        bool, Parameter(negative="--no-estimate", help="measure what this host can decide; --no-estimate only looks")
    ] = True,
    runs: Runs = RUNS,
    seed: Annotated[int, Parameter(help="orders and targets of the estimate follow from it")] = 1,
    json: AsJson = False,
) -> int:
    """Say what this host can and cannot measure, and how to fix it. Changes nothing."""
    from phpdyno.cli import doctor as command  # noqa: PLC0415 (not for --help)

    return command.run(app, runs, estimate=estimate, seed=seed, json=json)


@app.command
def study(
    file: Annotated[Path | None, Parameter(name="FILE", show_default=False, help="a study file, e.g. studies/opcache.toml")] = None,
    /,
    *,
    budget: Annotated[
        str | None, Parameter(show_default=False, help="time for all comparisons together; default: what the file says")
    ] = None,
    only: Annotated[str, Parameter(show_default=False, help="one part: a comparison, an app, cpu, throughput or syscalls")] = "",
    resume: Annotated[Path | None, Parameter(help="go on with a study; finished parts are kept")] = None,
    runs: Runs = RUNS,
    page: Annotated[Path | None, Parameter(show_default=False, help="where the page goes; default: study.md in the study's run")] = None,
    json: AsJson = False,
) -> int:
    """Carry out a study file: its comparisons and syscall passes, with a page beside the reference's figures."""
    from phpdyno.cli import study as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(command.Options(file=file, budget=budget, only=only, resume=resume, runs=runs, page=page, json=json))


@app.command
def selfcheck(
    *,
    quick: Annotated[bool, Parameter(negative="", show_default=False, help="a handful of comparisons, some five minutes")] = False,
    comparisons: Annotated[
        int | None, Parameter(show_default=False, help="A/A comparisons, and as many with a planted effect; default: 200, about 75 minutes")
    ] = None,
    effect: Annotated[str | None, Parameter(show_default=False, help="size of the planted effect; default: 1%")] = None,
    seed: Annotated[int | None, Parameter(show_default=False, help="order, coins and seeds of all comparisons; default: 1")] = None,
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted selfcheck; finished comparisons count")] = None,
    runs: Runs = RUNS,
    json: AsJson = False,
) -> int:
    """Make comparisons whose answer is known beforehand and count how often the answer was right."""
    from phpdyno.cli import selfcheck as command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(command.Options(quick=quick, comparisons=comparisons, effect=effect, seed=seed, resume=resume, runs=runs, json=json))


def run(argv: list[str]) -> int:
    """Parse and carry out. Raises UsageError for a command line that cannot be parsed, or that no journal could hold."""
    for argument in argv:
        if not is_utf8(argument):
            raise UsageError("an argument is not UTF-8 text", where=argument, next_step="a path can be named through a link")
    if NO_BOTTLE in argv:
        decline()
        argv = [argument for argument in argv if argument != NO_BOTTLE]
    argv = _with_peers_allowed(argv)
    try:
        result = app(argv, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(" ".join(str(error).split()), next_step="see phpdyno --help") from error
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _with_peers_allowed(argv: list[str]) -> list[str]:
    """The arguments without the peers that they let through. Raises UsageError."""
    rest, peers, given = [], [], iter(argv)
    for argument in given:
        name, equals, value = argument.partition("=")
        if name != ALLOW_NETWORK:
            rest.append(argument)
            continue
        value = value if equals else next(given, "")
        where = f"{ALLOW_NETWORK} {value}".rstrip()
        if not value or value.startswith("--"):
            raise UsageError("no peer is named", where=where, next_step=f"write {ALLOW_NETWORK} HOST:PORT")
        peers.append(parse_peer(value, where=where))
    if peers:
        allow(distinct(peers, where=ALLOW_NETWORK))
    return rest
