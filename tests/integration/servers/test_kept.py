"""Kept FastCGI connections with a real php-fpm: as many workers as requests in flight are enough,
and nothing waits for them afterwards."""

from pathlib import Path

import numpy as np
import pytest

from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from tests.support.real.command import fault_of, phpdyno, site
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("workers", [1, 3])
def test_a_slot_keeps_a_connection_for_each_in_flight_and_frees_the_workers_at_its_end(tmp_path: Path, workers: int) -> None:
    arm = plain_arm("control", {"pool.pm.max_children": str(workers)})
    with plain_bench(tmp_path, transport="fastcgi") as bench, bench.running([arm]) as (instance,):
        targets = native_targets(bench.app.workload, "fastcgi", docroot=bench.app.docroot, front_controller="index.php", lengths={})
        driver = NativeDriver(instance.fastcgi, targets, keep_alive=True, concurrency=workers, release=True)
        for _ in range(2):
            samples = driver.drive(np.zeros(30, np.uint32))
            assert failures(samples) == ""
            assert samples.connects == workers
            # The probe wants a worker: it would wait for ever if one were still held.
            assert instance.read_facts(()).workers == workers
        assert driver.fetch(0).status == 200
        assert instance.read_facts(()).workers == workers


def test_fewer_workers_than_requests_in_flight_are_refused_before_anything_starts(tmp_path: Path) -> None:
    docroot = site(tmp_path / "site")
    load = ["--transport", "fastcgi", "--keep-conn", "--concurrency", "4", "--control", "pool.pm.max_children=3", "--aa"]
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *load, "--runs", tmp_path / "runs")
    assert answer.returncode == 2
    assert "a kept connection occupies its worker: 4 in flight need as many, and this pool has 3" in fault_of(answer.stderr)
    assert not (tmp_path / "runs").exists()
