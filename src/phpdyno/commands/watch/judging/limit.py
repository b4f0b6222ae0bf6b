"""What limits a pool now, by the figures of one interval. Pure.

Of several limits the one counts that must be lifted first: connections that are turned away, then
what no number of workers mends (memory, a CPU limit, full cores), then requests that do not end,
then the workers themselves.
"""

from collections.abc import Iterator

from phpdyno.commands.watch.found import HostMoment, Limit, PoolMoment

FULL = 0.92
"""Share of the cores from which on they count as full: what is left is the kernel's and the
scheduler's own."""
ALL_BUSY = 0.5
"""Of the interval: all workers were busy for most of it."""
STOPPED = 0.10
MEMORY_FULL = 0.95
LITTLE_LEFT = 0.03
PRESSED = 0.10
MOSTLY = 0.5
IDLE = 0.02
A_GOOD_PART = 0.2


def limit_of(pool: PoolMoment, host: HostMoment) -> Limit:
    """The first that holds; `nothing` where none does, `unknown` where no source tells how many
    workers are busy."""
    return next(limits_of(pool, host))


def limits_of(pool: PoolMoment, host: HostMoment) -> Iterator[Limit]:
    """All that hold, the one to be lifted first at the head; never empty."""
    found = [
        limit
        for limit in (
            _overflow(pool),
            _memory(pool, host),
            _throttled(pool),
            _cores(pool, host),
            _stuck(pool),
            _workers(pool),
            _growing(pool),
        )
        if limit is not None
    ]
    yield from found
    if not found:
        yield Limit(kind="nothing", because=_idle_words(pool)) if pool.active is not None else Limit(kind="unknown", because=_unknown(pool))


def cores_full(pool: PoolMoment, host: HostMoment) -> bool:
    """Whether no core is left for another worker: of the host's, or of the pool's CPU limit."""
    used_up = host.busy_cores + host.stolen_cores >= FULL * host.cores
    limited = pool.cpu_limit_cores is not None and (pool.cpu_cores or 0.0) >= FULL * pool.cpu_limit_cores
    return used_up or limited or (pool.throttled or 0.0) > STOPPED


def _overflow(pool: PoolMoment) -> Limit | None:
    if not pool.overflows:
        return None
    held = f"{pool.most_queue or 0} waited, {pool.queue_limit if pool.queue_limit is not None else '?'} may"
    return Limit(kind="overflow", because=f"the queue overflows ({held}): connections are turned away")


def _memory(pool: PoolMoment, host: HostMoment) -> Limit | None:
    if pool.memory_limit_kib and pool.memory_used_kib is not None and pool.memory_used_kib >= MEMORY_FULL * pool.memory_limit_kib:
        return Limit(kind="memory", because=f"{pool.memory_used_kib / pool.memory_limit_kib:.0%} of its memory limit is in use")
    swapping = (host.swapped_in_per_s or 0.0) > 100 and (host.swapped_out_per_s or 0.0) > 0
    short = host.memory_kib and host.available_kib is not None and host.available_kib < LITTLE_LEFT * host.memory_kib
    if swapping or short:
        left = "" if host.available_kib is None else f"{host.available_kib / 1024:,.0f} MiB of RAM are left"
        swapped = f"{host.swapped_in_per_s or 0:,.0f} pages a second come from swap" if swapping else ""
        return Limit(kind="memory", because=", ".join(part for part in (swapped, left) if part))
    if (pool.memory_pressure or 0.0) > PRESSED:
        return Limit(kind="memory", because=f"something waited for memory for {pool.memory_pressure:.0%} of the last 10 s")
    return None


def _throttled(pool: PoolMoment) -> Limit | None:
    if (pool.throttled or 0.0) <= STOPPED:
        return None
    return Limit(
        kind="throttled", because=f"its CPU limit of {pool.cpu_limit_cores:g} cores stopped it in {pool.throttled:.0%} of the periods"
    )


def _cores(pool: PoolMoment, host: HostMoment) -> Limit | None:
    if not cores_full(pool, host) or not _wants_cores(pool):
        return None
    waits = f", its workers waited {pool.run_queue_cores:.2f} cores' worth for one" if pool.run_queue_cores else ""
    stolen = f" (the hypervisor took {host.stolen_cores:.1f})" if host.stolen_cores >= 0.05 * host.cores else ""
    return Limit(kind="cores", because=f"{host.busy_cores:.1f} of {host.cores} cores are busy{stolen}{waits}: no number of workers helps")


def _wants_cores(pool: PoolMoment) -> bool:
    """Whether full cores hold it back: its workers compute, or wait for a core, for a good part of
    their time in requests.

    An idle pool is limited by nothing, and one that sleeps by its workers, however full the host
    is.
    """
    wanted = (pool.cpu_cores or 0.0) + (pool.run_queue_cores or 0.0)
    return wanted >= max(IDLE, A_GOOD_PART * (pool.active or 0.0))


def _stuck(pool: PoolMoment) -> Limit | None:
    if not pool.stuck or len(pool.stuck) < MOSTLY * (pool.active or 1.0):
        return None
    first = pool.stuck[0]
    on = f": {first.waits_on}" if first.waits_on else ""
    which = f"the longest for {first.age_s:,.0f} s (process {first.pid}{on})"
    return Limit(kind="stuck", because=f"{len(pool.stuck)} of {pool.active or 0:.0f} busy workers do not end, {which}")


def _workers(pool: PoolMoment) -> Limit | None:
    if pool.all_busy is None or pool.all_busy < ALL_BUSY:
        return None
    waiting = f", {pool.queue:.1f} in the queue" if pool.queue else ""
    share = blocked_share(pool)
    held = f"all {pool.max_children} workers were busy for {pool.all_busy:.0%} of the time{waiting}"
    if share is None:
        return Limit(kind="workers-waiting" if not pool.cpu_cores else "workers-on-cpu", because=held)
    if share >= MOSTLY:
        return Limit(kind="workers-waiting", because=f"{held}; they wait for {share:.0%} of it, on no core")
    return Limit(kind="workers-on-cpu", because=f"{held}; they compute for most of it, and cores are free")


def _growing(pool: PoolMoment) -> Limit | None:
    if pool.max_children is None or pool.total is None or pool.most_active is None or not pool.queue:
        return None
    if pool.pm == "static" or pool.total >= pool.max_children or pool.most_active < pool.total:
        return None
    return Limit(kind="growing", because=f"all {pool.total} workers are busy and {pool.queue:.1f} wait, while php-fpm starts more")


def blocked_share(pool: PoolMoment) -> float | None:
    """Share of the time in requests that workers neither ran nor waited for a core; None where it
    is not known or next to nothing."""
    if pool.blocked_cores is None or pool.active is None or pool.active < 0.02:
        return None
    return min(1.0, pool.blocked_cores / pool.active)


def _idle_words(pool: PoolMoment) -> str:
    most = f"at most {pool.most_active} of {pool.max_children}" if pool.max_children else f"{pool.active:.1f}"
    return f"{most} workers are busy"


def _unknown(pool: PoolMoment) -> str:
    return f"how many workers are busy is not known from {pool.source}"
