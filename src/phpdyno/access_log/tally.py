"""A log's lines counted as they stream by, to a LogSummary."""

from collections import Counter
from typing import get_args

import msgspec

from phpdyno.access_log.clock import LogClock
from phpdyno.access_log.examples import Examples
from phpdyno.access_log.forms.hit import UNSAID, FieldsTaken, Hit
from phpdyno.access_log.frequent import MOST_TARGETS, MOVED, Frequent
from phpdyno.access_log.hosts import UNNAMED
from phpdyno.access_log.reader import LogReader
from phpdyno.access_log.summary import LinesLeftOut, LogSummary, LogTarget, Reason, is_host
from phpdyno.access_log.targets import Clean, clean_target, split_absolute
from phpdyno.stats.arrivals import HOUR_S, arrival_of, peak_second

_MOST_PARTS = 200
_MOST_FORMS = 64
_SHOWN_PARTS = 5
_OTHERS = "others"
_WHOLE = {206: 200, 304: 200}
"""A part, or nothing because the client had it: asked without conditions, both are answered 200."""
_ANSWERED_TOO = "of addresses that are answered 200 too"
_NEVER_ELSE = "of addresses that are always redirected, as most redirects here are of http or another name"
_LEAST_MOVED = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class LogTally:
    """Counts so far; `host` '' takes every line that names none. At most about 70 MB, whatever the
    lines hold."""

    def __init__(self, host: str = "", *, capacity: int = MOST_TARGETS, reader: LogReader | None = None) -> None:
        self.host = host
        self.lines = 0
        self.of_host = 0
        self._reader = reader or LogReader()
        self._forms: Counter[FieldsTaken] = Counter()
        self._taken = UNSAID
        self._in_a_row = 0
        self._examples = Examples()
        self._out: dict[Reason, Counter[str]] = {reason: Counter() for reason in get_args(Reason)}
        self._frequent = Frequent(capacity)
        self._masked = 0
        self._cached = 0
        self._usable = 0
        self._clock = LogClock()

    @property
    def hosts_left_out(self) -> Counter[str]:
        """Lines of other hosts, by their names."""
        return self._out["host"]

    def add(self, line: bytes | None) -> None:
        """Count one line of the log; None stands for one that was too long to be read."""
        self.lines += 1
        hit = "longer than 128 KiB" if line is None else self._reader.hit(line)
        if isinstance(hit, str):
            if hit == "no request in it" and line is not None:
                self._examples.unread(self.lines, line, self._reader)
            self._out["comment" if hit == "a comment" else "unreadable"][hit] += 1
            return
        if hit.taken is not self._taken:
            self._count_forms(hit.taken)
        self._in_a_row += 1
        found = self._judged(hit)
        if not isinstance(found, Clean):
            reason, part = found
            self._examples.left_out(self.lines, hit, reason)
            counter = self._out[reason]
            counter[part if part in counter or len(counter) < _MOST_PARTS else _OTHERS] += 1
            return
        self._usable += 1
        self._masked += found.masked
        self._cached += hit.cached
        self._examples.add(self.lines, hit, found)
        self._frequent.add(found.path, _WHOLE.get(hit.status, hit.status))
        self._clock.add(hit.stamp)

    def summary(self, file: str, most_targets: int = 50) -> LogSummary:
        """What all lines so far came to."""
        self._count_forms(self._taken)
        targets, answers, moved, others = self._targets(most_targets)
        rare = self._usable - sum(target.hits for target in targets) - answers - moved.total()
        out = {**self._out, "redirect": self._out["redirect"] + moved}
        left_out = [LinesLeftOut(reason, counter.total(), _parts(counter)) for reason, counter in out.items() if counter]
        left_out += [LinesLeftOut("answers", answers)] if answers else []
        left_out += [LinesLeftOut("rare", rare)] if rare else []
        made = LogSummary(
            file=file,
            lines=self.lines,
            host=self.host,
            targets=targets,
            left_out=tuple(left_out),
            forms=tuple(self._forms.most_common()),
            examples=self._examples.chosen(),
            unread=self._examples.first_unread,
            masked=self._masked,
            cached=self._cached,
            rare_targets=len(others),
            runner_up=max(others, default=0),
            undercount=self._frequent.undercount,
            untimed=self._clock.untimed,
        )
        return self._timed(made)

    def _count_forms(self, following: FieldsTaken) -> None:
        """Count the lines of one form that came in a row, before one of another."""
        if self._in_a_row and (self._taken in self._forms or len(self._forms) < _MOST_FORMS):
            self._forms[self._taken] += self._in_a_row
        self._taken, self._in_a_row = following, 0

    def _judged(self, hit: Hit) -> Clean | tuple[Reason, str]:
        """The target of a hit, or why it is left out."""
        site = self._reader.site(hit)
        if not site or site == self.host:
            self.of_host += 1
        if hit.method != "GET":
            return "method", hit.method
        if site and site != self.host:
            return "host", site if site != UNNAMED and (is_host(site) or "@" in site) else "(no host name)"
        if hit.plain and hit.status in _REDIRECTS and self._reader.decided.both_schemes:
            return "redirect", "of http to https"
        return ("static", "answered by the web server itself") if hit.by_server else self._judged_target(hit, split_absolute(hit.target)[1])

    def _judged_target(self, hit: Hit, target: bytes) -> Clean | tuple[Reason, str]:
        clean = clean_target(target)
        if not isinstance(clean, Clean):
            return clean, ""
        if clean.static and hit.by_server is None:
            return "static", "by the ending of the name"
        if not 200 <= hit.status <= 399:
            self._frequent.note(clean.path, hit.status)
            return "status", str(hit.status)
        if hit.status in MOVED and self._frequent.answered_whole(clean.path):
            return "redirect", _ANSWERED_TOO
        return clean

    def _targets(self, most: int) -> tuple[tuple[LogTarget, ...], int, Counter[str], list[int]]:
        """The targets to keep, hits on those that mostly answer an error, hits that were redirected
        for good, and the hits of each other one that is held."""
        kept: list[LogTarget] = []
        others: list[int] = []
        answers = 0
        answered = [(path, self._frequent.answered(path, hits)) for path, hits in self._frequent.ranked()]
        moved = Counter({_ANSWERED_TOO: sum(answer.moved for _, answer in answered)})
        always = sum(answer.hits for _, answer in answered if answer.status in MOVED)
        of_http = self._out["redirect"].total() + moved.total() >= max(always, _LEAST_MOVED)
        for path, answer in sorted(answered, key=lambda each: (-each[1].hits, each[0])):
            if not 200 <= answer.status <= 399:
                answers += answer.hits
            elif of_http and answer.status in MOVED:
                moved[_NEVER_ELSE] += answer.hits
            elif len(kept) < most:
                kept.append(LogTarget(path, answer.hits, answer.status))
            else:
                others.append(answer.hits)
        return tuple(kept), answers, +moved, others

    def _timed(self, made: LogSummary) -> LogSummary:
        hours = self._clock.hours
        if not hours:
            return made
        arrival = arrival_of(hours, self._clock.gaps())
        first = min(hours)
        start = first * HOUR_S + next(second for second, count in enumerate(hours[first]) if count)
        return msgspec.structs.replace(made, arrival=arrival, start_s=start, end_s=start + arrival.span_s - 1, peak_s=peak_second(hours))


def _parts(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The most frequent kinds, the rest as one."""
    ranked = sorted(((part, count) for part, count in counter.items() if part and part != _OTHERS), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in ranked[_SHOWN_PARTS:]) + counter.get(_OTHERS, 0)
    return (*ranked[:_SHOWN_PARTS], *(((_OTHERS, rest),) if rest else ()))
