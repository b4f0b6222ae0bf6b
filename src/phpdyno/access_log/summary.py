"""What an access log came to: targets, arrivals, and what was left out and why."""

from typing import Literal

from msgspec import Struct

from phpdyno.errors import UsageError
from phpdyno.model.arrival import Arrival
from phpdyno.model.workload import Target, Workload

Reason = Literal["unreadable", "method", "host", "static", "form", "long", "secret", "status", "answers", "rare"]
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


class LogSummary(Struct, frozen=True):
    """An access log of `lines` lines, each of which is in a target or left out for one reason.

    `host` is '' where the log names none. `json_lines` of the readable lines are JSON. `masked` of
    the lines that a target could have been made of had a secret in their query. `rare_targets` were
    seen beyond those kept, at least, the most frequent of them with `runner_up` hits; each count is
    too low by at most `undercount` hits (0: exact). `arrival` is that of all lines that a target
    could have been made of, the rare ones too; None when no line has a time; `untimed` had none
    that could be counted. `start_s`, `end_s` and `peak_s` are seconds since 1970.
    """

    file: str
    lines: int
    json_lines: int
    host: str
    targets: tuple[LogTarget, ...]
    left_out: tuple[LinesLeftOut, ...]
    masked: int = 0
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
        most = max(summary.left_out, key=lambda each: each.lines, default=None)
        what = (
            "is empty"
            if most is None
            else f"holds no request that can be asked again: {most.lines:,} of {summary.lines:,} lines are left out"
        )
        why = "" if most is None else f" ({most.reason})"
        raise UsageError(what + why, where=summary.file, next_step="give a log of GET requests in nginx's combined format or as JSON lines")
    targets = tuple(Target(each.path, float(each.hits), each.status) for each in summary.targets)
    return Workload(targets, summary.host or "localhost")
