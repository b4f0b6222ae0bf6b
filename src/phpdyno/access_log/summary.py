"""What an access log came to: targets, arrivals, and what was left out and why."""

import re
from typing import Literal

from msgspec import Struct

from phpdyno.access_log.forms.hit import FieldsTaken
from phpdyno.config.app_toml import check_host
from phpdyno.errors import UsageError
from phpdyno.model.arrival import Arrival
from phpdyno.model.workload import Target, Workload

Reason = Literal["comment", "unreadable", "method", "host", "static", "redirect", "form", "long", "secret", "status", "answers", "rare"]
"""Why a line is in no target; the first that holds counts."""


class LogTarget(Struct, frozen=True):
    """One target: how many of the log's lines ask for it, and the status that it mostly answers
    (200 for 206 and 304)."""

    path: str
    hits: int
    status: int


class LinesLeftOut(Struct, frozen=True):
    """Lines left out for one reason; `parts` are its most frequent kinds (methods, statuses,
    hosts), most frequent first."""

    reason: Reason
    lines: int
    parts: tuple[tuple[str, int], ...] = ()


class LineExample(Struct, frozen=True):
    """What one line was read as: its number, what it holds of the request ('' where that is
    masked), and the target made of it, '' where it is in none."""

    line: int
    raw: str
    path: str


class UnreadLine(Struct, frozen=True):
    """The first line that could not be read: its number, how it begins, and what it lacks ('' where
    it is in no form that is known)."""

    line: int
    text: str
    lacks: str = ""


class LogSummary(Struct, frozen=True):
    """An access log of `lines` lines, each of which is in a target or left out for one reason.

    `host` is '' where the log names none. `forms` are the forms of the readable lines with their
    numbers, most frequent first; `notes` what was decided of the log as a whole. Of the lines that
    a target could have been made of `masked` had a secret in their query, and `cached` were
    answered by a cache. `rare_targets` were seen beyond those kept, at least, the most frequent of
    them with `runner_up` hits; each count is too low by at most `undercount` hits (0: exact).
    `arrival` is that of all lines that a target could have been made of, the rare ones too; None
    when no line has a time; `untimed` had none that could be counted. `start_s`, `end_s` and
    `peak_s` are seconds since 1970.
    """

    file: str
    lines: int
    host: str
    targets: tuple[LogTarget, ...]
    left_out: tuple[LinesLeftOut, ...]
    forms: tuple[tuple[FieldsTaken, int], ...] = ()
    examples: tuple[LineExample, ...] = ()
    notes: tuple[str, ...] = ()
    unread: UnreadLine | None = None
    log_format: str = ""
    masked: int = 0
    cached: int = 0
    rare_targets: int = 0
    runner_up: int = 0
    undercount: int = 0
    arrival: Arrival | None = None
    untimed: int = 0
    start_s: int = 0
    end_s: int = 0
    peak_s: int = 0

    @property
    def kept(self) -> int:
        """Lines in targets."""
        return sum(target.hits for target in self.targets)

    def lines_out(self, reason: Reason) -> int:
        """Lines left out for one reason."""
        return sum(each.lines for each in self.left_out if each.reason == reason)

    @property
    def surely_most_frequent(self) -> bool:
        """Whether no target that is not kept can have had more hits than one that is."""
        return not self.targets or self.targets[-1].hits >= self.runner_up + self.undercount

    @property
    def coverage(self) -> float:
        """Share of the requests that targets could have been made of which the targets kept stand
        for; 0 when there is none."""
        usable = self.kept + self.lines_out("rare")
        return self.kept / usable if usable else 0.0


def workload_of(summary: LogSummary) -> Workload:
    """The targets, weighted by their hits. Raises UsageError when there is none, naming what most
    lines were left out for."""
    if not summary.targets:
        raise _without_targets(summary)
    targets = tuple(Target(each.path, float(each.hits), each.status) for each in summary.targets)
    return Workload(targets, summary.host if is_host(summary.host) else "localhost")


def is_host(name: str) -> bool:
    """Whether a name can stand in a Host header."""
    try:
        check_host(name, where="")
    except UsageError:
        return False
    return True


def _without_targets(summary: LogSummary) -> UsageError:
    most = max(summary.left_out, key=lambda each: each.lines, default=None)
    if most is None:
        return UsageError("is empty", where=summary.file, next_step="give a log that holds requests")
    if most.reason == "unreadable" and summary.unread is not None:
        return _unreadable(summary, summary.unread, most.lines)
    what = f"holds no request that can be asked again: {most.lines:,} of {summary.lines:,} lines are left out ({most.reason})"
    return UsageError(what, where=summary.file, next_step="give a log of GET requests that were answered 2xx or 3xx")


def _unreadable(summary: LogSummary, unread: UnreadLine, lines: int) -> UsageError:
    which = "do not fit --log-format" if summary.log_format else "cannot be read"
    what = f"{lines:,} of {summary.lines:,} lines {which}"
    what += f", as line {unread.line:,}: {unread.text!r}" + (f" ({unread.lacks})" if unread.lacks else "")
    step = "compare it with the log_format that wrote the log" if summary.log_format else _hint(unread.text)
    return UsageError(what, where=summary.file, next_step=step)


def _hint(text: str) -> str:
    """What to do about a log whose lines are such."""
    return next((hint for pattern, hint in _KNOWN_OTHERS if pattern.search(text)), FORMAT_HINT)


FORMAT_HINT = "say how with --log-format '<log_format of nginx or LogFormat of Apache>', or --log-format @/etc/nginx/nginx.conf:NAME"
"""What to do about lines in a form that is not known."""
_KNOWN_OTHERS = (
    (re.compile(r"\[(?:\w+:)?(?:error|warn|notice|crit|alert|emerg|info|debug)\]"), "that looks like an error log: give the access log"),
    (re.compile(r'^\S+ - +\S* *\S+ \S+ "[A-Z]+ [^" ]+\.php[^" ]*" \d{3}'), "php-fpm's own log has no addresses: give the web server's"),
    (re.compile(r"^\s*[{\[]\s*$"), "that looks like JSON over several lines: write one object a line (jq -c .)"),
)
