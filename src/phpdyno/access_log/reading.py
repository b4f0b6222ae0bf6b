"""From a file to its LogSummary: its head is looked at first, then every line is counted."""

from itertools import islice
from pathlib import Path

import msgspec

from phpdyno.access_log.files import lines_of
from phpdyno.access_log.forms.decided import Decided
from phpdyno.access_log.head.census import Census
from phpdyno.access_log.head.survey import Survey
from phpdyno.access_log.hosts import bare_host
from phpdyno.access_log.log_format.given import pattern_of
from phpdyno.access_log.log_format.pattern import LinePattern
from phpdyno.access_log.reader import LogReader
from phpdyno.access_log.summary import LogSummary, is_host
from phpdyno.access_log.tally import LogTally
from phpdyno.config.app_toml import check_host
from phpdyno.errors import UsageError

DEFAULT_TARGETS = 50
_HEAD_LINES = 10_000
"""Lines in which is looked for what holds for the log as a whole."""


def read_access_log(
    path: Path, *, most_targets: int = DEFAULT_TARGETS, host: str | None = None, log_format: str | None = None
) -> LogSummary:
    """Targets, arrivals and what was left out of a log, plain or gzip, read as a stream: the memory
    does not grow with the file.

    Without `host` the most frequent one is kept; `log_format` says how lines are read that are not
    recognised. Raises UsageError: the file cannot be read, an impossible host, format or number of
    targets; two readings are possible.
    """
    if most_targets < 1:
        raise UsageError(f"{most_targets} targets cannot be kept", next_step="keep 1 or more")
    pattern = pattern_of(log_format, log=path) if log_format is not None else None
    wanted = "" if host is None else bare_host(host)
    survey = Survey(LogReader(pattern))
    for line in islice(lines_of(path), _HEAD_LINES):
        if line is not None:
            survey.add(line)
    decided, notes = survey.decided(wanted, where=str(path))
    census = Census(pattern, decided)
    for line in islice(lines_of(path), _HEAD_LINES):
        if line is not None:
            census.add(line)
    decided = census.decided()
    chosen = wanted if host is not None else census.largest()
    if chosen and not (chosen in census.hosts and "@" in chosen):
        check_host(chosen, where="host")
    tally = _counted(path, chosen, pattern, decided)
    larger = _larger(tally) if host is None else ""
    if larger:
        tally = _counted(path, larger, pattern, decided)
    notes += _several(tally) if host is None else _check_found(tally, census, path)
    summary = tally.summary(str(path), most_targets)
    return msgspec.structs.replace(summary, notes=notes, log_format=log_format or "")


def _counted(path: Path, host: str, pattern: LinePattern | None, decided: Decided) -> LogTally:
    tally = LogTally(host, reader=LogReader(pattern, decided))
    for line in lines_of(path):
        tally.add(line)
    return tally


def _larger(tally: LogTally) -> str:
    """A site that has more lines in the whole log than the one which has the most at its head."""
    found = [(count, name) for name, count in tally.hosts_left_out.items() if is_host(name) and count > tally.of_host]
    return max(found)[1] if tally.host and found else ""


def _several(tally: LogTally) -> tuple[str, ...]:
    """What to say where the log holds other sites, and none was asked for."""
    others = sum(is_host(name) or "@" in name for name in tally.hosts_left_out)
    return (
        (f"the log holds {others + 1} sites, and {tally.host} has the most lines: only its requests are taken",)
        if tally.host and others
        else ()
    )


def _check_found(tally: LogTally, census: Census, path: Path) -> tuple[str, ...]:
    """What to say of a site that was asked for. Raises UsageError where others are named, and it is
    not."""
    if not census.hosts:
        return (f"no line names a site: all are taken as those of {tally.host}",)
    if not tally.of_host:
        named = ", ".join(f"{name} ({count:,})" for name, count in tally.hosts_left_out.most_common(5))
        raise UsageError(f"no line is of the site {tally.host}", where=str(path), next_step=f"it has lines of {named}")
    return ()
