"""The command `phpdyno selfcheck` and its options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import RUNS, AsJson, Runs, Verbose


@Parameter(name="*")
@dataclass(frozen=True)
class SelfcheckOptions:
    """The options of the command as they were typed."""

    quick: Annotated[bool, Parameter(negative="", show_default=False, help="a handful of comparisons, some five minutes")] = False
    comparisons: Annotated[
        int | None, Parameter(show_default=False, help="A/A comparisons, and as many with a planted effect; default: 200, about 75 minutes")
    ] = None
    effect: Annotated[str | None, Parameter(show_default=False, help="size of the planted effect; default: 1%")] = None
    seed: Annotated[int | None, Parameter(show_default=False, help="order, coins and seeds of all comparisons; default: 1")] = None
    resume: Annotated[Path | None, Parameter(help="go on with an interrupted selfcheck; finished comparisons count")] = None
    runs: Runs = RUNS
    json: AsJson = False
    verbose: Verbose = False


_DEFAULTS = SelfcheckOptions()


def selfcheck(*, options: SelfcheckOptions = _DEFAULTS) -> int:
    """Make comparisons whose answer is known beforehand and count how often the answer was right."""
    from phpdyno.commands.selfcheck import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(options)
