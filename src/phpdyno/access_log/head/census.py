"""Which sites a log's lines are of."""

from collections import Counter

import msgspec

from phpdyno.access_log.forms.decided import Decided
from phpdyno.access_log.hosts import MOST_HOST, UNNAMED
from phpdyno.access_log.log_format.pattern import LinePattern
from phpdyno.access_log.reader import LogReader
from phpdyno.access_log.summary import is_host
from phpdyno.access_log.targets import split_absolute

_MOST_HOSTS = 10_000
_HALF = 0.5


class Census:
    """Which sites the lines of a log's head are of, and whether http and https are both there."""

    def __init__(self, pattern: LinePattern | None, decided: Decided) -> None:
        self.hosts: Counter[str] = Counter()
        self._reader = LogReader(pattern, decided)
        self._absolute: Counter[str] = Counter()
        self._lines = 0
        self._unnamed = 0
        self._schemes: Counter[bool] = Counter()

    def add(self, line: bytes) -> None:
        """Count one line of the log."""
        hit = self._reader.hit(line)
        if isinstance(hit, str):
            return
        self._lines += 1
        host = "" if hit.host == UNNAMED else hit.host
        self._unnamed += hit.host == UNNAMED
        named = split_absolute(hit.target)[0][:MOST_HOST]
        for counter, name in ((self.hosts, host), (self._absolute, "" if host else named)):
            if name and (name in counter or len(counter) < _MOST_HOSTS):
                counter[name] += 1
        if hit.plain is not None:
            self._schemes[hit.plain] += 1

    def decided(self) -> Decided:
        """What was decided before, with what these lines add."""
        if self._absolute.total() >= _HALF * self._lines > 0:
            self.hosts += self._absolute
        return msgspec.structs.replace(
            self._reader.decided,
            named=self.hosts.total() >= self._unnamed,
            both_schemes=len(self._schemes) == 2,
        )

    def largest(self) -> str:
        """The site of the most lines, the first by its name of equals; '' where none is named, or
        most lines with a place for one leave it out."""
        named = {name: count for name, count in self.hosts.items() if is_host(name) or "@" in name}
        if self.hosts.total() < self._unnamed:
            return ""
        return min(named, key=lambda name: (-named[name], name), default="")
