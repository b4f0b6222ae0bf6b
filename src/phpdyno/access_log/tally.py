"""A log's lines counted as they stream by: from a file to its LogSummary."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import get_args

import msgspec

from phpdyno.access_log.clock import LogClock
from phpdyno.access_log.files import lines_of
from phpdyno.access_log.frequent import MOST_TARGETS, Frequent
from phpdyno.access_log.lines import Hit, bare_host, parse_line
from phpdyno.access_log.summary import LinesLeftOut, LogSummary, LogTarget, Reason
from phpdyno.access_log.targets import Clean, clean_target, split_absolute
from phpdyno.config.app_toml import check_host
from phpdyno.errors import UsageError
from phpdyno.stats.arrivals import HOUR_S, arrival_of, peak_second

DEFAULT_TARGETS = 50
_HEAD_LINES = 10_000
"""Lines in which the most frequent host is looked for when none is given."""
_MOST_PARTS = 200
_SHOWN_PARTS = 5
_OTHERS = "others"
_WHOLE = {206: 200, 304: 200}
"""A part, or nothing because the client had it: asked without conditions, both are answered 200."""


def read_access_log(path: Path, *, most_targets: int = DEFAULT_TARGETS, host: str | None = None) -> LogSummary:
    """Targets, arrivals and what was left out of a log, plain or gzip, read as a stream: the memory
    does not grow with the file.

    Without `host` the most frequent one of the first 10,000 lines is kept. Raises UsageError: the
    file cannot be read, an impossible host or number of targets.
    """
    if most_targets < 1:
        raise UsageError(f"{most_targets} targets cannot be kept", next_step="keep 1 or more")
    chosen = main_host(islice(lines_of(path), _HEAD_LINES)) if host is None else bare_host(host)
    if chosen:
        check_host(chosen, where="host")
    tally = LogTally(chosen)
    for line in lines_of(path):
        tally.add(line)
    return tally.summary(str(path), most_targets)


def main_host(lines: Iterable[bytes | None]) -> str:
    """The host that most of the lines name; '' when none does."""
    hosts = Counter(name for line in lines if line is not None and (hit := parse_line(line)) and (name := hit.host) and _fit(name))
    return min(hosts, key=lambda name: (-hosts[name], name)) if hosts else ""


class LogTally:
    """Counts so far; `host` '' takes every line that names none. At most about 70 MB, whatever the
    lines hold."""

    def __init__(self, host: str = "", *, capacity: int = MOST_TARGETS) -> None:
        self.host = host
        self.lines = 0
        self.json_lines = 0
        self._out: dict[Reason, Counter[str]] = {reason: Counter() for reason in get_args(Reason)}
        self._frequent = Frequent(capacity)
        self._masked = 0
        self._usable = 0
        self._clock = LogClock()

    def add(self, line: bytes | None) -> None:
        """One line; None for one that was too long to be read."""
        self.lines += 1
        hit = None if line is None else parse_line(line)
        if hit is None:
            self._out["unreadable"]["longer than 128 KiB" if line is None else "no request in it"] += 1
            return
        self.json_lines += hit.json
        found = self._judged(hit)
        if not isinstance(found, Clean):
            reason, part = found
            counter = self._out[reason]
            counter[part if part in counter or len(counter) < _MOST_PARTS else _OTHERS] += 1
            return
        self._usable += 1
        self._masked += found.masked
        self._frequent.add(found.path, _WHOLE.get(hit.status, hit.status))
        self._clock.add(hit.stamp)

    def summary(self, file: str, most_targets: int = DEFAULT_TARGETS) -> LogSummary:
        """What all lines so far came to."""
        targets, answers, others = self._targets(most_targets)
        rare = self._usable - sum(target.hits for target in targets) - answers
        left_out = [LinesLeftOut(reason, counter.total(), _parts(counter)) for reason, counter in self._out.items() if counter]
        left_out += [LinesLeftOut("answers", answers)] if answers else []
        left_out += [LinesLeftOut("rare", rare)] if rare else []
        made = LogSummary(
            file=file,
            lines=self.lines,
            json_lines=self.json_lines,
            host=self.host,
            targets=targets,
            left_out=tuple(left_out),
            masked=self._masked,
            rare_targets=len(others),
            runner_up=max(others, default=0),
            undercount=self._frequent.undercount,
            untimed=self._clock.untimed,
        )
        return self._timed(made)

    def _judged(self, hit: Hit) -> Clean | tuple[Reason, str]:
        """The target of a hit, or why it is left out."""
        if hit.method != "GET":
            return "method", hit.method
        named, target = split_absolute(hit.target)
        host = hit.host or named
        if host and host != self.host:
            return "host", host if _fit(host) else "(no host name)"
        return ("static", "answered by nginx itself") if hit.by_nginx else self._judged_target(hit, target)

    def _judged_target(self, hit: Hit, target: bytes) -> Clean | tuple[Reason, str]:
        clean = clean_target(target)
        if not isinstance(clean, Clean):
            return clean, ""
        if clean.static and hit.by_nginx is None:
            return "static", "by the ending of the name"
        if not 200 <= hit.status <= 399:
            self._frequent.note(clean.path, hit.status)
            return "status", str(hit.status)
        return clean

    def _targets(self, most: int) -> tuple[tuple[LogTarget, ...], int, list[int]]:
        """The targets to keep, hits on those that mostly answer an error, and the hits of each
        other one that is held."""
        kept: list[LogTarget] = []
        others: list[int] = []
        answers = 0
        for path, hits in self._frequent.ranked():
            status = self._frequent.status(path)
            if not 200 <= status <= 399:
                answers += hits
            elif len(kept) < most:
                kept.append(LogTarget(path, hits, status))
            else:
                others.append(hits)
        return tuple(kept), answers, others

    def _timed(self, made: LogSummary) -> LogSummary:
        hours = self._clock.hours
        if not hours:
            return made
        arrival = arrival_of(hours, self._clock.gaps())
        first = min(hours)
        start = first * HOUR_S + next(second for second, count in enumerate(hours[first]) if count)
        return msgspec.structs.replace(made, arrival=arrival, start_s=start, end_s=start + arrival.span_s - 1, peak_s=peak_second(hours))


def _fit(host: str) -> bool:
    try:
        check_host(host, where="")
    except UsageError:
        return False
    return True


def _parts(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The most frequent kinds, the rest as one."""
    ranked = sorted(((part, count) for part, count in counter.items() if part and part != _OTHERS), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in ranked[_SHOWN_PARTS:]) + counter.get(_OTHERS, 0)
    return (*ranked[:_SHOWN_PARTS], *(((_OTHERS, rest),) if rest else ()))
