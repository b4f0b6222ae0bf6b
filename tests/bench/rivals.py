"""Other people's generators, as processes whose CPU time the kernel tells when they have ended."""

import re
import resource
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Sequence

from phpdyno.drive import rivals
from phpdyno.errors import DynoError
from phpdyno.stack.programs import program_path
from tests.bench.generator import Load
from tests.bench.results import Missing

PACKAGES: dict[str, str] = {str(name): package for name, package in rivals.RIVAL_PACKAGES.items()}
HOST = "localhost"


def find_rival(name: str) -> str:
    """Its path. Raises Missing with the line that installs it."""
    found = shutil.which(name, path=program_path())
    if found is None:
        raise Missing(f"{name} is not installed", next_step=f"sudo apt-get install --no-install-recommends {PACKAGES[name]}")
    return found


def rival_version(name: str) -> str:
    """As it prints it; '' where it is not installed."""
    found = shutil.which(name, path=program_path())
    if found is None:
        return ""
    answer = subprocess.run([found, "-v" if name == "wrk" else "-V"], capture_output=True, text=True, check=False)
    seen = re.search(r"(?:wrk|Version) (\S+)", answer.stdout + answer.stderr)
    return seen[1] if seen else "unknown"


class Wrk:
    """wrk with one thread; it takes whole seconds only."""

    def __init__(self) -> None:
        self._path = find_rival("wrk")

    def drive(self, url: str, *, concurrency: int, seconds: int = 1) -> Load:
        """One measurement; CPU from exec to exit, start-up included."""
        text, cpu_ns, _ = self._run(url, concurrency, seconds)
        return read_wrk(text, cpu_ns)

    def start_up_ns(self, *, concurrency: int, times: int) -> int:
        """CPU of a whole wrk that gets no answer: start, connections, first requests, its timers, its report."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(4 * concurrency)  # the kernel completes the connections; nobody takes them
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            return round(statistics.median(self._run(url, concurrency, 1)[1] for _ in range(times)))

    def _run(self, url: str, concurrency: int, seconds: int) -> tuple[str, int, int]:
        return run_metered(rivals.wrk_argv(self._path, url, host=HOST, concurrency=concurrency, seconds=seconds))


class Ab:
    """ApacheBench, keep-alive."""

    def __init__(self) -> None:
        self._path = find_rival("ab")

    def drive(self, url: str, *, requests: int, concurrency: int) -> Load:
        """One measurement."""
        text, cpu_ns, _ = run_metered(rivals.ab_argv(self._path, url, host=HOST, concurrency=concurrency, requests=requests))
        return read_ab(text, cpu_ns)


def run_metered(argv: Sequence[str]) -> tuple[str, int, int]:
    """Run a command to its end: its output, CPU time and elapsed time in nanoseconds. Raises DynoError when it fails."""
    before, start_ns = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    answer = subprocess.run(argv, capture_output=True, text=True, check=False)
    wall_ns, after = time.monotonic_ns() - start_ns, resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode != 0:
        raise DynoError(f"it ended with exit code {answer.returncode}: {(answer.stderr or answer.stdout).strip()[-300:]}", where=argv[0])
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return answer.stdout, round(cpu_s * 1e9), wall_ns


def read_wrk(text: str, cpu_ns: int) -> Load:
    """wrk's report as a load. Raises DynoError: errors in it."""
    report = rivals.read_wrk(text)
    return Load(report.requests, cpu_ns, report.wall_ns)


def read_ab(text: str, cpu_ns: int) -> Load:
    """ab's report as a load. Raises DynoError: failed requests, or connections that were not kept."""
    report = rivals.read_ab(text)
    if report.kept != report.requests:
        raise DynoError("ab could not keep its connections")
    return Load(report.requests, cpu_ns, report.wall_ns)
