"""What other people's generators report."""

import pytest

from phpdyno.drive.rivals import ab_argv, read_ab, read_wrk, wrk_argv
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
AB = """This is ApacheBench, Version 2.3 <$Revision: 1923142 $>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

Benchmarking 127.0.0.1 (be patient).....done


Server Software:        nginx
Server Hostname:        127.0.0.1
Server Port:            8080

Document Path:          /
Document Length:        1683 bytes

Concurrency Level:      10
Time taken for tests:   0.284 seconds
Complete requests:      1000
Failed requests:        0
Keep-Alive requests:    1000
Total transferred:      1860000 bytes
HTML transferred:       1683000 bytes
Requests per second:    3518.64 [#/sec] (mean)
Time per request:       2.842 [ms] (mean)
Time per request:       0.284 [ms] (mean, across all concurrent requests)
Transfer rate:          6391.27 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.0      0       0
Processing:     1    3   0.6      3       6
Waiting:        1    3   0.6      3       6
Total:          1    3   0.6      3       6
"""


def test_the_report_of_wrk() -> None:
    report = read_wrk(WRK)
    assert (report.requests, report.kept) == (56827, None)
    assert report.per_s == pytest.approx(51665.55)


@pytest.mark.parametrize("line", ["  Socket errors: connect 0, read 3, write 0, timeout 0\n", "  Non-2xx or 3xx responses: 7\n"])
def test_errors_in_the_report_of_wrk_are_errors(line: str) -> None:
    with pytest.raises(DynoError, match=line.strip()):
        read_wrk(WRK.replace("Requests/sec", line + "Requests/sec"))


@pytest.mark.parametrize("text", ["", "unable to connect to 127.0.0.1:1 Connection refused\n", WRK.replace("51665.55", "0.00"), WRK[:250]])
def test_what_is_no_report_of_wrk_is_said(text: str) -> None:
    with pytest.raises(DynoError, match="not a report of wrk"):
        read_wrk(text)


def test_the_report_of_ab() -> None:
    report = read_ab(AB)
    assert (report.requests, report.kept) == (1000, 1000)
    assert report.per_s == pytest.approx(3518.64)


def test_connections_that_were_not_kept_are_told() -> None:
    """ab speaks HTTP/1.0: an answer whose length is not told beforehand ends its connection."""
    assert read_ab(AB.replace("Keep-Alive requests:    1000", "Keep-Alive requests:    0")).kept == 0


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Failed requests:        0", "Failed requests:        2", "2 failed, 0 not 2xx"),
        ("Keep-Alive requests:", "Non-2xx responses:      5\nKeep-Alive requests:", "0 failed, 5 not 2xx"),
        ("Complete requests:      1000", "", "not a report"),
        ("Failed requests:        0", "", "not a report"),
        ("Requests per second:    3518.64", "Requests per second:    0.00", "not a report"),
    ],
)
def test_errors_in_the_report_of_ab_are_errors(old: str, new: str, why: str) -> None:
    with pytest.raises(DynoError, match=why):
        read_ab(AB.replace(old, new))


def test_what_they_are_asked_for_is_what_we_send() -> None:
    url = "http://127.0.0.1:8080/?p=1"
    headers = ["-H", "Host: example.test", "-H", "User-Agent: phpdyno", "-H", "Accept: */*"]
    assert wrk_argv("/bin/wrk", url, host="example.test", concurrency=5, seconds=2) == ["/bin/wrk", "-t1", "-c5", "-d2s", *headers, url]
    asked = ab_argv("/bin/ab", url, host="example.test", concurrency=5, requests=700, any_length=True)
    assert asked == ["/bin/ab", "-q", "-k", "-l", "-n", "700", "-c", "5", *headers, url]
