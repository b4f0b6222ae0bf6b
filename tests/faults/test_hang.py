"""A server that hangs in the middle of a slot: it costs one time-out, and its arm fails in
words."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from phpdyno.drive.driver import NativeDriver
from phpdyno.drive.requests import native_targets
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters
from phpdyno.experiment.comparison.block import measure_block
from phpdyno.experiment.comparison.schedule import Pair
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import host_meter
from phpdyno.servers.instance import Instance
from tests.support.pages import page_that
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.alone]

# All workers stop answering after some 100 requests, in the second slot.
HANGING = page_that("HANG", after=100, then="sleep(60);")
WORKERS = 4
RESPONSE_TIMEOUT_NS = 1_000_000_000


def driven_of(bench: Bench, instance: Instance) -> DrivenInstance:
    targets = native_targets(bench.app.workload, bench.transport, docroot=bench.app.docroot, front_controller="index.php", lengths={})
    driver = NativeDriver(
        instance.http or "", targets, keep_alive=True, concurrency=WORKERS, max_failures=2**62, response_timeout_ns=RESPONSE_TIMEOUT_NS
    )
    return DrivenInstance(instance, driver)


def test_a_pool_that_hangs_mid_slot_costs_one_time_out_and_fails_its_arm(tmp_path: Path) -> None:
    pool = {"pool.pm": "static", "pool.pm.max_children": str(WORKERS)}
    arms = [plain_arm("control", pool), plain_arm("hangs", pool | {"env.HANG": "1"})]
    pairs = [Pair("hangs", control_first=True, sequence=np.zeros(80, dtype=np.uint32))] * 4
    with plain_bench(tmp_path, index=HANGING) as bench, bench.running(arms) as (plain, hanging):
        shared = SharedMeters(None, host_meter(find_cpu_groups()))
        control, treated = driven_of(bench, plain), driven_of(bench, hanging)
        start = time.monotonic()
        found = measure_block(pairs, control=control, treatments={"hangs": treated}, shared=shared, metric="throughput", tick=lambda: None)
        took_s = time.monotonic() - start
        for driven in (control, treated):
            driven.driver.close()
    assert list(found.failed) == ["hangs"]
    assert re.fullmatch(r"4 timed_out; the rest \(\d+\) not sent or not waited for", found.failed["hangs"])
    assert len(found.pairs) == 1
    # Without the stop: 15 rounds of a second each.
    assert 1.0 <= took_s < 4.0
    assert wait_for_no_traces() == []
