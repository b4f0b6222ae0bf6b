"""What we start is in cgroups below our own: what limits a unit or a container limits it, and who
ends the unit ends all of it."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.servers.supervision.live_directory import LIVE_PREFIX
from tests.support.real.command import COMMAND, await_journal, site
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a unit's cgroup")]


@pytest.fixture
def unit() -> Iterator[Path]:
    """A cgroup as a service manager makes one for a unit."""
    groups = find_cpu_groups()
    if groups is None:
        pytest.skip("no cgroups can be made here")
    place = groups.home / f"pd-unit-{os.getpid()}"
    place.mkdir()
    yield place
    end(place)
    for folder, _, _ in os.walk(place, topdown=False):
        Path(folder).rmdir()


def processes_in(unit: Path) -> list[int]:
    """All that is in a cgroup and those below it; one that is removed meanwhile holds nothing."""
    found: list[int] = []
    for procs in unit.rglob("cgroup.procs"):
        with contextlib.suppress(OSError):
            found += map(int, procs.read_text().split())
    return found


def end(unit: Path) -> None:
    """Kill all that is in a unit, as a service manager does; what is dead and not collected is not
    in it any more."""
    deadline = time.monotonic() + 10
    while left := processes_in(unit):
        assert time.monotonic() < deadline, left
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def await_server_in(run: Path, timeout_s: float = 20.0) -> None:
    """Wait until php-fpm and a group for each kind of server are seen: between blocks there is
    none."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):  # an instance that ends meanwhile
            groups = {group.name.rstrip("0123456789") for group in run.iterdir() if group.is_dir()}
            names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in processes_in(run)]
            if groups >= {"php", "web"} and any("php-fpm" in name for name in names):
                return
        time.sleep(0.01)
    raise AssertionError(f"no php-fpm was seen in {run} within {timeout_s:.0f} s")


def test_all_of_a_run_is_in_its_unit_and_ends_with_it(unit: Path, tmp_path: Path) -> None:
    docroot = site(tmp_path / "site")
    argv = ["compare", "--docroot", docroot, "--url", "/", "--aa", "--margin", "0", "--budget", "60s", "--runs", tmp_path / "runs"]
    entering = ["sh", "-c", f'echo $$ > {unit}/cgroup.procs; exec "$@"', "sh", *COMMAND, *map(str, argv)]
    process = subprocess.Popen(entering, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_journal(tmp_path / "runs", "block", by=process)
    (run,) = [group for group in unit.iterdir() if group.name.startswith(LIVE_PREFIX)]
    await_server_in(run)
    end(unit)
    assert process.wait(10) == -signal.SIGKILL
    process.communicate()
    subprocess.run(
        [*COMMAND, "check", "hello"], capture_output=True, check=True, timeout=60
    )  # the next start clears what the unit's end left
    assert wait_for_no_traces() == []
    assert [group for group in unit.iterdir() if group.is_dir()] == []
