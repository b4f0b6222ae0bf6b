"""What limits a pool now: one interval in, one limit out, with the figures that say so."""

from typing import Any

import pytest

from phpdyno.commands.watch.found import StuckWorker
from phpdyno.commands.watch.judging.limit import limit_of, limits_of
from tests.support.made_up.moments import host, pool

FULL = {"active": 5.0, "most_active": 5, "all_busy": 1.0}
STUCK = tuple(StuckWorker(pid=pid, age_s=900.0 - pid, waits_on="recv on db") for pid in range(3))


@pytest.mark.parametrize(
    ("changed", "around", "kind", "because"),
    [
        ({}, {}, "nothing", "at most 3 of 5 workers are busy"),
        (
            {**FULL, "queue": 4.0, "blocked_cores": 4.5},
            {},
            "workers-waiting",
            "busy for 100% of the time, 4.0 in the queue",
        ),
        (
            {**FULL, "cpu_cores": 4.5, "blocked_cores": 0.2},
            {"cores": 16, "busy_cores": 5.0},
            "workers-on-cpu",
            "they compute for most",
        ),
        ({**FULL, "run_queue_cores": 2.9}, {"busy_cores": 1.95}, "cores", "1.9 of 2 cores are busy, its workers waited 2.90 cores' worth"),
        ({**FULL, "run_queue_cores": 2.9}, {"busy_cores": 1.0, "stolen_cores": 0.9}, "cores", "(the hypervisor took 0.9)"),
        ({"overflows": 12, "most_queue": 512}, {}, "overflow", "512 waited, 511 may"),
        ({"throttled": 0.4, "cpu_limit_cores": 1.5}, {}, "throttled", "its CPU limit of 1.5 cores stopped it in 40% of the periods"),
        ({"cpu_limit_cores": 0.4}, {}, "cores", "no number of workers helps"),
        ({"memory_limit_kib": 1000.0, "memory_used_kib": 990.0}, {}, "memory", "99% of its memory limit is in use"),
        ({}, {"swapped_in_per_s": 800.0, "swapped_out_per_s": 20.0}, "memory", "800 pages a second come from swap"),
        ({}, {"available_kib": 100 << 10}, "memory", "100 MiB of RAM are left"),
        ({"memory_pressure": 0.4}, {}, "memory", "waited for memory for 40%"),
        (
            {"stuck": STUCK, "active": 4.0},
            {},
            "stuck",
            "3 of 4 busy workers do not end, the longest for 900 s (process 0: recv on db)",
        ),
        ({"pm": "dynamic", "total": 3, "queue": 6.0, "most_active": 3}, {}, "growing", "all 3 workers are busy and 6.0 wait"),
        ({"pm": "dynamic", "total": 3, "queue": 6.0, "most_active": 2}, {}, "nothing", "at most 2 of 5"),
        ({"active": None, "most_active": None, "all_busy": None, "source": "/proc"}, {}, "unknown", "is not known from /proc"),
    ],
)
def test_the_limit_and_its_figures(changed: dict[str, Any], around: dict[str, Any], kind: str, because: str) -> None:
    limit = limit_of(pool(**changed), host(**around))
    assert limit.kind == kind
    assert because in limit.because


def test_an_idle_pool_is_not_limited_by_a_busy_host() -> None:
    idle = {"active": 0.0, "most_active": 0, "cpu_cores": 0.0, "run_queue_cores": 0.0}
    assert limit_of(pool(**idle), host(busy_cores=2.0)).kind == "nothing"
    unknown = {**idle, "active": None, "most_active": None}
    assert limit_of(pool(**unknown), host(busy_cores=2.0)).kind == "unknown"


def test_a_pool_that_sleeps_is_limited_by_its_workers_on_a_busy_host_too() -> None:
    asleep = {**FULL, "cpu_cores": 0.1, "run_queue_cores": 0.2, "blocked_cores": 4.7}
    assert limit_of(pool(**asleep), host(busy_cores=2.0)).kind == "workers-waiting"


def test_reading_from_swap_alone_is_not_yet_a_want_of_memory() -> None:
    assert limit_of(pool(), host(swapped_in_per_s=800.0, swapped_out_per_s=0.0)).kind == "nothing"


def test_of_several_the_one_to_be_lifted_first_is_the_limit() -> None:
    asked = {**FULL, "overflows": 3, "queue": 511.0, "run_queue_cores": 4.0, "blocked_cores": 0.5}
    assert [limit.kind for limit in limits_of(pool(**asked), host(busy_cores=2.0))] == ["overflow", "cores", "workers-on-cpu"]
