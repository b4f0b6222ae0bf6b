"""The number of threads that the generator drives on: more than one only where its thread was
seen to be the limit."""

import math
from collections.abc import Iterable

from phpdyno.experiment.common.limits.bottleneck import find_bottleneck
from phpdyno.model.runs.bottleneck import Load

MOST_THREADS = 4
"""A single thread asks for tens of thousands of small answers a second: no PHP host of a size that
is measured here needs more of them."""


def threads_for(loads: Iterable[Load]) -> int:
    """Threads for a generator that was seen driving these closed loops on one: more than that only
    where its thread was the limit.

    It then gets the cores that nginx and the database leave of the helpers', at most MOST_THREADS,
    for all points and all arms alike.
    """
    full = [load for load in loads if find_bottleneck(load).kind == "generator"]
    return min((_spare(load) for load in full), default=1)


def nginx_workers_for(load: Load) -> int:
    """Processes for an nginx that was seen on one: more than that only where it was the limit, and
    then as many as the cores of the helpers that database and generator leave."""
    if find_bottleneck(load).kind != "web":
        return 1
    others = (load.generator_ns or 0) + (load.database_ns or 0) + (load.services_ns or 0)
    return max(1, len(load.helper_cores) - math.ceil(others / load.duration_ns))


def _spare(load: Load) -> int:
    others = (load.web_ns or 0) + (load.database_ns or 0) + (load.services_ns or 0)
    return max(1, min(MOST_THREADS, len(load.helper_cores) - math.ceil(others / load.duration_ns)))
