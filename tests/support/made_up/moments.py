"""Intervals of a pool and a host, as data."""

from typing import Any

from phpdyno.commands.watch.found import HostMoment, PoolMoment

AT = 1_700_000_000.0
HOST = {"at": AT, "over_s": 1.0, "cores": 2, "busy_cores": 0.5, "memory_kib": 16 << 20, "available_kib": 12 << 20}
POOL = {
    **{"at": AT, "pool": "www", "master": 100, "config": "/etc/php/8.2/fpm/php-fpm.conf", "over_s": 1.0, "source": "scoreboard"},
    **{"pm": "static", "max_children": 5, "configured": 5, "total": 5, "active": 2.0, "most_active": 3, "all_busy": 0.0},
    **{"queue": 0.0, "most_queue": 0, "queue_limit": 511, "overflows": 0, "requests": 1000, "requests_per_s": 40.0},
    **{"cpu_cores": 0.4, "run_queue_cores": 0.1, "blocked_cores": 1.5},
    **{"worker_pss_kib": 26 << 10, "worker_private_kib": 20 << 10, "pool_pss_kib": 130 << 10, "shared_kib": 30 << 10},
}


def host(**changed: Any) -> HostMoment:
    """A quiet host of two cores and 16 GiB."""
    return HostMoment(**{**HOST, **changed})


def pool(**changed: Any) -> PoolMoment:
    """A pool of five workers, two of them busy, mostly waiting."""
    return PoolMoment(**{**POOL, **changed})
