"""The stages of a run in their order: search, targets, decision, confirmation, managers. Each goes
on from what is recorded."""

import itertools
import math
from collections.abc import Callable, Mapping

from phpdyno.commands.size.decision.caps import most_to_try
from phpdyno.commands.size.decision.confirmation import saturated_visits
from phpdyno.commands.size.decision.decide import decide, response_curve, revise
from phpdyno.commands.size.decision.models import saturated
from phpdyno.commands.size.decision.search import next_pool
from phpdyno.commands.size.measuring.confirm import OPEN_REQUESTS, OPEN_SHARE, confirm
from phpdyno.commands.size.measuring.managers import BURST_SHARE, DRAINED_SHARE, MANAGERS, measure_manager
from phpdyno.commands.size.measuring.pools import OutOfMemory, PoolLoad, Pools, now_s, requests_for, saturating
from phpdyno.commands.size.measuring.targets import choose, measure_target
from phpdyno.commands.size.record import (
    MOST_ROUNDS,
    LimitsRead,
    ManagerFailed,
    ManagerMeasured,
    PoolMeasured,
    Recommended,
    SizeConcluded,
    SizeRun,
    Stopped,
    TargetMeasured,
    TargetsChosen,
)
from phpdyno.errors import DynoError
from phpdyno.experiment.common.limits.bottleneck import find_bottleneck
from phpdyno.experiment.common.limits.threads import threads_for
from phpdyno.experiment.common.warm_up import Warm
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.journal.writer import JournalWriter
from phpdyno.stats.visits import LEAST_ROUNDS, load_over, throughput_of

WORK_REQUESTS = 400
"""Requests one at a time: how long each takes is what response times are foretold from."""
FIRST_OF_CONFIRMING = 0.8
"""Of that: when the first confirmation ends, so that there is time for another one."""
TARGETS_SHARE = 0.12
"""Of the budget: for all targets by themselves together."""
WORK_SHARE = 0.03
"""Of the budget: what these take at most."""
NEIGHBOUR = math.log(1.5)
MANAGER_S = 9.0
"""What one manager takes besides the burst's queue: start, idle spells, the burst."""
SHARE_OF_CONFIRMING = 0.8
"""Of the budget: when the confirmation ends, so that the managers have the rest."""


def measure_all(
    pools: Pools,
    begun: SizeRun,
    limits: LimitsRead,
    journal: JournalWriter,
    *,
    given: Mapping[str, str],
    read: Callable[[], SizeRun],
) -> None:
    """Measure what is left to do and record it; `given` are the control's settings, `read` gives
    the record as it is by now.

    Raises ArmFailed, OutOfMemory where even one worker takes too much; DynoError.
    """
    _search(pools, begun, limits, journal)
    _targets(pools, read(), journal)
    found = read()
    if found.last(Recommended) is None:
        pools.tell("which pool holds what was asked")
        decided = decide(found, pools.tell)
        journal.append(decided)
        _tell_of_time(pools, found, decided)
    _confirm(pools, read, journal)
    found = read()
    if found.last(SizeConcluded) is None:
        pools.tell("response times over the rate of arrivals")
        journal.append(response_curve(found))
        journal.append(_conclusion(pools, found))
    if begun.header.asked.managers:
        _managers(pools, found, journal, given)


def _targets(pools: Pools, found: SizeRun, journal: JournalWriter) -> None:
    """Each chosen target by itself."""
    chosen = found.last(TargetsChosen)
    if chosen is None:
        chosen = choose(pools)
        journal.append(chosen)
    done = {each.label for each in found.all_of(TargetMeasured)}
    for target in pools.workload.targets:
        if target.label in chosen.labels and target.label not in done:
            journal.append(measure_target(pools, target, most_s=TARGETS_SHARE * pools.budget_s / len(chosen.labels)))


def _tell_of_time(pools: Pools, found: SizeRun, decided: Recommended) -> None:
    """Say what the fewest rounds and the managers will take, where that is more than is left of the
    budget."""
    searched = [each for each in found.all_of(PoolMeasured) if each.stage == "search"]
    ends = [0.0, *(each.at_s for each in searched)]
    pool_s = max(after - before for before, after in itertools.pairwise(ends))
    arriving_s = min(OPEN_REQUESTS / decided.rate_per_s, OPEN_SHARE * pools.budget_s) if decided.rate_per_s else 0.0
    need_s = LEAST_ROUNDS * (pool_s * (1 + len(decided.beside)) + arriving_s)
    if found.header.asked.managers:
        need_s += len(MANAGERS) * (MANAGER_S + DRAINED_SHARE * pools.budget_s)
    spent_s = pools.clock.spent_s()
    if spent_s + need_s > pools.budget_s:
        pools.progress.note(f"three rounds of the confirmation take until about {spent_s + need_s:.0f} s: more than the budget")


def _confirm(pools: Pools, read: Callable[[], SizeRun], journal: JournalWriter) -> None:
    """Hold the recommended pool against others, and once more against those beside another one
    where it turns out that it was not it."""
    found = read()
    while found.last(SizeConcluded) is None:
        decided = found.all_of(Recommended)[-1]
        _rounds(pools, found, decided, journal)
        found = read()
        other = revise(found)
        if other is None:
            return
        why = "does better" if other.reason == "knee" and other.workers > decided.workers else "is what the confirmation speaks for"
        pools.progress.note(f"a pool of {other.workers} {why}: it is confirmed instead of {decided.workers}")
        journal.append(other)
        found = read()


