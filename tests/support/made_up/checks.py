"""Records of a selfcheck that nobody measured."""

import math

from msgspec import structs

from phpdyno.journal.checks import CHECKS_SCHEMA, CheckKind, Checks, ChecksHeader, Compared, LoopCost, SelfcheckRequest, SessionBegan
from phpdyno.journal.records import Calibrated
from phpdyno.model.facts import HostFacts
from phpdyno.model.verdict import VerdictKind
from phpdyno.stats.line import Line

WISH = SelfcheckRequest("hello", aa=4, zero=1, planted=4, effect=0.01)
HOST = HostFacts(
    "6.1.0", "Test CPU", 2, 8 * 2**20, "tsc", "performance", "madvise", 0, 0.1, 0.0, "cgroup", (1,), (0,), {"php (php-fpm8.2)": "8.2.36"}
)
GROUND = LoopCost(HOST, "v1", (0, 50, 100), ((1.0, 2.0, 3.0),), Line(80e3, 5.0, 0.001, -0.01, 0.012, 12), 0, 160, math.log(1.01))


def header(wish: SelfcheckRequest = WISH, code: str = "c0de") -> ChecksHeader:
    return ChecksHeader(CHECKS_SCHEMA, "0.1.0", code, "2026-01-02T03:04:05+0000", ("selfcheck",), wish)


def compared(
    number: int,
    kind: CheckKind = "planted",
    verdict: VerdictKind = "improved",
    *,
    truth: float = math.log(1.01),
    found: float | None = None,
    half: float = 0.004,
    seconds: float = 8.0,
) -> Compared:
    """One comparison that found the log ratio `found` (the truth when None) give or take `half`."""
    middle = truth if found is None else found
    ratio, low, high = (math.exp(middle + shift) for shift in (0.0, -half, half))
    lag = 0.01 * (number % 5 - 2) if kind in {"A/A", "long A/A"} else None
    return Compared(number, kind, number + 1, truth > 0, truth, verdict, ratio, low, high, 9, seconds, early=middle, looks=3, lag=lag)


def numberless(number: int, kind: CheckKind = "planted", *, truth: float = math.log(1.01)) -> Compared:
    """One comparison that came to nothing."""
    return Compared(number, kind, number + 1, truth > 0, truth, "invalid", None, None, None, 0, 1.0, "it crashed")


def checks(
    *made: Compared, wish: SelfcheckRequest | None = None, ground: LoopCost | None = GROUND, sessions: tuple[SessionBegan, ...] = ()
) -> Checks:
    """A selfcheck that was asked for just these, or for `wish`."""
    kinds = [each.kind for each in made]
    long = kinds.count("long A/A")
    total = structs.replace(WISH, aa=kinds.count("A/A") + long, long=long, zero=kinds.count("zero"), planted=kinds.count("planted"))
    return Checks(header(wish or total), ground, sessions, made)


def session(planted_budget_s: float = 60.0, warnings: tuple[str, ...] = ()) -> SessionBegan:
    plan = Calibrated(1, 10**6, 10**6, {"A/A": 10}, 0.3, 0.1, "")
    long = structs.replace(plan, blocks=60)
    return SessionBegan("2026-01-02T03:04:06+0000", warnings, plan, 6.0, plan, planted_budget_s, long, 27.6)
