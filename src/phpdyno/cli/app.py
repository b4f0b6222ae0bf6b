"""Commands and their options."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from phpdyno import __version__
from phpdyno.errors import UsageError

app = App(
    name="phpdyno",
    help="A dynamometer for PHP: one command, one honest verdict per change.",
    version=__version__,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)


@app.command
def compare(
    reference: Annotated[str, Parameter(name="APP", show_default=False, help="hello, wordpress, or the path of an app.toml")] = "",
    /,
    *,
    treatment: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="a SPEC to try, e.g. 'ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M'"),
    ] = (),
    control: Annotated[str, Parameter(show_default=False, help="a SPEC on top of the distribution's own settings")] = "",
    aa: Annotated[bool, Parameter(negative="", show_default=False, help="add an A/A arm: the control against itself")] = False,
    docroot: Annotated[Path | None, Parameter(help="an app of your own: its document root (measured on a copy)")] = None,
    url: Annotated[
        tuple[str, ...], Parameter(negative="", show_default=False, help="with --docroot: a path to ask for; more than once if you like")
    ] = (),
    metric: Annotated[Literal["cpu"], Parameter(show_choices=False, help="cpu: CPU time of php-fpm per request")] = "cpu",
    margin: Annotated[str, Parameter(help="relevance margin: the smallest effect worth acting on")] = "1%",
    confidence: Annotated[str, Parameter(help="confidence of all intervals together")] = "95%",
    budget: Annotated[str, Parameter(help="time for measuring, starts and warm-up included")] = "5m",
    transport: Annotated[Literal["http", "fastcgi"], Parameter(help="http: through nginx; fastcgi: straight to php-fpm")] = "http",
    concurrency: Annotated[int, Parameter(help="requests in flight, and workers")] = 1,
    slot: Annotated[int | None, Parameter(help="requests per slot; default: from the cost of a request")] = None,
    seed: Annotated[int, Parameter(help="orders, coins and targets follow from it")] = 1,
    runs: Annotated[Path, Parameter(help="where runs are kept")] = Path("runs"),
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted run; all else comes from its journal")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False, help="print the result as JSON")] = False,
    fail_on: Annotated[Literal["regression"] | None, Parameter(help="exit 3 when a treatment regressed")] = None,
    require_verdict: Annotated[bool, Parameter(negative="", show_default=False, help="exit 4 when a treatment is inconclusive")] = False,
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
    )
    return command.run(options)


@app.command
def report(
    run: Annotated[Path, Parameter(name="RUN", help="the directory of a run, runs/…")],
    /,
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False, help="print the result as JSON")] = False,
) -> int:
    """Rebuild the reports of a run from its journal alone."""
    from phpdyno.cli import show  # noqa: PLC0415 (numpy: not for --help)

    show.report(run, json=json)
    return 0


def run(argv: list[str]) -> int:
    """Parse and carry out. Raises UsageError for a command line that cannot be parsed."""
    try:
        result = app(argv, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(" ".join(str(error).split()), next_step="see phpdyno --help") from error
    sys.stdout.flush()
    return result if isinstance(result, int) else 0
