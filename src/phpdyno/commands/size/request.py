"""What `phpdyno size` is asked, checked. Pure."""

import re

from msgspec import Struct

from phpdyno.errors import UsageError
from phpdyno.knobs.domain import size_bytes
from phpdyno.model.plan import AppSource, Transport
from phpdyno.model.workload import Workload
from phpdyno.server_files.nginx import MOST_THROUGH_NGINX

AHEAD = 64
"""Requests in flight beyond the workers, at most: enough that each worker always finds the next one
waiting."""
MOST_WORKERS = 400
"""The most workers that are tried unless the user names another number."""
UPPER_WORKERS = 4096
_BINARY = re.compile(r"(?<=[kKmMgG])i?[bB]$")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s)")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/\s*(s|min|m|h))?")
_PER_S = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, None: 1.0}


class Objective(Struct, frozen=True):
    """What the pool has to hold: a 99th percentile of response times in seconds, and requests per
    second that arrive by chance.

    None where it was not asked. `rate_from` says where the rate comes from, '' where there is none.
    """

    p99_s: float | None = None
    rate_per_s: float | None = None
    rate_from: str = ""


class GivenLimits(Struct, frozen=True):
    """What the user says of the machine that the pool is for; None where it is read from this host.

    `memory_kib` is for this pool alone. `others_kib` is what other pools and servers may take of
    the host's memory. `process_max` is php-fpm's, over all its pools, `connections` the database's
    `max_connections`.
    """

    memory_kib: int | None = None
    others_kib: int | None = None
    cores: int | None = None
    process_max: int | None = None
    connections: int | None = None


class SizeRequest(Struct, frozen=True):
    """One run of `size`: the app, the settings that all pools share (`control`, a SPEC), the
    objective and limits; times in seconds."""

    source: AppSource
    control: str = ""
    objective: Objective = Objective()
    limits: GivenLimits = GivenLimits()
    most: int = MOST_WORKERS
    budget_s: float = 300.0
    confidence: float = 0.95
    seed: int = 1
    transport: Transport = "http"
    workload: Workload | None = None
    managers: bool = True


def response_time(text: str, *, option: str) -> float:
    """`200ms` or `0.2s` in seconds. Raises UsageError."""
    match = _TIME.fullmatch(text.strip())
    if not match or float(match[1]) <= 0.0:
        raise UsageError(f"{text!r} is no response time", where=option, next_step="write for example 200ms or 1.5s")
    return float(match[1]) / (1e3 if match[2] == "ms" else 1.0)


def request_rate(text: str, *, option: str) -> float:
    """`50/s`, `3000/min` or `50` in requests per second. Raises UsageError."""
    match = _RATE.fullmatch(text.strip())
    if not match or float(match[1]) <= 0.0:
        raise UsageError(f"{text!r} is no rate of requests", where=option, next_step="write for example 50/s or 3000/min")
    return float(match[1]) / _PER_S[match[2]]


def memory_kib(text: str, *, option: str) -> int:
    """`512M`, `2G` or `512MiB` in KiB. Raises UsageError."""
    found = size_bytes(_BINARY.sub("", text.strip()))
    if found is None or found < 1 << 20:
        raise UsageError(f"{text!r} is no size of memory from 1M on", where=option, next_step="write for example 512M or 2G")
    return found // 1024


def check_asked(asked: SizeRequest) -> None:
    """Raises UsageError for numbers that cannot be."""
    through = MOST_THROUGH_NGINX - AHEAD
    if asked.transport == "http" and asked.most > through:
        what = f"{asked.most} workers are more than the {through} that can be kept busy through nginx"
        raise UsageError(what, where="--most", next_step="name fewer, or measure with --transport fastcgi")
    if not 1 <= asked.most <= UPPER_WORKERS:
        raise UsageError(f"{asked.most} is not from 1 to {UPPER_WORKERS}", where="--most")
    for option, number in (
        ("--cores", asked.limits.cores),
        ("--process-max", asked.limits.process_max),
        ("--max-connections", asked.limits.connections),
    ):
        if number is not None and number < 1:
            raise UsageError(f"{number} is less than 1", where=option)
    if not (asked.budget_s > 0.0 and 0.0 < asked.confidence < 1.0):
        raise UsageError("times lie above 0, and a confidence between 0 and 1")
