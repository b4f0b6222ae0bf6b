"""The command `phpdyno doctor` and its options."""

from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import RUNS, AsJson, Runs, Verbose


def doctor(
    *,
    app: Annotated[str, Parameter(name="--app", help="what the estimate measures: a built-in app or an app.toml")] = "hello",
    estimate: Annotated[
        bool, Parameter(negative="--no-estimate", help="measure what this host can decide; --no-estimate only looks")
    ] = True,
    runs: Runs = RUNS,
    seed: Annotated[int, Parameter(help="orders and targets of the estimate follow from it")] = 1,
    json: AsJson = False,
    verbose: Verbose = False,
) -> int:
    """Say what this host can and cannot measure, and how to fix it. Changes nothing."""
    from phpdyno.commands.doctor import command  # noqa: PLC0415 (not for --help)

    return command.run(app, runs, estimate=estimate, seed=seed, json=json, verbose=verbose)
