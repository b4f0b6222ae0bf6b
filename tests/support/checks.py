"""Records of a selfcheck that nobody measured."""

import math

from msgspec import structs

from phpdyno.journal.checks import CHECKS_SCHEMA, CheckKind, Checks, ChecksHeader, Compared, Ground, Wish
from phpdyno.model.facts import HostFacts
from phpdyno.model.verdict import VerdictKind
from phpdyno.stats.line import Line

WISH = Wish("planted", aa=4, zero=1, planted=4, effect=0.01)
HOST = HostFacts("6.1.0", "Test CPU", 2, 8 * 2**20, "tsc", "performance", "madvise", 0, 0.1, 0.0, "cgroup", (1,), (0,))
GROUND = Ground(HOST, "v1", (0, 50, 100), ((1.0, 2.0, 3.0),), Line(80e3, 5.0, 0.001, -0.01, 0.012, 12), 100_000, 101_160, math.log(1.01))


def header(wish: Wish = WISH, code: str = "c0de") -> ChecksHeader:
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
    return Compared(number, kind, number + 1, truth > 0, truth, verdict, ratio, low, high, 9, seconds)


def checks(*made: Compared, wish: Wish | None = None, ground: Ground | None = GROUND) -> Checks:
    total = structs.replace(WISH, aa=len(made), zero=0, planted=0)
    return Checks(header(wish or total), ground, (), made)
