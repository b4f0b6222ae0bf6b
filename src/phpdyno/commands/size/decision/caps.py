"""What the limits allow, and how many workers may be tried on this host. Pure."""

from collections.abc import Sequence

from phpdyno.commands.size.decision.costs import MOST_GROWTH, growth_of_target
from phpdyno.commands.size.measuring.pools import most_at_once
from phpdyno.commands.size.record import LimitsRead, PoolMeasured, Stopped, TargetMeasured
from phpdyno.commands.size.request import SizeRequest
from phpdyno.stats.capacity.caps import Cap, Caps, all_caps, asked_cap, connections_cap, process_max_cap
from phpdyno.stats.capacity.memory import PoolCost, cost_of, fit_cost

FREE_SHARE = 0.9
"""Of the memory that is free now: what the largest pool under test may take."""
APART = 2
"""The two sizes of a line of memory are so many times apart, at least."""


def caps_of(asked: SizeRequest, limits: LimitsRead, pools: Sequence[PoolMeasured], targets: Sequence[TargetMeasured] = ()) -> Caps:
    """What the limits allow, tightest first, by the memory that was measured so far.

    A pool is reckoned with the memory that it had under load, and once more with each worker as
    large as the heaviest of `targets` makes it, grown as far as `pm.max_requests` will let a leak.
    """
    cost, found = cost_of_pools(pools), [asked_cap(asked.most)]
    worst = max((_largest_kib(each) for each in targets), default=0.0)
    for limit in limits.limits:
        if limit.value is None:
            continue
        if limit.kind == "memory" and cost is not None:
            taken = float(sum(limits.others.values()))
            found.append(Cap("memory", cost.most_workers(float(limit.value), taken), float(limit.value), taken))
            if worst > cost.private_kib:
                most = cost.worst(worst).most_workers(float(limit.value), taken)
                found.append(Cap("memory_worst", most, float(limit.value), taken))
        elif limit.kind == "process_max":
            found.append(process_max_cap(limit.value) or asked_cap(asked.most))
        elif limit.kind == "connections":
            found.append(connections_cap(limit.value))
    return all_caps(found, unreadable=[limit.source for limit in limits.limits if limit.unread])


def _largest_kib(target: TargetMeasured) -> float:
    """What a worker may come to hold for itself by this target."""
    grows = growth_of_target(target)
    return (1.0 + MOST_GROWTH) * grows.base_kib if grows.kind == "leaks" else float(target.steps[-1].private_kib)


def most_to_try(
    asked: SizeRequest,
    limits: LimitsRead,
    pools: Sequence[PoolMeasured],
    stopped: Sequence[Stopped] = (),
    targets: Sequence[TargetMeasured] = (),
) -> int:
    """The most workers that may be started here: what the limits allow, what can be kept busy, what
    memory and database hold now, and fewer than any pool that was stopped."""
    most = [caps_of(asked, limits, pools, targets).most or 1, most_at_once(asked.transport)]
    most += [each.workers - 1 for each in stopped]
    if limits.connections_here is not None:
        most.append(limits.connections_here)
    cost = cost_of_pools(pools)
    if cost is not None and limits.free_kib:
        most.append(cost.most_workers(FREE_SHARE * limits.free_kib))
    return max(1, min(most))


def cost_of_pools(pools: Sequence[PoolMeasured]) -> PoolCost | None:
    """What a pool takes once and each worker more; None before a pool was measured, or where it
    could not be read.

    A line through the largest size and the largest of half of it at most: what few workers share
    looks like their own, and sizes that are close would make the line's slope of their scatter.
    """
    seen = [(each.workers, each.visits[0].memory) for each in sorted(pools, key=lambda each: each.workers)]
    known = [(workers, memory) for workers, memory in seen if memory is not None and memory.workers and not memory.unread]
    if not known:
        return None
    last, most = known[-1][0], float(known[-1][1].pss_kib + (known[-1][1].master_kib or 0))
    before = [(workers, float(memory.pss_kib + (memory.master_kib or 0))) for workers, memory in known if APART * workers <= last]
    if before and most > before[-1][1]:
        return fit_cost([before[-1][0], last], [before[-1][1], most])
    return cost_of(known[-1][1])