def _rounds(pools: Pools, found: SizeRun, decided: Recommended, journal: JournalWriter) -> None:
    """The rounds of one recommendation. A pool beside it that takes too much memory is left out
    from then on. Raises OutOfMemory for itself."""
    asked = found.header.asked
    share = SHARE_OF_CONFIRMING if asked.managers else 1.0
    first = len(found.all_of(Recommended)) == 1
    tight = min((each.workers for each in found.all_of(Stopped)), default=None)
    beside = [each for each in decided.beside if tight is None or each < tight]
    # What was asked for is held against the neighbours too: "the fewest that hold it" is said of
    # them.
    neighbours = [each for each in beside if abs(math.log(each / decided.workers)) < NEIGHBOUR] if asked.objective.rate_per_s else []
    while True:
        try:
            for measured in confirm(
                pools,
                found,
                recommended=decided.workers,
                beside=beside,
                arriving=(decided.workers, *neighbours),
                rates=_rates_for(saturated(found), (decided.workers, *beside)),
                arriving_per_s=decided.rate_per_s,
                seed=asked.seed,
                until_s=(share * FIRST_OF_CONFIRMING if first else share) * asked.budget_s,
                after=0 if first else MOST_ROUNDS,
            ):
                journal.append(measured)
                found = SizeRun(found.header, (*found.records, measured))
        except OutOfMemory as error:
            journal.append(Stopped("confirm", error.workers, error.free_kib))
            if error.workers <= decided.workers:
                raise
            pools.progress.note(f"{error}; it is left out")
            beside = [each for each in beside if each < error.workers]
            neighbours = [each for each in neighbours if each < error.workers]
            continue
        return


def _conclusion(pools: Pools, found: SizeRun) -> SizeConcluded:
    """What limited the recommended pool when it was saturated."""
    decided = found.all_of(Recommended)[-1]
    visits = saturated_visits(found, decided.workers)
    cores = pools.bench.cores
    load = load_over(
        visits, workers=decided.workers, php_cores=cores.measured, helper_cores=cores.helpers, web_beside_php=bool(cores.nginx)
    )
    return SizeConcluded(find_bottleneck(load) if load is not None else None, SmallFiles().number("/proc/sys/net/core/somaxconn"))


def _managers(pools: Pools, found: SizeRun, journal: JournalWriter, given: Mapping[str, str]) -> None:
    """Static, dynamic and ondemand through a burst. One that fails is told as that, and the others
    go on."""
    workers = found.all_of(Recommended)[-1].workers
    done = {each.manager for each in found.all_of(ManagerMeasured)}
    rates = saturated(found)
    burst = BURST_SHARE * _rates_for(rates, (workers,))[workers]
    for place, manager in enumerate(MANAGERS):
        if manager in done:
            continue
        try:
            measured = measure_manager(pools, manager, workers, rate_per_s=burst, alone_per_s=rates[1], given=given, number=2000 + place)
        except DynoError as error:
            journal.append(ManagerFailed(manager, error.what))
            pools.progress.note(f"pm = {manager} could not be tried: {error.what}")
        else:
            journal.append(measured)


def _search(pools: Pools, begun: SizeRun, limits: LimitsRead, journal: JournalWriter) -> None:
    """Pools of more and more workers, and then those around the knee, until enough is known. One
    that takes too much memory ends it."""
    rates = saturated(begun)
    measured = [each for each in begun.all_of(PoolMeasured) if each.stage == "search"]
    # What even one worker was stopped at was another moment of this host.
    stopped = [each for each in begun.all_of(Stopped) if each.workers > 1]
    while True:
        most = most_to_try(begun.header.asked, limits, measured, stopped)
        workers = next_pool(rates, most=most)
        if workers is None:
            return
        try:
            made = _searched(pools, workers, rates)
        except OutOfMemory as error:
            journal.append(Stopped("search", error.workers, error.free_kib))
            if workers == 1:
                raise
            stopped.append(Stopped("search", error.workers, error.free_kib))
            continue
        journal.append(made)
        measured.append(made)
        rates[workers] = throughput_of(made.visits[0])


def _searched(pools: Pools, workers: int, rates: Mapping[int, float]) -> PoolMeasured:
    """One pool: saturated, with as many requests in flight as workers, and with half of them; a
    single worker one request at a time for longer."""

    def loads(warm: Warm) -> tuple[PoolLoad, ...]:
        alone = 1e9 / max(1, warm.request_wall_ns)
        expected = max(max(rates.values(), default=0.0), alone)
        full = saturating(workers, pools.transport)
        asked = [PoolLoad(full, requests_for(full, expected))]
        if workers == 1:
            return (*asked, PoolLoad(1, requests_for(1, alone, least=WORK_REQUESTS, most_s=max(2.0, WORK_SHARE * pools.budget_s))))
        asked.append(PoolLoad(workers, requests_for(workers, expected)))
        return (*asked, PoolLoad(workers // 2, requests_for(workers // 2, expected)))

    made = pools.visits(workers, loads, number=workers)
    cores = pools.bench.cores
    seen = load_over(made[:1], workers=workers, php_cores=cores.measured, helper_cores=cores.helpers, web_beside_php=bool(cores.nginx))
    threads = threads_for([seen]) if seen is not None else 1
    if threads > pools.threads:
        pools.threads = threads
        pools.progress.note(f"the generator's thread was the limit: it drives on {threads} from now on")
        made = pools.visits(workers, loads, number=workers)
    return PoolMeasured("search", workers, 0, made, now_s(pools.clock), pools.threads)


def _rates_for(rates: Mapping[int, float], wanted: tuple[int, ...]) -> dict[int, float]:
    """Requests per second to expect of each pool: as measured, else of the nearest pool that
    was."""
    return {workers: rates[min(rates, key=lambda known: abs(known - workers))] for workers in wanted}
