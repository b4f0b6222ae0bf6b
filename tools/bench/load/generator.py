"""Our load generator as a process of its own, for a fair comparison of CPU time with other
generators.

`python -m tools.bench.load.generator` reads one line with the routes and then one order per line on
its standard input, and answers each with a line on its standard output. It ends at end of file, so
it never outlives who started it.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import numpy as np
from msgspec import Struct

from phpdyno._native import OUTCOMES
from phpdyno.drive.arrivals import constant, poisson
from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.open_samples import lag_ns, queued, response_ns
from phpdyno.drive.requests import LengthClass, native_targets
from phpdyno.errors import DynoError
from phpdyno.host.clock import read_host_cpu, stolen_share
from phpdyno.model.plan import Transport
from phpdyno.model.workload import Target, Workload
from phpdyno.stats.percentile import percentile
from tools.bench.stamp import ROOT


class Route(Struct, frozen=True):
    """One page at one address over one transport."""

    name: str
    address: str
    transport: Transport
    path: str
    docroot: str
    front_controller: str


class Order(Struct, frozen=True, tag="closed"):
    """Send `requests` requests over the route, closed loop."""

    route: str
    requests: int
    concurrency: int


class OpenOrder(Struct, frozen=True, tag="open"):
    """Send requests over the route at `rate` per second for `seconds`, open loop, Poisson;
    `concurrency` connections at most."""

    route: str
    rate: float
    seconds: float
    concurrency: int
    seed: int


class Load(Struct, frozen=True):
    """What a generator did: valid requests, its own CPU time (user + system), elapsed time."""

    requests: int
    cpu_ns: int
    wall_ns: int

    @property
    def cpu_per_request_ns(self) -> float:
        """CPU of the generator per request."""
        return self.cpu_ns / self.requests

    @property
    def per_s(self) -> float:
        """Throughput."""
        return self.requests / self.wall_ns * 1e9


class Lag(Struct, frozen=True):
    """What an open loop saw: requests, the 99th percentiles of the generator's own lag and of the
    response time from the intended times, how many requests had to wait because all connections
    were busy, and the share that the hypervisor took of the generator's core."""

    requests: int
    lag_p99_ns: int
    response_p99_ns: int
    queued: int
    stolen: float


class Reply(Struct, frozen=True):
    """The answer to an order; `failure` in words, '' when every response was valid."""

    load: Load
    failure: str


class OpenReply(Struct, frozen=True):
    """The answer to an order for an open loop; `lag` is None when there was a failure."""

    lag: Lag | None
    failure: str


class Worker:
    """Carries out orders. Connections are kept from one order to the next, as the runner keeps
    them."""

    def __init__(self, routes: list[Route]) -> None:
        self._routes = {route.name: route for route in routes}
        self._drivers: dict[tuple[str, int], NativeDriver] = {}

    def carry_out(self, order: Order) -> Reply:
        """One batch; only the driving is metered, giving back the samples included."""
        driver = self._driver(order)
        sequence = np.zeros(order.requests, dtype=np.uint32)
        before_ns = own_cpu_ns()
        samples = driver.drive(sequence)
        failure, wall_ns = failures(samples), samples.ended_ns - samples.started_ns
        del samples
        return Reply(Load(order.requests, own_cpu_ns() - before_ns, wall_ns), failure)

    def carry_out_open(self, order: OpenOrder) -> OpenReply:
        """One open loop; its arrivals are drawn beforehand."""
        driver = self._driver(order)
        offsets_ns = poisson(constant(order.rate, order.seconds), np.random.default_rng(order.seed))
        cores = tuple(os.sched_getaffinity(0))
        before = read_host_cpu(cores=cores)
        samples = driver.drive_open(np.zeros(offsets_ns.size, dtype=np.uint32), offsets_ns)
        stolen = stolen_share(before, read_host_cpu(cores=cores))
        if failure := failures(samples):
            return OpenReply(None, failure)
        lag_p99_ns, response_p99_ns = percentile(lag_ns(samples), 99.0), percentile(response_ns(samples), 99.0)
        return OpenReply(Lag(offsets_ns.size, lag_p99_ns, response_p99_ns, queued(samples), stolen), "")

    def _driver(self, order: Order | OpenOrder) -> NativeDriver:
        key = (order.route, order.concurrency)
        if key not in self._drivers:
            route = self._routes[order.route]
            first = _driver(route, {}, 1)
            answer = first.fetch(0)
            first.close()
            if OUTCOMES[answer.outcome] != "ok":
                raise DynoError(f"{route.name} does not answer: {OUTCOMES[answer.outcome]} {answer.status} {answer.detail}")
            exactly = LengthClass(len(answer.body), len(answer.body))
            self._drivers[key] = _driver(route, {route.path: exactly}, order.concurrency)
        return self._drivers[key]


def _driver(route: Route, lengths: dict[str, LengthClass], concurrency: int) -> NativeDriver:
    targets = native_targets(
        Workload((Target(route.path),)),
        route.transport,
        docroot=Path(route.docroot),
        front_controller=route.front_controller,
        lengths=lengths,
    )
    return NativeDriver(route.address, targets, keep_alive=route.transport == "http", concurrency=concurrency)


def own_cpu_ns() -> int:
    """User and system time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


class Ours:
    """The other side: starts the generator and gives it orders. It runs on the cores that its
    starter is pinned to."""

    def __init__(self, routes: list[Route]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.bench.load.generator"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is ours; the generator ends with our end of the pipe
        )
        self._tell(msgspec.json.encode(routes))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        with self._process.stdout as rest:
            rest.read()  # what it still answers
        self._process.wait()

    def drive(self, route: str, *, requests: int, concurrency: int) -> Load:
        """One batch. Raises DynoError when a response was not valid."""
        reply = msgspec.json.decode(self._ask(Order(route, requests, concurrency)), type=Reply)
        if reply.failure:
            raise DynoError(f"our generator had failures on {route}: {reply.failure}")
        return reply.load

    def drive_open(self, order: OpenOrder) -> Lag:
        """One open loop. Raises DynoError when a response was not valid."""
        reply = msgspec.json.decode(self._ask(order), type=OpenReply)
        if reply.lag is None:
            raise DynoError(f"our generator had failures on {order.route}, open loop: {reply.failure}")
        return reply.lag

    def size_for(self, route: str, *, seconds: float, concurrency: int) -> int:
        """Warm the route up and say how many requests take about `seconds`."""
        self.drive(route, requests=20 * concurrency, concurrency=concurrency)
        rate = self.drive(route, requests=60 * concurrency, concurrency=concurrency).per_s
        rate = self.drive(route, requests=max(60 * concurrency, round(rate * 0.3)), concurrency=concurrency).per_s
        return max(20 * concurrency, round(rate * seconds))

    def _ask(self, order: Order | OpenOrder) -> bytes:
        self._tell(msgspec.json.encode(order))
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise DynoError("our generator ended")
        return line

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()


def main() -> None:
    """The generator's own loop."""
    worker = Worker(msgspec.json.decode(sys.stdin.buffer.readline(), type=list[Route]))
    for line in iter(sys.stdin.buffer.readline, b""):
        order = msgspec.json.decode(line, type=Order | OpenOrder)
        reply = worker.carry_out(order) if isinstance(order, Order) else worker.carry_out_open(order)
        sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
