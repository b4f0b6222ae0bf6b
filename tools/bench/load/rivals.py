"""Other people's generators, as processes whose CPU time the kernel tells when they have ended."""

import re
import resource
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from phpdyno.drive import rivals
from phpdyno.drive.rivals import RivalReport, rival_headers
from phpdyno.errors import DynoError
from phpdyno.servers.programs.finding import program_path
from tools.bench.load.generator import Load
from tools.bench.results import Missing

_DEBIAN: dict[str, str] = {**{str(name): package for name, package in rivals.RIVAL_PACKAGES.items()}, "h2load": "nghttp2-client"}
INSTALLS = {
    **{name: f"sudo apt-get install --no-install-recommends {package}" for name, package in _DEBIAN.items()},
    "oha": "cargo install --locked oha",
}
"""The line that installs each."""
HOST = "localhost"


class Ask(Struct, frozen=True):
    """What a rival is to do in one measurement."""

    url: str
    requests: int
    concurrency: int


class Rival(Protocol):
    """A generator of other people; one thread of it."""

    def drive(self, ask: Ask) -> Load:
        """One measurement; CPU from exec to exit, start-up included. Raises DynoError when a
        response was not valid."""

    def start_up(self, ask: Ask, times: int) -> Load:
        """What of a measurement is start-up: its CPU, the median of `times`, and the requests that
        were sent in it."""


def find_rival(name: str) -> str:
    """Its path. Raises Missing with the line that installs it."""
    found = shutil.which(name, path=program_path())
    if found is None:
        raise Missing(f"{name} is not installed", next_step=INSTALLS[name])
    return found


def find_rivals(skipped: list[str]) -> dict[str, Rival]:
    """Those that are installed, by name; of each other one the line that installs it goes to
    `skipped`."""
    found: dict[str, Rival] = {}
    for name in INSTALLS:
        try:
            path = find_rival(name)
        except Missing as missing:
            skipped.append(f"our generator beside {name}: {missing}")
            continue
        found[name] = Wrk(path) if name == "wrk" else Counted(name, path)
    return found


def rival_version(name: str) -> str:
    """As it prints it; '' where it is not installed."""
    found = shutil.which(name, path=program_path())
    if found is None:
        return ""
    answer = subprocess.run([found, {"wrk": "-v", "ab": "-V"}.get(name, "--version")], capture_output=True, text=True, check=False)
    seen = re.search(r"(?:wrk|Version|h2load|oha) (\S+)", answer.stdout + answer.stderr)
    return seen[1] if seen else "unknown"


class Wrk:
    """wrk; it takes whole seconds and no number of requests, so a measurement lasts a second
    whatever is asked."""

    def __init__(self, path: str) -> None:
        self._path = path

    def drive(self, ask: Ask) -> Load:
        """One measurement."""
        text, cpu_ns, _ = self._run(ask.url, ask.concurrency)
        return read_wrk(text, cpu_ns)

    def start_up(self, ask: Ask, times: int) -> Load:
        """CPU of a whole wrk that gets no answer: start, connections, first requests, its timers,
        its report."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(4 * ask.concurrency)  # the kernel completes the connections; nobody takes them
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            return Load(0, round(statistics.median(self._run(url, ask.concurrency)[1] for _ in range(times))), 0)

    def _run(self, url: str, concurrency: int) -> tuple[str, int, int]:
        return run_metered(rivals.wrk_argv(self._path, url, host=HOST, concurrency=concurrency, seconds=1))


class Counted:
    """A rival that is asked for a number of requests: ab, h2load, oha."""

    def __init__(self, name: str, path: str) -> None:
        self._path = path
        self._argv, self._read = COUNTED[name]

    def drive(self, ask: Ask) -> Load:
        """One measurement. Raises DynoError for another number of requests than asked for as
        well."""
        text, cpu_ns, _ = run_metered(self._argv(self._path, ask))
        load = self._read(text, cpu_ns)
        if load.requests != ask.requests:
            raise DynoError(f"it reports {load.requests} requests where it was to send {ask.requests}", where=self._path)
        return load

    def start_up(self, ask: Ask, times: int) -> Load:
        """A measurement with one request for each connection: its CPU, and those requests."""
        shortest = Ask(ask.url, ask.concurrency, ask.concurrency)
        return Load(shortest.requests, round(statistics.median(self.drive(shortest).cpu_ns for _ in range(times))), 0)


def without(load: Load, start_up: Load) -> Load:
    """A measurement with its start-up taken off, CPU and requests."""
    return Load(load.requests - start_up.requests, load.cpu_ns - start_up.cpu_ns, load.wall_ns)


def run_metered(argv: Sequence[str]) -> tuple[str, int, int]:
    """Run a command to its end: its output, CPU time and elapsed time in nanoseconds. Raises
    DynoError when it fails."""
    before, start_ns = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    answer = subprocess.run(argv, capture_output=True, text=True, check=False)
    wall_ns, after = time.monotonic_ns() - start_ns, resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode != 0:
        raise DynoError(f"it ended with exit code {answer.returncode}: {(answer.stderr or answer.stdout).strip()[-300:]}", where=argv[0])
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return answer.stdout, round(cpu_s * 1e9), wall_ns


# ---- how each is asked for the same requests as ours --------------------------------------------


def ab_argv(path: str, ask: Ask) -> list[str]:
    """ApacheBench, keep-alive."""
    return rivals.ab_argv(path, ask.url, host=HOST, concurrency=ask.concurrency, requests=ask.requests)


def h2load_argv(path: str, ask: Ask) -> list[str]:
    """h2load speaking HTTP/1.1. A header `Host` would be a second one beside its own, which nginx
    refuses; `:authority` replaces that."""
    host, *others = (text for text in rival_headers(HOST) if text != "-H")
    headers = [f":authority:{host.partition(':')[2]}", *others]
    counts = ["--h1", "-n", str(ask.requests), "-c", str(ask.concurrency), "-t", "1"]
    return [path, *counts, *(part for header in headers for part in ("-H", header)), ask.url]


def oha_argv(path: str, ask: Ask) -> list[str]:
    """oha with one thread for its requests and without the header Accept-Encoding, which none of
    the others sends."""
    counts = ["-n", str(ask.requests), "-c", str(ask.concurrency), "--worker-threads", "1"]
    return [path, "--no-tui", "--output-format", "json", "--disable-compression", *counts, *rival_headers(HOST), ask.url]


# ---- what each reports --------------------------------------------------------------------------


def read_wrk(text: str, cpu_ns: int) -> Load:
    """wrk's report as a load. Raises DynoError: errors in it."""
    return _load(rivals.read_wrk(text), cpu_ns)


