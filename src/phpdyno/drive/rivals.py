"""Other people's generators: how they are asked for the same requests as ours, and what their
reports say."""

import re
from typing import Literal

from msgspec import Struct

from phpdyno.errors import DynoError

Rival = Literal["wrk", "ab"]
RIVAL_PACKAGES: dict[Rival, str] = {"wrk": "wrk", "ab": "apache2-utils"}


class RivalReport(Struct, frozen=True):
    """What a rival did: answered requests, elapsed time, and on how many of them the connection was
    kept (None: it does not tell)."""

    requests: int
    wall_ns: int
    kept: int | None = None

    @property
    def per_s(self) -> float:
        """Throughput."""
        return self.requests / self.wall_ns * 1e9


def rival_headers(host: str) -> tuple[str, ...]:
    """Options for what our own requests carry, so that all generators send the same headers."""
    return ("-H", f"Host: {host}", "-H", "User-Agent: phpdyno", "-H", "Accept: */*")


def wrk_argv(path: str, url: str, *, host: str, concurrency: int, seconds: int) -> list[str]:
    """wrk with one thread; it takes whole seconds only."""
    return [path, "-t1", f"-c{concurrency}", f"-d{seconds}s", *rival_headers(host), url]


def ab_argv(path: str, url: str, *, host: str, concurrency: int, requests: int, any_length: bool = False) -> list[str]:
    """ApacheBench asking for kept connections; `any_length`: an answer of another length than the
    first is no failure."""
    return [path, "-q", "-k", *(["-l"] if any_length else []), "-n", str(requests), "-c", str(concurrency), *rival_headers(host), url]


def read_wrk(text: str) -> RivalReport:
    """wrk's report. The time follows from its rate, which is exact where its rounded time is not.
    Raises DynoError: errors in it."""
    for complaint in ("Socket errors", "Non-2xx"):
        if complaint in text:
            raise DynoError(f"wrk had failures: {text[text.index(complaint) :].splitlines()[0]}")
    requests = re.search(r"^ +(\d+) requests in ", text, re.MULTILINE)
    rate = re.search(r"^Requests/sec: +(\d+(?:\.\d+)?)$", text, re.MULTILINE)
    if requests is None or rate is None or float(rate[1]) == 0.0:
        raise DynoError(f"this is not a report of wrk: {text[:200]!r}")
    return RivalReport(int(requests[1]), round(int(requests[1]) / float(rate[1]) * 1e9))


def read_ab(text: str) -> RivalReport:
    """ab's report. Raises DynoError: failed requests, or a report that lacks a line it should
    have."""
    numbers = {name: float(value) for name, value in re.findall(r"^([A-Z][\w -]*?):\s+(\d+(?:\.\d+)?)(?=\s)", text, re.MULTILINE)}
    requests, rate = int(numbers.get("Complete requests", 0)), numbers.get("Requests per second", 0.0)
    if not requests or not rate or "Failed requests" not in numbers:
        raise DynoError(f"this is not a report of ab: {text[:200]!r}")
    if numbers["Failed requests"] or numbers.get("Non-2xx responses"):
        raise DynoError(f"ab had failures: {numbers['Failed requests']:.0f} failed, {numbers.get('Non-2xx responses', 0):.0f} not 2xx")
    return RivalReport(requests, round(requests / rate * 1e9), int(numbers.get("Keep-Alive requests", 0)))
