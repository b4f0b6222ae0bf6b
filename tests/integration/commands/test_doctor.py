"""`phpdyno doctor` on this very host, and on poorer ones made of it: no strace, no ptrace, no /sys,
one core, no servers."""

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from phpdyno.commands.doctor.run import CheckUp
from phpdyno.host.checkup.check import Check
from phpdyno.host.lock import MeasuringLock
from phpdyno.paths import live_root
from tests.support.real.command import COMMAND, fault_of, phpdyno, start
from tests.support.traces import traces_of, wait_for_no_traces

pytestmark = pytest.mark.integration

LOOK = ["doctor", "--no-estimate", "--json"]
SYSTEM = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
PTRACE, PERF_EVENT_OPEN = {"x86_64": (101, 298), "aarch64": (117, 241)}.get(os.uname().machine, (-1, -1))


def found(answer: subprocess.CompletedProcess[str], code: int = 0) -> CheckUp:
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert answer.stderr == ""
    return msgspec.json.decode(answer.stdout, type=CheckUp)


def line(of: CheckUp, name: str) -> Check:
    (check,) = [check for check in of.checks if check.name == name]
    return check


def look(*before: str, prepare: Callable[[], None] | None = None, env: dict[str, str] | None = None) -> CheckUp:
    """A check-up started through another program, or after a change to the process itself."""
    argv = [*before, *COMMAND, *LOOK]
    environment = {**os.environ, **(env or {})}
    return found(subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, preexec_fn=prepare, env=environment))


def programs_but(folder: Path, *absent: str) -> dict[str, str]:
    """An environment in which these programs are not installed."""
    folder.mkdir()
    for place in SYSTEM:
        for path in Path(place).iterdir():
            if path.name not in absent and not (folder / path.name).is_symlink():
                (folder / path.name).symlink_to(path)
    return {"PHPDYNO_PATH": str(folder)}


def test_this_host_can_measure_and_looking_leaves_nothing(tmp_path: Path) -> None:
    env = {**os.environ, "PHPDYNO_CACHE": str(tmp_path / "cache")}
    seen = found(phpdyno(*LOOK, "--runs", tmp_path / "runs", env=env))
    assert seen.possible
    assert seen.estimate is None
    assert list(dict.fromkeys(check.group for check in seen.checks)) == ["measuring", "isolation", "tools", "servers", "disk"]
    assert line(seen, "nginx").found.startswith("nginx/")
    assert any(check.name.startswith("php-fpm 8") and "opcache" in check.found for check in seen.checks)
    assert line(seen, "ASLR").state == "ok"
    assert line(seen, "cache").found.startswith(str(tmp_path / "cache"))
    assert list(tmp_path.iterdir()) == []
    assert list(live_root().iterdir()) == []


def test_the_table_fits_and_is_plain_where_nobody_looks() -> None:
    answer = phpdyno("doctor", "--no-estimate", "--verbose", env={**os.environ, "COLUMNS": "80"})
    assert answer.returncode == 0
    assert max(len(line) for line in answer.stdout.splitlines() if not line.startswith("Fix ")) <= 80
    assert "\x1b" not in answer.stdout
    assert answer.stderr == ""


def test_a_short_measurement_says_what_is_decidable_and_leaves_nothing(tmp_path: Path) -> None:
    seen = found(phpdyno("doctor", "--json", "--runs", tmp_path / "runs", env={**os.environ, "PHPDYNO_CACHE": str(tmp_path / "cache")}))
    estimate = seen.estimate
    assert estimate is not None
    assert not estimate.failed, estimate.sentence
    assert estimate.app == "hello"
    assert estimate.sigma_pair is not None
    assert estimate.sigma_pair > 0
    assert [each.effect for each in estimate.decidable] == [0.01, 0.05, 0.005]
    times = {each.effect: each.seconds for each in estimate.decidable}
    assert times[0.05] is not None
    assert times[0.01] is None or times[0.05] < times[0.01]
    assert "a difference of 1 % " in estimate.sentence
    assert list(tmp_path.iterdir()) == []
    assert traces_of() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_estimate_that_is_cut_short_leaves_nothing(number: signal.Signals) -> None:
    process = start("doctor", "--json")
    deadline = time.monotonic() + 30.0
    while not (at_work := any("php-fpm" in trace for trace in traces_of())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert at_work
    assert process.poll() is None
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -9)
    assert "Traceback" not in errors
    assert wait_for_no_traces() == []