def read_ab(text: str, cpu_ns: int) -> Load:
    """ab's report as a load. Raises DynoError: failed requests, or connections that were not
    kept."""
    report = rivals.read_ab(text)
    if report.kept != report.requests:
        raise DynoError("ab could not keep its connections")
    return _load(report, cpu_ns)


def read_h2load(text: str, cpu_ns: int) -> Load:
    """h2load's report as a load. Raises DynoError: a request that did not end in 2xx, or a report
    that lacks a line it should have.

    It ends with exit code 0 whatever happened, and counts 3xx as succeeded.
    """
    requests = re.search(r"^requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, .*$", text, re.MULTILINE)
    statuses = re.search(r"^status codes: (\d+) 2xx, .*$", text, re.MULTILINE)
    rate = re.search(r"^finished in \S+, (\d+(?:\.\d+)?) req/s, ", text, re.MULTILINE)
    if requests is None or statuses is None or rate is None:
        raise DynoError(f"this is not a report of h2load: {text[-200:]!r}")
    total = int(requests[1])
    if {*map(int, requests.groups()), int(statuses[1])} != {total} or float(rate[1]) == 0.0:
        raise DynoError(f"h2load had failures: {requests[0]}; {statuses[0]}")
    return Load(total, cpu_ns, round(total / float(rate[1]) * 1e9))


class OhaSummary(Struct, frozen=True):
    """Elapsed time, seconds."""

    total: float


class OhaReport(Struct, frozen=True, rename="camel"):
    """What of oha's report is read: requests by their status, and by how they failed without
    one."""

    summary: OhaSummary
    status_code_distribution: Mapping[str, int]
    error_distribution: Mapping[str, int]


def read_oha(text: str, cpu_ns: int) -> Load:
    """oha's report as a load. Raises DynoError: a request that did not end in 2xx, or a report that
    lacks a value it should have.

    It ends with exit code 0 whatever happened, and counts every status as a success.
    """
    try:
        report = msgspec.json.decode(text, type=OhaReport)
    except msgspec.DecodeError as error:
        raise DynoError(f"this is not a report of oha ({error}): {text[:200]!r}") from error
    others = {status: count for status, count in report.status_code_distribution.items() if not status.startswith("2")}
    failed = {**others, **report.error_distribution}
    if failed:
        raise DynoError(f"oha had failures: {', '.join(f'{count} {kind}' for kind, count in failed.items())}")
    requests = sum(report.status_code_distribution.values())
    if not requests or report.summary.total <= 0.0:
        raise DynoError(f"this is not a report of oha (no requests, or no time): {text[:200]!r}")
    return Load(requests, cpu_ns, round(report.summary.total * 1e9))


def _load(report: RivalReport, cpu_ns: int) -> Load:
    return Load(report.requests, cpu_ns, report.wall_ns)


COUNTED: dict[str, tuple[Callable[[str, Ask], list[str]], Callable[[str, int], Load]]] = {
    "ab": (ab_argv, read_ab),
    "h2load": (h2load_argv, read_h2load),
    "oha": (oha_argv, read_oha),
}
"""Of each rival that takes a number of requests: how it is asked, and how its report is read."""
