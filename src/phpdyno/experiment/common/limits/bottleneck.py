"""The bottleneck of one interval: a decision table over shares of core time, workers and queue.
Pure, and it always answers."""

from phpdyno.model.runs.bottleneck import Bottleneck, Kind, Load, Shares

FULL = 0.90
"""A core that is busy for longer has no room: the rest is waking up, and the ticks in which the
figures of /proc/stat come."""
STOLEN = 0.10
"""Of the time in which there was work: where a core could be full with it, the verdict on the app
would be one on its neighbours."""
MOST = 0.50
"""Of the helpers' full core."""
STRANGE = 0.10
"""Of php-fpm's cores: what runs there besides php-fpm and some interrupts; an equal neighbour takes
half."""
STRANGE_BESIDE_HELPERS = 0.25
"""Of theirs: interrupts of the network, where they are accounted apart, are not in the components'
figures."""
QUEUED = 0.50
"""Of the samples: a queue in half of them means that no worker was free for half of the time."""
ALL_BUSY = 0.95
"""Of the workers, on the mean."""


def find_bottleneck(load: Load) -> Bottleneck:
    """The first row of the table that holds. What spoils the others comes first, what is full
    before what waits, the load itself last."""
    shares = shares_of(load)
    php_full = shares.php_cores >= FULL
    helper = _full_helper(shares)
    kind: Kind
    if shares.stolen >= STOLEN and _full_with_stolen(load, shares):
        kind = "stolen"
    elif set(load.php_cores) & set(load.helper_cores) and (php_full or helper):
        kind = "shared_core"
    elif php_full and shares.php_cores - shares.php >= STRANGE:
        kind = "stranger_beside_php"
    elif php_full:
        # A neighbour of the helpers took nothing from a php-fpm that is full by itself.
        kind = "all_full" if helper and helper != "stranger_beside_helpers" else "php"
    else:
        kind = helper or _nothing_full(load, shares)
    return Bottleneck(kind, load, shares)


def shares_of(load: Load) -> Shares:
    """Readings as shares. Where the cores themselves were not read, the components that ran there
    stand for them.

    Where nginx, database and generator are not in the cores' own figure (a tick late), their sum is
    the larger one and counts.
    """
    php_time = load.duration_ns * len(load.php_cores)
    helper_time = load.duration_ns * len(load.helper_cores)
    shared = bool(set(load.php_cores) & set(load.helper_cores))
    known = sum(part or 0 for part in (load.generator_ns, load.web_ns, load.database_ns, load.services_ns)) + load.php_ns * shared
    php_cores, helper_cores = max(load.php_cores_ns or 0, load.php_ns), max(load.helper_cores_ns or 0, known)
    stolen = load.stolen_ns or 0
    wanted = stolen + max(php_cores, helper_cores) if shared else stolen + php_cores + helper_cores
    all_time = load.duration_ns * len(set(load.php_cores) | set(load.helper_cores))
    # Of cores that were nearly idle a few stolen ticks would make a large share: half of the time
    # counts at least, as in host/clock.py.
    most = max(wanted, all_time // 2, 1)
    return Shares(
        php=load.php_ns / php_time,
        php_cores=php_cores / php_time,
        helper_cores=helper_cores / helper_time,
        generator=load.generator_ns / helper_time,
        web=None if load.web_ns is None else load.web_ns / helper_time,
        database=None if load.database_ns is None else load.database_ns / helper_time,
        one_web=(load.web_ns or 0) / (load.duration_ns * load.web_workers),
        one_generator=load.generator_ns / (load.duration_ns * load.generator_threads),
        one_worker=load.php_ns / (load.duration_ns * load.workers),
        stolen=stolen / most,
        network=(load.network_ns or 0) / all_time,
        services=None if load.services_ns is None else load.services_ns / helper_time,
    )


def _full_with_stolen(load: Load, shares: Shares) -> bool:
    """Whether cores would be full if all that was stolen had been taken from them; with room even
    so, it is not what limits."""
    stolen = load.stolen_ns or 0
    sides = ((shares.php_cores, len(load.php_cores)), (shares.helper_cores, len(load.helper_cores)))
    return any(busy + stolen / (load.duration_ns * cores) >= FULL for busy, cores in sides)


def _full_helper(shares: Shares) -> Kind | None:
    """The helper that fills the helpers' core; None when it has room. A single-threaded helper may
    be full beside idle cores."""
    if shares.helper_cores < FULL:
        return "generator" if shares.one_generator >= FULL else "web" if shares.one_web >= FULL else None
    used: tuple[tuple[float, Kind], ...] = (
        (shares.database or 0.0, "database"),
        (shares.web or 0.0, "web"),
        (shares.generator, "generator"),
        (shares.services or 0.0, "helpers"),
    )
    if shares.helper_cores - sum(share for share, _ in used) >= STRANGE_BESIDE_HELPERS:
        return "stranger_beside_helpers"
    share, kind = max(used)
    return kind if share >= MOST * shares.helper_cores else "helpers"


def _nothing_full(load: Load, shares: Shares) -> Kind:
    """Cores have room: do requests wait for a worker, or is no more asked?"""
    queued = (load.queue_share or 0.0) >= QUEUED
    if load.concurrency is not None and load.concurrency <= load.workers:
        return "starting_workers" if queued else "concurrency"  # there could be a worker for every request in flight
    all_busy = load.busy_workers is not None and load.busy_workers >= ALL_BUSY * load.workers
    if queued or all_busy or shares.one_worker >= FULL:
        return "workers"
    return "offered_rate" if load.concurrency is None else "unknown"
