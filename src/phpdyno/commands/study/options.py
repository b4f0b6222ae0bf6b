"""The command `phpdyno study` and its options."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phpdyno.commands.common.options import RUNS, AsJson, Runs, Verbose


@Parameter(name="*")
@dataclass(frozen=True)
class StudyOptions:
    """The options of the command as they were typed."""

    file: Annotated[Path | None, Parameter(parse=False)] = None
    budget: Annotated[str | None, Parameter(show_default=False, help="time for all comparisons together; default: what the file says")] = (
        None
    )
    only: Annotated[str, Parameter(show_default=False, help="one part: a comparison, an app, cpu, throughput or syscalls")] = ""
    resume: Annotated[Path | None, Parameter(help="go on with a study; finished parts are kept")] = None
    runs: Runs = RUNS
    page: Annotated[Path | None, Parameter(show_default=False, help="where the page goes; default: study.md in the study's run")] = None
    json: AsJson = False
    verbose: Verbose = False


_DEFAULTS = StudyOptions()


def study(
    file: Annotated[Path | None, Parameter(name="FILE", show_default=False, help="a study file, e.g. studies/opcache.toml")] = None,
    /,
    *,
    options: StudyOptions = _DEFAULTS,
) -> int:
    """Carry out a study file: its comparisons and syscall passes, with a page beside the reference's figures."""
    from phpdyno.commands.study import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(replace(options, file=file))
