"""Several real instances are woken side by side; afterwards each runs where it is measured,
whatever its pool does."""

import os
from pathlib import Path

import pytest

from phpdyno._native import OUTCOMES
from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.experiment.common.first_requests import make_first_requests
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.servers.facts.meter import children_of
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = pytest.mark.integration

LARGE = 100
POOLS = [
    {"pool.pm.max_children": "1"},
    {"pool.pm": "dynamic", "pool.pm.max_children": "4", "pool.pm.start_servers": "1"},
    {"pool.pm": "ondemand", "pool.pm.max_children": "2"},
    {"pool.pm.max_requests": "1"},
]


def test_woken_instances_answered_and_are_back_on_the_measured_cores(tmp_path: Path) -> None:
    arms = [plain_arm(f"pool {number}", settings) for number, settings in enumerate(POOLS)]
    with plain_bench(tmp_path, index="<?php echo 'woken';") as bench, bench.running(arms) as instances:
        targets = native_targets(bench.app.workload, "http", docroot=bench.app.docroot, front_controller="index.php", lengths={})
        driven_instances = [DrivenInstance(instance, NativeDriver(instance.http, targets, keep_alive=True)) for instance in instances]

        answers = make_first_requests(driven_instances, 1, bench.cores)

        assert [(OUTCOMES[given[0].outcome], given[0].body) for given in answers] == [("ok", b"woken")] * len(arms)
        assert [instance.read_facts(()).opcache is not None for instance in instances] == [True] * len(arms)
        for instance in instances:
            for pid in (instance.php_pid, *children_of(instance.php_pid)):
                assert os.sched_getaffinity(pid) == set(bench.cores.measured)


def test_a_large_pool_is_all_there_and_none_of_it_has_stayed_on_a_core_of_the_others(tmp_path: Path) -> None:
    """Its master forks a hundred workers, and the first one answers when the tenth is made."""
    arms = [plain_arm(f"large {number}", {"pool.pm.max_children": str(LARGE)}) for number in range(2)]
    with plain_bench(tmp_path, index="<?php echo 'woken';") as bench, bench.running(arms) as instances:
        targets = native_targets(bench.app.workload, "http", docroot=bench.app.docroot, front_controller="index.php", lengths={})
        make_first_requests(
            [DrivenInstance(instance, NativeDriver(instance.http, targets, keep_alive=True)) for instance in instances], 1, bench.cores
        )
        for instance in instances:
            pool = children_of(instance.php_pid)
            assert len(pool) == LARGE
            assert {tuple(os.sched_getaffinity(pid)) for pid in pool} == {bench.cores.measured}
