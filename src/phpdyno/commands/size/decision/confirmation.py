"""What the confirmation saw: rounds of the last recommendation only, since earlier ones have chosen
it. Pure."""

from collections.abc import Sequence

from phpdyno.commands.size.record import MOST_ROUNDS, PoolMeasured, Recommended, SizeRun
from phpdyno.model.runs.sweep import Visit
from phpdyno.stats.visits import VisitFigure, counting, figure_of, throughput_of, times_at


def rounds_of(run: SizeRun) -> tuple[PoolMeasured, ...]:
    """The pools of the rounds that followed the last recommendation."""
    after = MOST_ROUNDS if len(run.all_of(Recommended)) > 1 else 0
    return tuple(each for each in run.all_of(PoolMeasured) if each.stage == "confirm" and each.round > after)


def saturated_visits(run: SizeRun, workers: int) -> tuple[Visit, ...]:
    """The saturated visits of one pool."""
    return tuple(each.visits[0] for each in rounds_of(run) if each.workers == workers)


def open_visits(run: SizeRun, workers: int) -> tuple[Visit, ...]:
    """The visits of one pool whose requests arrived by chance."""
    return tuple(visit for each in rounds_of(run) if each.workers == workers for visit in each.visits if visit.point.open_share)


def p99_of(run: SizeRun, workers: int) -> VisitFigure | None:
    """The 99th percentile of a pool's response times at the rate of its open visits, nanoseconds;
    None where too few requests tell it."""
    visits = open_visits(run, workers)
    return times_at(visits, 99.0, run.header.asked.confidence) if counting(visits) else None


def over(run: SizeRun, one: int, other: int) -> VisitFigure | None:
    """The throughput of one pool over another's, paired by round; rounds in which a visit does not
    count are left out."""
    by_round: dict[int, dict[int, Visit]] = {}
    for each in rounds_of(run):
        by_round.setdefault(each.round, {})[each.workers] = each.visits[0]
    ratios = [
        throughput_of(seen[one]) / throughput_of(seen[other])
        for seen in by_round.values()
        if one in seen and other in seen and len(counting((seen[one], seen[other]))) == 2 and seen[other].valid
    ]
    return figure_of(ratios, run.header.asked.confidence)


def failed_share(visits: Sequence[Visit]) -> float:
    """The share of the requests without a valid answer."""
    sent = sum(visit.requests for visit in visits)
    return sum(visit.requests - visit.valid for visit in visits) / sent if sent else 0.0
