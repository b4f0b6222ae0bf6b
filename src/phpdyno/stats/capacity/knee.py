"""The knee of a throughput curve: from how many requests in service on more of them bring (next to)
nothing."""

import math

from msgspec import Struct

from phpdyno.stats.capacity.curve import Curve, CurvePoint, Known

SHARE = 0.97


class Knee(Struct, frozen=True):
    """The fewest requests in service that do: `share` of the best measured rate is what
    `rate_per_s` is, `known` how the rate is known.

    `rising` where it is the most that was measured: more of them may bring more.
    """

    busy: int
    rate_per_s: float
    share: float
    known: Known
    rising: bool


def best_point(curve: Curve) -> CurvePoint:
    """The highest measured rate; of equal ones that with the fewest in service. The best of many is
    best by luck as well."""
    return max(curve.points, key=lambda point: (point.rate_per_s, -point.busy))


def knee(curve: Curve, share: float = SHARE) -> Knee:
    """The smallest whole k whose rate is at least `share` of the best, on the lines between
    measured points as well.

    Raises ValueError: a share outside (0, 1].
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"a share lies between 0 and 1, not {share}")
    best = best_point(curve)
    enough = share * best.rate_per_s
    return _knee(curve, next(busy for busy in range(1, best.busy + 1) if busy == best.busy or curve.rate_per_s(busy) >= enough))


def knee_within_intervals(curve: Curve) -> Knee | None:
    """The smallest measured k whose rate cannot be told from the best at 95 %; None where the best
    has no interval.

    The interval of the difference of two logarithms is made from theirs (MOVER: Zou and Donner,
    Statistics in Medicine 27, 2008), the points taken as independent. The best was chosen for being
    best, so this says "told apart" a little too often: confirm it.
    """
    best = best_point(curve)
    if best.low_per_s is None:
        return None
    return _knee(curve, next(point.busy for point in curve.points if point.busy == best.busy or not _told_apart(point, best)))


def _told_apart(point: CurvePoint, best: CurvePoint) -> bool:
    if point.high_per_s is None or best.low_per_s is None:
        return True
    difference = math.log(best.rate_per_s / point.rate_per_s)
    reach = math.hypot(math.log(best.rate_per_s / best.low_per_s), math.log(point.high_per_s / point.rate_per_s))
    return difference > reach


def _knee(curve: Curve, busy: int) -> Knee:
    rate = curve.rate_per_s(busy)
    return Knee(busy, rate, rate / best_point(curve).rate_per_s, curve.known(busy), rising=busy == curve.last)
