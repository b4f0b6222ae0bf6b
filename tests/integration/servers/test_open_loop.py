"""The open loop against real servers: beyond saturation, response time is the same wherever
requests wait."""

from pathlib import Path

import numpy as np
import pytest

from phpdyno._native import Engine
from phpdyno.drive.arrivals import constant, evenly
from phpdyno.drive.open_samples import lag_ns, queued, response_ns
from phpdyno.drive.requests import native_targets
from phpdyno.model.plan import Transport
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = [pytest.mark.integration, pytest.mark.alone]

SLOW = "<?php usleep(50000); echo 'done';"
ONE_WORKER = {"pool.pm": "static", "pool.pm.max_children": "1"}


@pytest.mark.parametrize("transport", ["http", "fastcgi"])
@pytest.mark.parametrize("connections", [1, 50])
def test_beyond_saturation_response_time_grows_whether_requests_wait_with_us_or_with_the_server(
    transport: Transport, connections: int, tmp_path: Path
) -> None:
    # One worker answers 20 requests a second, and 40 are sent: the i-th waits 25 ms longer than the
    # one before.
    offsets = evenly(constant(40.0, 0.5))
    with plain_bench(tmp_path, transport=transport, index=SLOW) as bench, bench.running([plain_arm("one", ONE_WORKER)]) as (instance,):
        targets = native_targets(bench.app.workload, transport, docroot=bench.app.docroot, front_controller="index.php", lengths={})
        address = instance.http if transport == "http" else instance.fastcgi
        # A kept FastCGI connection would hold the only worker.
        engine = Engine(address, targets, keep_alive=transport == "http")
        samples = engine.run_open(np.zeros(offsets.size, np.uint32), offsets, connections=connections)
        engine.close()
    assert not samples.outcome.any()
    response = response_ns(samples) / 1e6
    assert np.all(np.diff(response) > 0)
    assert 20 * 50 - 20 * 25 <= response[-1] < 900
    service = (samples.done_ns - samples.sent_ns) / 1e6
    if connections == 1:
        assert queued(samples) >= 18
        assert np.median(service) < 70
    else:
        assert queued(samples) == 0
        # All of the wait is with the server, but for our own lag.
        assert np.array_equal(response_ns(samples), samples.done_ns - samples.sent_ns + lag_ns(samples))
    assert np.median(lag_ns(samples)) < 5e6
