"""The command `phpdyno report` and its options."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import AsJson, Verbose


def report(
    run: Annotated[Path, Parameter(name="RUN", help="the directory of a run, runs/…")],
    /,
    *,
    json: AsJson = False,
    verbose: Verbose = False,
) -> int:
    """Rebuild the reports of a comparison, a sweep, a tune, a ladder, a matrix or an explanation from its journal alone."""
    from phpdyno.commands.report.command import report_any  # noqa: PLC0415 (numpy: not for --help)

    report_any(run, json=json, verbose=verbose)
    return 0
