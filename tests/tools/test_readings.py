"""What is read from other programs' reports and from samples."""

import numpy as np
import pytest
from tools.bench.load.generator import Load
from tools.bench.load.load_core import cost_logs, rate_logs
from tools.bench.load.rivals import find_rival, read_ab, read_wrk
from tools.bench.load.runner_share import share_of

from phpdyno.errors import DynoError

WRK = """Running 1s test @ http://127.0.0.1:8080/
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   190.90us   88.91us   3.03ms   90.89%
    Req/Sec    51.93k     3.28k   56.37k    63.64%
  56827 requests in 1.10s, 68.61MB read
Requests/sec:  51665.55
Transfer/sec:     62.38MB
"""
AB = """Server Hostname:        127.0.0.1
Server Port:            8080
Document Length:        1683 bytes

Concurrency Level:      10
Time taken for tests:   0.284 seconds
Complete requests:      1000
Failed requests:        0
Keep-Alive requests:    1000
Total transferred:      1860000 bytes
Requests per second:    3518.64 [#/sec] (mean)
Time per request:       2.842 [ms] (mean)
Transfer rate:          6391.27 [Kbytes/sec] received
"""


def test_the_report_of_wrk() -> None:
    load = read_wrk(WRK, 500_000_000)
    assert (load.requests, load.cpu_ns) == (56827, 500_000_000)
    assert load.per_s == pytest.approx(51665.55)
    assert load.cpu_per_request_ns == pytest.approx(8798.6, abs=0.1)


@pytest.mark.parametrize("line", ["  Socket errors: connect 0, read 3, write 0, timeout 0\n", "  Non-2xx or 3xx responses: 7\n"])
def test_errors_in_the_report_of_wrk_are_errors(line: str) -> None:
    with pytest.raises(DynoError, match=line.strip()):
        read_wrk(WRK.replace("Requests/sec", line + "Requests/sec"), 1)


def test_the_report_of_ab() -> None:
    load = read_ab(AB, 7)
    assert (load.requests, load.cpu_ns) == (1000, 7)
    assert load.per_s == pytest.approx(3518.64)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Failed requests:        0", "Failed requests:        2", "2 failed"),
        ("Keep-Alive requests:    1000", "Keep-Alive requests:    0", "could not keep"),
        ("Keep-Alive requests:", "Non-2xx responses:      5\nKeep-Alive requests:", "5 not 2xx"),
        ("Complete requests:      1000", "", "not a report"),
    ],
)
def test_errors_in_the_report_of_ab_are_errors(old: str, new: str, why: str) -> None:
    with pytest.raises(DynoError, match=why):
        read_ab(AB.replace(old, new), 1)


def test_a_rival_that_is_missing_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.bench.load.rivals.program_path", lambda: "/no/such/place")
    with pytest.raises(DynoError, match="ab is not installed; sudo apt-get install --no-install-recommends apache2-utils"):
        find_rival("ab")


def test_ratios_of_pairs_are_first_over_second() -> None:
    cheap, dear = Load(100, 1000, 10), Load(50, 1000, 10)
    assert np.exp(cost_logs([cheap], [dear])) == pytest.approx([0.5])
    assert np.exp(rate_logs([cheap], [dear])) == pytest.approx([2.0])


def test_time_between_slots_is_what_no_slot_covers() -> None:
    """Two slots of 40 and 50 ns, 10 ns apart, kept in another order than they were driven in."""
    slot = np.array([0, 0, 1, 1])
    wall = np.array([50, 40])
    sent = np.array([1050, 1070, 1000, 1020], dtype=np.uint64)
    done = np.array([1070, 1095, 1020, 1035], dtype=np.uint64)
    share = share_of(slot, wall, sent, done)
    assert share.between == pytest.approx(10 / 100)
    assert share.unused == pytest.approx(1 - (45 + 35) / 100)
