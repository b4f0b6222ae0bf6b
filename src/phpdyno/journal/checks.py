"""The record of a selfcheck, `checks.jsonl`: what was wished, what the planted effect rests on, one
line per finished comparison."""

from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.journal.reader import decode_lines, there
from phpdyno.journal.records import Calibrated
from phpdyno.model.facts import HostFacts
from phpdyno.model.verdict import VerdictKind
from phpdyno.stats.line import Line

CHECKS_FILE = "checks.jsonl"
CHECKS_SCHEMA = 2
"""2: A/A comparisons of two lengths; what the first blocks said, looks and autocorrelation of each
comparison."""

CheckKind = Literal["A/A", "long A/A", "zero", "planted"]
"""`A/A`: the control against itself; `long A/A`: looked at as often as a comparison that takes its
time. `zero`: an environment variable that nothing reads. `planted`: turns of a busy loop in front
of the app."""


class SelfcheckRequest(Struct, frozen=True):
    """What a selfcheck is to do: how many comparisons of each kind on which app, with which budgets
    (seconds).

    `long` of the `aa` A/A comparisons are long ones, whose budget follows from the calibration.
    `effect` is the planted difference as a fraction; the relevance margin is half of it. `rounds`
    of the fit of cost over turns.
    """

    app: str
    aa: int
    zero: int
    planted: int
    effect: float = 0.01
    aa_budget_s: float = 6.0
    planted_budget_s: float = 60.0
    rounds: int = 30
    seed: int = 1
    long: int = 0

    @property
    def total(self) -> int:
        """Comparisons in all."""
        return self.aa + self.zero + self.planted


class ChecksHeader(Struct, frozen=True, tag="header"):
    """First line. `code` is a digest of the code that measures."""

    schema: int
    phpdyno: str
    code: str
    started: str
    argv: tuple[str, ...]
    wish: SelfcheckRequest


class LoopCost(Struct, frozen=True, tag="ground"):
    """What the planted effect rests on: cost per request (ns) of every round at every number of
    turns, and the line through them.

    The cheaper arm has `turns`, the dearer `more_turns`; `effect` is log(cost dearer / cost
    cheaper) by the line.
    """

    host: HostFacts
    app_version: str
    levels: tuple[int, ...]
    costs_ns: tuple[tuple[float, ...], ...]
    line: Line
    turns: int
    more_turns: int
    effect: float


class SessionBegan(Struct, frozen=True, tag="session"):
    """A session of measuring: the host, and the plans (blocks, budgets in seconds) that its
    comparisons share."""

    started: str
    warnings: tuple[str, ...]
    aa: Calibrated
    aa_budget_s: float
    planted: Calibrated
    planted_budget_s: float
    long: Calibrated | None = None
    long_budget_s: float = 0.0

    def plan_of(self, kind: CheckKind) -> tuple[Calibrated, float]:
        """Plan and budget (seconds) of a kind of comparison."""
        if kind == "planted":
            return self.planted, self.planted_budget_s
        if kind == "long A/A" and self.long is not None:
            return self.long, self.long_budget_s
        return self.aa, self.aa_budget_s


class Compared(Struct, frozen=True, tag="comparison"):
    """One finished comparison: what was true, and what was found.

    `truth` is log(cost of the control / cost of the treatment). `swapped`: the treatment is the
    cheaper arm. `seconds` is the measuring time until the verdict, starts and warm-up included,
    calibration excluded. `kept` names the directory of its journal where something was wrong with
    it.

    `early` is the mean log ratio of its first blocks, as many as the interval needs to be finite:
    no verdict can come before, so which blocks these are does not depend on what they say; None
    when there were fewer. `looks` is how often the interval was finite when it was looked at, `lag`
    the lag-1 autocorrelation of the blocks about the truth (A/A only).
    """

    number: int
    kind: CheckKind
    seed: int
    swapped: bool
    truth: float
    verdict: VerdictKind
    ratio: float | None
    low: float | None
    high: float | None
    blocks: int
    seconds: float
    reason: str = ""
    kept: str = ""
    early: float | None = None
    looks: int = 0
    lag: float | None = None

    @property
    def numberless(self) -> bool:
        """Whether it gave no number at all."""
        return self.verdict == "invalid" or self.ratio is None


CheckRecord = ChecksHeader | LoopCost | SessionBegan | Compared


class Checks(Struct, frozen=True):
    """All that is known of a selfcheck."""

    header: ChecksHeader
    ground: LoopCost | None
    sessions: tuple[SessionBegan, ...]
    compared: tuple[Compared, ...]

    @property
    def finished(self) -> bool:
        """Whether every comparison is done."""
        return len(self.compared) >= self.header.wish.total


_DECODER: msgspec.json.Decoder[CheckRecord] = msgspec.json.Decoder(CheckRecord)


def read_checks(run: Path) -> Checks:
    """What is recorded; a last line that was cut off is left out. Raises UsageError when there is
    nothing, DynoError when it is damaged, newer than this version, or holds a comparison twice."""
    path = there(run / CHECKS_FILE, run, what="selfcheck", like="runs/<time>-selfcheck-<app>")
    lines = path.read_bytes().split(b"\n")[:-1]
    records = decode_lines(lines, _DECODER, path=path, what="selfcheck", schema=CHECKS_SCHEMA)
    if not records or not isinstance(records[0], ChecksHeader):
        raise DynoError("this selfcheck cannot be used: it does not begin with a header", where=str(path))
    compared = tuple(record for record in records if isinstance(record, Compared))
    total = records[0].wish.total
    numbers = [record.number for record in compared]
    if len(set(numbers)) < len(numbers) or any(not 0 <= number < total for number in numbers):
        raise DynoError(f"this selfcheck cannot be used: its comparisons are not {total} different ones", where=str(path))
    grounds = [record for record in records if isinstance(record, LoopCost)]
    sessions = tuple(record for record in records if isinstance(record, SessionBegan))
    return Checks(records[0], grounds[-1] if grounds else None, sessions, compared)
