"""The page of `phpdyno watch --serve` in a browser, beside a pool that is loaded and reloaded."""

import http.client
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.support.optional import absent
from tests.support.real.browser import Browser, browser, find_chromium
from tests.support.real.live import LivePhp, live_php
from tests.support.real.watched import WAIT_S, Watching, loaded, pool_text, watching

CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="another account's memory can be read by root only"),
]


@pytest.fixture
def live() -> Iterator[LivePhp]:
    with live_php(www2=pool_text(most=2)) as running:
        running.start()
        with loaded(running, "sleep", clients=4):
            yield running


def address(watch: Watching) -> str:
    """Where it says that it listens."""
    end = time.monotonic() + WAIT_S
    while not (found := re.search(r"http://(127\.0\.0\.1:\d+)/ shows this", watch.errors)):
        assert time.monotonic() < end, watch.errors
        time.sleep(0.02)
    return found[1]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_pools_live_and_what_happened(live: LivePhp, width: int, tmp_path: Path) -> None:
    if CHROMIUM is None:
        absent("there is no chromium here; apt-get install chromium")
    with watching(f"{live.pid}:www2", "--interval", "0.5s", "--serve", "0") as watch, browser(CHROMIUM) as tab:
        watch.until(type="pool", limit=lambda limit: limit and limit["kind"] == "workers-waiting")
        tab.open(f"http://{address(watch)}/", width=width, drawn=False)
        tab.until("document.querySelectorAll('article').length === 1")
        assert tab.evaluate("document.querySelector('h2').textContent") == "www2"
        tab.until("document.querySelector('.limit').textContent.startsWith('Limit now: workers, waiting: all 2 workers were busy')")
        points = "document.querySelector('polyline').getAttribute('points').split(' ').length"
        before = tab.evaluate(points)
        tab.until(f"{points} > {before}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
        time.sleep(1.1)  # its start time is in whole seconds
        os.kill(live.pid, signal.SIGUSR2)
        tab.until("document.getElementById('events').textContent.includes('was reloaded')")
        tab.screenshot(tmp_path / "page.png")
        seen = tab.seen()
        assert seen.console == ()
        assert all(url.startswith((f"http://{address(watch)}/", "data:,")) for url in seen.requests), seen.requests
        assert watch.end(signal.SIGINT) == 0
        tab.until("document.getElementById('stale').textContent.includes('does not answer any more')")
        no_foreign_complaints(tab)


def no_foreign_complaints(tab: Browser) -> None:
    """Of a server that is gone the browser itself complains, and nobody else."""
    assert all("ERR_CONNECTION_REFUSED" in line or "ERR_" in line for line in tab.seen().console)


def test_metrics_of_a_running_pool_are_openmetrics(live: LivePhp) -> None:
    with watching(f"{live.pid}:www2", "--interval", "0.3s", "--serve", "0") as watch:
        watch.until(type="pool", requests_per_s=lambda rate: rate and rate > 1)
        served = address(watch)
        connection = http.client.HTTPConnection(served, timeout=10)
        connection.request("GET", "/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        text = connection.getresponse().read().decode()
        connection.close()
        assert watch.end(signal.SIGTERM) == 0
        with pytest.raises(OSError, match="refused"):
            http.client.HTTPConnection(served, timeout=10).connect()
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    samples = {sample.name: sample.value for family in families for sample in family.samples if sample.labels.get("pool") == "www2"}
    assert samples["phpdyno_pool_max_workers"] == 2
    assert samples["phpdyno_pool_requests_total"] > 1
    assert samples["phpdyno_pool_blocked_seconds_total"] > 0
    assert "pid" not in {name for family in families for sample in family.samples for name in sample.labels}
