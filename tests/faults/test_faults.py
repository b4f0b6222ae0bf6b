"""Faults while measuring: each ends in a finding or in one clear line, and leaves nothing
behind."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.journal.records import BlockDone, Ended, Incident
from phpdyno.paths import live_root
from phpdyno.servers import bench as bench_module
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.launching import free_port
from tests.faults import kill_loop
from tests.support.pages import page_that
from tests.support.real.command import FEWEST, await_journal, fault_of, phpdyno, records_of, row, site, start, the_run
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

CRASHING = page_that("CRASH", after=400, then="posix_kill(getmypid(), 11); usleep(100000);")
WITH_DATABASE = """<?php
$db = new mysqli('localhost', 'anybody', 'any password', 'app');
echo str_repeat($db->query('SELECT word FROM words WHERE id = 1')->fetch_row()[0], 100);
"""
DUMP = "CREATE TABLE words (id INT PRIMARY KEY, word VARCHAR(20)); INSERT INTO words VALUES (1, 'steady ');\n"


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "runs"
    assert wait_for_no_traces() == []


def test_arms_that_answer_differently_or_do_not_start_are_invalid_and_the_others_go_on(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index="<?php echo str_repeat(getenv('WORD') ?: 'same ', 100);")
    broken = "pool.pm=dynamic;pool.pm.max_children=2;pool.pm.start_servers=9"
    asked = ("--treatment", "env.WORD=other", "--treatment", broken, "--aa", *FEWEST, "--budget", "12s")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    other = row(answer, "env.WORD=other")
    assert (other["kind"], other["ratio"], other["treated"]) == ("invalid", None, None)
    assert "answers differently" in other["reason"]
    assert row(answer, broken)["kind"] == "invalid"
    assert "start_servers" in row(answer, broken)["reason"], "the last lines of its log"
    assert row(answer, "A/A")["blocks"] > 0


def test_a_control_whose_php_fpm_does_not_start_ends_the_run_with_its_last_log_lines(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    broken = "pool.pm=dynamic;pool.pm.max_children=2;pool.pm.start_servers=9"
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", "--control", broken, "--aa", "--runs", runs)
    assert answer.returncode == 1
    assert fault_of(answer.stderr)
    assert "php-fpm does not start" in answer.stderr
    assert "start_servers" in answer.stderr


def test_a_worker_that_segfaults_mid_block_makes_its_arm_invalid(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index=CRASHING)
    # Four slots of 200: the request that crashes is in the first block, on a slow host as well.
    asked = ("--treatment", "env.CRASH=1", "--aa", "--slot", "200", *FEWEST, "--budget", "20s")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    crashed = row(answer, "env.CRASH=1")
    assert (crashed["kind"], crashed["ratio"]) == ("invalid", None)
    assert "SIGSEGV" in crashed["reason"]
    assert any(isinstance(record, Incident) and record.arm == "env.CRASH=1" for record in records_of(runs))
    assert row(answer, "A/A")["blocks"] > 0


UNLUCKY = """<?php
// The fourth request of an instance is one of its warm-up; the third instance that gets there fails it, once.
$started = explode(' ', file_get_contents('/proc/self/stat'))[21];
$mine = ini_get('session.save_path') . '/requests' . getmypid() . '-' . $started;
file_put_contents($mine, 'x', FILE_APPEND);
clearstatcache();
if (getenv('UNLUCKY') && filesize($mine) === 4) {
    file_put_contents(getenv('UNLUCKY'), 'x', FILE_APPEND);
    clearstatcache();
    if (filesize(getenv('UNLUCKY')) === 3) { http_response_code(500); exit; }
}
echo str_repeat('x', 500);
"""


@pytest.mark.parametrize("side", ["--treatment", "--control"])
def test_one_request_that_fails_while_an_instance_warms_up_costs_a_block_and_no_more(side: str, tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index=UNLUCKY)
    asked = (side, "env.UNLUCKY=/tmp/unlucky", "--aa", "--slot", "5", *FEWEST, "--budget", "10s")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    assert not Path("/tmp/unlucky").exists()
    failures = [record for record in records_of(runs) if isinstance(record, Incident) and record.kind == "failed block"]
    assert [failure.detail for failure in failures if "warm-up" not in failure.detail] == []
    assert len(failures) == 1
    assert not any(isinstance(record, Incident) and record.kind == "invalid" for record in records_of(runs))
    assert row(answer, "A/A")["blocks"] > 1


LEAKING = """<?php
if (getenv('LEAK')) {
    $libc = FFI::cdef('void *malloc(size_t n); void *memset(void *p, int c, size_t n);', 'libc.so.6');
    $libc->memset($libc->malloc(1 << 20), 1, 1 << 20);
    // The kernel ends what eats a machine's memory; here somebody does it at 96 MiB, long after warm-up.
    if ((int) explode(' ', file_get_contents('/proc/self/statm'))[1] > 96 * 256) {
        posix_kill(getmypid(), SIGKILL_NUMBER);
    }
}
echo '<html><body>', str_repeat('<p>A paragraph that stays.</p>', 40), '</body></html>';
""".replace("SIGKILL_NUMBER", str(int(signal.SIGKILL)))


def test_an_arm_that_leaks_until_it_is_killed_is_invalid_and_the_others_go_on(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index=LEAKING)
    asked = ("--control", "ini.ffi.enable=1", "--treatment", "env.LEAK=1", "--aa", "--slot", "40", *FEWEST, "--budget", "15s")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    leaking = row(answer, "env.LEAK=1")
    assert (leaking["kind"], leaking["ratio"]) == ("invalid", None)
    assert "SIGKILL" in leaking["reason"]
    assert row(answer, "A/A")["blocks"] > 0


def test_a_control_that_segfaults_ends_the_run(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index=CRASHING)
    answer = phpdyno(
        "compare",
        "--docroot",
        docroot,
        "--url",
        "/",
        "--control",
        "env.CRASH=1",
        "--treatment",
        "env.CRASH=",
        "--budget",
        "15s",
        "--runs",
        runs,
    )
    assert answer.returncode == 1
    assert "SIGSEGV" in answer.stderr
    assert "Traceback" not in answer.stderr


def database_app(folder: Path) -> Path:
    site(folder / "site", index=WITH_DATABASE)
    (folder / "dump.sql").write_text(DUMP)
    (folder / "app.toml").write_text('name = "words"\ndocroot = "site"\nsql = "dump.sql"\n[[target]]\npath = "/"\n')
    return folder / "app.toml"


def test_the_database_killed_mid_block_ends_the_run_and_it_can_be_resumed(tmp_path: Path, runs: Path) -> None:
    # Slots so long that there is time to kill it after the first block.
    process = start("compare", database_app(tmp_path), "--aa", "--slot", "200", *FEWEST, "--budget", "20s", "--runs", runs)
    await_journal(runs, "block", 1)
    (server,) = [path for path in Path("/proc").glob("[0-9]*") if _is_our_database(path)]
    os.kill(int(server.name), signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert fault_of(errors)
    assert "MariaDB was ended by SIGKILL" in errors
    assert "--resume" in errors
    ended = [record for record in records_of(runs) if isinstance(record, Ended)]
    assert ended[-1].outcome == "failed"
    blocks = sum(isinstance(record, BlockDone) for record in records_of(runs))
    resumed = phpdyno("compare", "--resume", the_run(runs))
    assert resumed.returncode == 0, resumed.stderr
    assert sum(isinstance(record, BlockDone) for record in records_of(runs)) > blocks


def _is_our_database(process: Path) -> bool:
    try:
        line = (process / "cmdline").read_bytes()
    except OSError:
        return False
    return b"mariadbd" in line and str(live_root()).encode() in line


def test_a_port_that_somebody_took_is_given_up_for_another(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del runs
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free, offered = free_port, [taken.getsockname()[1], taken.getsockname()[1]]
        monkeypatch.setattr(bench_module, "free_port", lambda: offered.pop() if offered else free())
        with plain_bench(tmp_path) as bench, bench.running([plain_arm("control", {"web.socket": "tcp"})]) as (instance,):
            assert not offered
            assert instance.read_facts(()).socket_family == "tcp"


def test_a_stranger_on_nginx_port_is_not_taken_for_our_nginx(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del runs
    with plain_bench(tmp_path) as bench, socket.create_server(("127.0.0.1", 0)) as taken:
        free, offered = free_port, [taken.getsockname()[1]]
        monkeypatch.setattr(bench_module, "free_port", lambda: offered.pop() if offered else free())
        with bench.running([plain_arm("control")]) as (instance,):
            assert not offered
            assert instance.http != f"tcp:127.0.0.1:{taken.getsockname()[1]}"


def test_workers_of_a_master_that_died_do_not_outlive_their_instance(tmp_path: Path, runs: Path) -> None:
    del runs
    with plain_bench(tmp_path) as bench:
        (instance,) = bench.start([plain_arm("control")])
        (worker,) = children_of(instance.fpm.pid)
        os.kill(instance.fpm.pid, signal.SIGKILL)
        assert instance.fpm.wait(5.0)
        assert "SIGKILL" in instance.broken()
        bench.stop([instance])
        assert not Path(f"/proc/{worker}").exists()


def test_a_port_that_stays_taken_is_an_error_with_the_log(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del runs
    with plain_bench(tmp_path) as bench, socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(bench_module, "free_port", lambda: taken.getsockname()[1])
        with pytest.raises(DynoError, match="ddress already in use"):
            bench.start([plain_arm("control", {"web.socket": "tcp"})])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount the small file system that this needs")
def test_a_full_disk_ends_the_run_with_one_line_and_keeps_what_was_measured(tmp_path: Path, runs: Path) -> None:
    runs.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "phpdyno-test", runs], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        docroot = site(tmp_path / "site")
        argv: list[str | Path] = ["--docroot", docroot, "--url", "/", "--aa", "--margin", "0", "--budget", "30s", "--runs", runs]
        with start("compare", *argv) as process:
            await_journal(runs, "block")
            fill(the_run(runs) / "somebody-elses")
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert fault_of(errors)
        assert "the disk is full" in errors
        assert "--resume" in errors
        assert any(isinstance(record, BlockDone) for record in records_of(runs))
    finally:
        subprocess.run(["umount", runs], check=True)


def fill(path: Path) -> None:
    """Take all the room that a file system has left."""
    with path.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while stream.write(bytes(4096)):
            pass


@pytest.fixture
def only(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """An environment in which just the named programs are installed."""

    def environment(*installed: str) -> dict[str, str]:
        directory = tmp_path / "bin"
        directory.mkdir()
        for program in installed:
            (directory / Path(program).name).symlink_to(program)
        return {**os.environ, "PHPDYNO_PATH": str(directory)}

    return environment


FPM, NGINX, PHP = "/usr/sbin/php-fpm8.2", "/usr/sbin/nginx", "/usr/bin/php8.2"


@pytest.mark.parametrize(
    ("installed", "app", "words"),
    [
        ([FPM], ["hello"], ["nginx is not installed", "scripts/setup.sh --packages-only nginx", "--transport fastcgi"]),
        ([FPM, NGINX, PHP], ["wordpress"], ["is not installed", "mariadb-server-core", "need MariaDB"]),
        ([NGINX], ["hello"], ["php-fpm8.2 is not installed", "scripts/setup.sh --packages-only php8.2-fpm"]),
    ],
)
def test_a_server_that_is_not_installed_is_named_with_the_line_that_installs_it(
    only: Callable[..., dict[str, str]], runs: Path, installed: list[str], app: list[str], words: list[str]
) -> None:
    answer = phpdyno("compare", *app, "--aa", "--runs", runs, env=only(*installed))
    assert answer.returncode == 1
    assert all(word in fault_of(answer.stderr) for word in words), answer.stderr


def test_without_nginx_and_mariadb_fastcgi_still_measures(only: Callable[..., dict[str, str]], tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    asked = ("--aa", "--transport", "fastcgi", *FEWEST, "--budget", "12s")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs, env=only(FPM))
    assert answer.returncode == 0, answer.stderr


def test_two_runs_at_once_the_second_is_refused_and_the_first_goes_on(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    argv: list[str | Path] = ["compare", "--docroot", docroot, "--url", "/", "--aa", *FEWEST, "--budget", "10s"]
    first = start(*argv, "--runs", runs)
    await_journal(runs, "plan")
    second = phpdyno(*argv, "--runs", tmp_path / "other")
    assert second.returncode == 1
    assert f"another phpdyno is measuring on this host (process {first.pid})" in second.stderr
    assert not (tmp_path / "other").exists()
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors
    assert any(isinstance(record, BlockDone) for record in records_of(runs))


def test_a_page_with_a_clock_is_compared_all_the_same(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index="<?php echo str_repeat('steady ', 200), 'build ', intdiv(time(), 2), ' at ', date('H:i:s');")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", "--aa", *FEWEST, "--budget", "10s", "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    assert row(answer, "A/A")["kind"] != "invalid", row(answer, "A/A")["reason"]


def test_static_files_beside_pages_are_measured_and_static_files_alone_are_refused(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    (docroot / "style.css").write_text("body { color: red }" * 50)
    argv: list[str | Path] = ["compare", "--docroot", docroot, "--aa", "--slot", "1", *FEWEST, "--budget", "12s"]
    mixed = phpdyno(*argv, "--url", "/", "--url", "/style.css", "--runs", runs)
    assert mixed.returncode == 0, mixed.stderr
    alone = phpdyno(*argv, "--url", "/style.css", "--runs", tmp_path / "other")
    assert alone.returncode == 1
    assert "static files" in fault_of(alone.stderr)


@pytest.mark.long
@pytest.mark.slow
def test_ended_at_random_moments_nothing_is_left() -> None:
    assert kill_loop.main(["--times", "9", "--seed", "2"]) == 0