def test_beside_another_measurement_there_is_no_estimate_and_no_fault() -> None:
    with MeasuringLock():
        seen = found(phpdyno("doctor", "--json"))
    assert seen.possible
    assert seen.estimate is not None
    assert "another phpdyno is measuring on this host (process" in seen.estimate.sentence


def test_an_unknown_app_is_refused_before_anything() -> None:
    answer = phpdyno("doctor", "--app", "wordpres")
    assert answer.returncode == 2
    assert "did you mean wordpress?" in fault_of(answer.stderr)


def test_one_core_and_no_strace(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    seen = look(prepare=lambda: os.sched_setaffinity(0, {core}), env=programs_but(tmp_path / "bin", "strace"))
    assert line(seen, "cores").state == "limits"
    assert f"core {core} for everything" in line(seen, "cores").found
    assert (line(seen, "strace").state, line(seen, "ptrace").state) == ("missing", "unknown")
    assert line(seen, "strace").fix == "sudo apt-get install --no-install-recommends strace"
    assert seen.possible


def test_without_servers(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    env = {**os.environ, "PHPDYNO_PATH": str(tmp_path / "bin")}
    seen = found(phpdyno("doctor", "--json", env=env), code=1)
    assert not seen.possible
    assert seen.estimate is None
    assert {check.name for check in seen.checks if check.essential} == {"php-fpm"}
    shown = phpdyno("doctor", "--verbose", env={**env, "COLUMNS": "200"})
    assert shown.returncode == 1
    lines = [text.strip() for text in shown.stdout.splitlines()]
    assert "fix: sudo apt-get install --no-install-recommends strace" in lines
    for packages in ("nginx", "php8.2-fpm php8.2-opcache", "mariadb-server-core mariadb-client-core"):
        assert f"fix: sudo sh scripts/setup.sh --packages-only {packages}" in lines
    assert "nothing can be measured before this is mended" in shown.stdout


def test_without_nginx_the_estimate_is_over_fastcgi(tmp_path: Path) -> None:
    seen = found(phpdyno("doctor", "--json", env={**os.environ, **programs_but(tmp_path / "bin", "nginx")}))
    assert seen.possible
    assert line(seen, "nginx").state == "missing"
    assert seen.estimate is not None
    assert (seen.estimate.failed, seen.estimate.transport) == (False, "fastcgi"), seen.estimate.sentence
    assert "over FastCGI" in seen.estimate.sentence
    assert traces_of() == []


@pytest.mark.skipif(PTRACE < 0, reason="the filter is written for x86-64 and aarch64")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_ptrace_and_counters_forbidden_by_a_filter() -> None:
    seen = look(prepare=lambda: forbid(PTRACE, PERF_EVENT_OPEN))
    assert line(seen, "ptrace").state == "limits"
    assert "not permitted" in line(seen, "ptrace").found
    assert line(seen, "PMU").state == "limits"
    assert "kernel.perf_event_paranoid" in line(seen, "PMU").fix
    assert seen.possible


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide file systems from a process")
def test_without_sys_and_cgroups() -> None:
    seen = look("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$0" "$@"')
    assert seen.possible
    assert line(seen, "cgroups").state == "limits"
    assert "schedstat" in line(seen, "CPU time").found
    assert line(seen, "huge pages (THP)").state == "unknown"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide file systems from a process")
def test_without_proc() -> None:
    argv = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"', *COMMAND, *LOOK]
    seen = found(subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False), code=1)
    assert line(seen, "CPU time").essential
    assert line(seen, "steal").state == "unknown"
    assert line(seen, "swap").state == "unknown"


def forbid(*calls: int) -> None:
    """Answer EPERM to these system calls from now on, as a container's filter does."""
    load_number, equal, give, allow, refuse = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050001
    steps = [(load_number, 0, 0, 0)]
    for position, call in enumerate(calls):
        steps.append((equal, len(calls) - position, 0, call))
    steps += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, filtering = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_filter, filtering, program):
        os.write(2, f"no filter: {os.strerror(ctypes.get_errno())}\n".encode())
        os._exit(99)
