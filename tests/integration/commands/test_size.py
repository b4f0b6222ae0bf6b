"""`phpdyno size` on real servers: full cores, sleeping requests, a leak, limits, interruption,
memory that runs out."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from phpdyno.commands.size import run as size_run
from phpdyno.commands.size.found import SizeFound
from phpdyno.commands.size.measuring import memory_guard
from phpdyno.commands.size.measuring.pools import OutOfMemory
from phpdyno.commands.size.pool_file import BUNDLE, check_pool
from phpdyno.commands.size.record import PoolMeasured, Stopped, read_size
from phpdyno.commands.size.request import SizeRequest
from phpdyno.errors import DynoError
from phpdyno.model.plan import AppSource
from phpdyno.servers.programs.php import default_fpm
from tests.support.fakes.fake_study import FakeProgress
from tests.support.real.command import fault_of, phpdyno, site, start, the_run
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

COMPUTES = "<?php $x = 0; for ($i = 0; $i < 200000; $i++) { $x = ($x * 31 + $i) % 1000003; } echo 'done ', $x;\n"
SLEEPS = "<?php usleep(20000); echo str_repeat('x', 400);\n"
LEAKS = """<?php
$c = FFI::cdef('void *malloc(size_t n); void *memset(void *s, int c, size_t n);');
$c->memset($c->malloc(2000), 1, 2000);
echo str_repeat('x', 400);
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def sized(docroot: Path, runs: Path, *argv: str) -> SizeFound:
    """The document of a run that ended well."""
    answer = phpdyno("size", "--docroot", docroot, "--url", "/", *argv, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    return msgspec.json.decode(answer.stdout, type=SizeFound)


@pytest.mark.alone
def test_full_cores_want_few_workers_and_the_pool_is_a_bundle(tmp_path: Path, runs: Path) -> None:
    found = sized(site(tmp_path / "site", index=COMPUTES), runs, "--budget", "15s", "--no-managers")
    # However full the cores, one worker is as good as any but for the moments in which it waits for
    # its next request.
    assert found.recommended.workers <= 4
    assert "The cores are full: no number of workers helps" in " ".join(found.sentences)
    assert found.outcome == "finished"
    assert found.confirmed[0].what.startswith("recommended")
    assert any("cores × 2" in row.what for row in found.confirmed)
    pool = (the_run(runs) / BUNDLE / "pool" / "zz-phpdyno.conf").read_text()
    assert f"pm.max_children = {found.recommended.workers}" in pool
    assert f"; {found.pool.reasons['pm.max_children']}" in pool
    assert wait_for_no_traces() == []


@pytest.mark.long
def test_sleeping_requests_want_many_and_a_dynamic_pool_starts_one_a_second(tmp_path: Path, runs: Path) -> None:
    argv = ("--budget", "25s", "--most", "16", "--rate", "300/s", "--p99", "200ms")
    found = sized(site(tmp_path / "site", index=SLEEPS), runs, *argv)
    # Six are at work on the mean; two for each core would serve a hundred a second for each of
    # them.
    assert 7 <= found.recommended.workers <= 16
    # How sure it is follows from how much visits scatter on this machine.
    assert found.recommended.reason in {"objective", "unsure", "cap"}
    assert found.recommended.rate_per_s == 300.0
    cost = next(row for row in found.formulas if row.name == "cores × 2").cost
    assert cost is not None
    assert cost > 0.3
    by_name = {row.manager: row for row in found.managers}
    assert by_name.keys() == {"static", "dynamic", "ondemand"}
    assert by_name["static"].forks == 0
    assert by_name["dynamic"].forks >= 1
    assert by_name["dynamic"].forks_per_s is None or by_name["dynamic"].forks_per_s < 2.0
    assert by_name["dynamic"].p99_ms > by_name["static"].p99_ms
    assert by_name["ondemand"].idle_workers == 0
    report = phpdyno("report", the_run(runs))
    assert report.returncode == 0
    assert found.answer.partition("; ")[0] in " ".join(report.stdout.split())


@pytest.mark.long
def test_a_leak_is_told_and_memory_caps_the_pool(tmp_path: Path, runs: Path) -> None:
    app = tmp_path / "app.toml"
    site(tmp_path / "site", index=LEAKS)
    app.write_text('name = "leaks"\ndocroot = "site"\n[ini]\n"ffi.enable" = "1"\n[[target]]\npath = "/"\n')
    answer = phpdyno("size", app, "--memory", "400M", "--most", "4", "--budget", "12s", "--no-managers", "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    found = msgspec.json.decode(answer.stdout, type=SizeFound)
    (cost,) = found.costs
    assert cost.growth_kib is not None
    # 2,000 bytes for each request, and what malloc needs for itself.
    assert cost.growth_kib == pytest.approx(2_016 * 1_000 / 1024, rel=0.25)
    assert cost.max_requests is not None
    assert found.pool.settings["pm.max_requests"] == str(cost.max_requests)
    check_pool(default_fpm(), found.pool.settings)
    memory = next(row for row in found.limits if row.kind == "memory")
    assert memory.value == 400 * 1024
    assert memory.workers is not None
    assert found.recommended.workers <= memory.workers


def test_php_fpm_itself_tests_the_pool() -> None:
    check_pool(default_fpm(), {"pm": "static", "pm.max_children": "4", "listen.backlog": "511"})
    # nextcloud/vm #943: more spare workers than there may be.
    spares = {"pm.start_servers": "20", "pm.min_spare_servers": "20", "pm.max_spare_servers": "77"}
    with pytest.raises(DynoError, match="php-fpm refuses"):
        check_pool(default_fpm(), {"pm": "dynamic", "pm.max_children": "66", **spares})


def test_ctrl_c_leaves_nothing_and_the_run_goes_on(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index=SLEEPS)
    process = start("size", "--docroot", docroot, "--url", "/", "--most", "2", "--budget", "5s", "--no-managers", "--runs", runs)
    deadline = time.monotonic() + 60
    while not (list(runs.glob("*/size.jsonl")) and read_size(the_run(runs)).all_of(PoolMeasured)):
        assert time.monotonic() < deadline, "no pool was measured within a minute"
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert fault_of(errors) == f"phpdyno: interrupted; go on with: phpdyno size --resume {the_run(runs)}"
    assert wait_for_no_traces() == []
    before = read_size(the_run(runs)).all_of(PoolMeasured)
    early = phpdyno("report", the_run(runs))
    assert (early.returncode, "--resume" in early.stderr) == (1, True)
    answer = phpdyno("size", "--resume", the_run(runs), "--json")
    assert answer.returncode == 0, answer.stderr
    told: dict[str, Any] = json.loads(answer.stdout)
    assert told["outcome"] == "finished"
    after = read_size(the_run(runs)).all_of(PoolMeasured)
    assert after[: len(before)] == before, "what was measured before is not measured again"
    again = phpdyno("size", "--resume", the_run(runs))
    assert (again.returncode, "finished" in again.stderr) == (2, True)


def test_a_pool_is_ended_before_memory_runs_out(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # More than any host has is to be left: the first pool is one too many.
    monkeypatch.setattr(memory_guard, "LEAST_KEPT_KIB", 1 << 50)
    site(tmp_path / "site", index=SLEEPS)
    asked = SizeRequest(AppSource(docroot=str(tmp_path / "site"), urls=("/",)), budget_s=20.0, managers=False)
    with pytest.raises(OutOfMemory, match="a pool of 1 workers was stopped"):
        size_run.size(asked, runs=runs, argv=("size",), progress=FakeProgress())
    assert read_size(the_run(runs)).last(Stopped) is not None
    assert wait_for_no_traces() == []
