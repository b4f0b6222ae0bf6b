"""What an app reaches for, seen by the real strace on a real pool, and on one that has namespaces
of its own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from phpdyno.drive.driver import failures
from phpdyno.errors import DynoError
from phpdyno.explain.tracing.strace import CannotTrace
from phpdyno.explain.tracing.watching import watch_requests, watching
from phpdyno.model.inside.reach import Program
from phpdyno.report.advice import advise
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.programs.php import default_cli
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.integration.host.test_syscalls import driven_of
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

PAGE = """<?php
error_reporting(0);
session_start();
$_SESSION['a'] = 1;
session_write_close();
fsockopen('127.0.0.1', 1, $code, $text, 1);
fsockopen('127.0.0.1', 1, $code, $text, 1);
stream_socket_client('unix:///nowhere/redis.sock', $code, $text, 1);
mail('somebody@example.test', 'subject', 'text');
$name = tempnam('/tmp', 'reach');
unlink($name);
file_put_contents('/nowhere/app.log', 'line', FILE_APPEND);
exec('SECRET=x true');
echo 'page';
"""


def test_a_pool_is_watched_while_it_serves(tmp_path: Path) -> None:
    sequence = np.zeros(8, dtype=np.uint32)
    arm = plain_arm("two", {"pool.pm.max_children": "2"})
    with plain_bench(tmp_path, index=PAGE) as bench, bench.running([arm]) as (instance,):
        driven = driven_of(bench, instance)
        ours = (str(bench.supervisor.live),)
        reached = watch_requests(bench.supervisor, driven, sequence, ours=ours, sendmail=("/bin/true",))
        # Let go of, not killed; and what strace wrote, which may hold secrets, is gone.
        assert not failures(driven.driver.drive(sequence))
        assert list((bench.supervisor.live / "strace").iterdir()) == []
    assert reached.requests == 8
    assert {each.path or f"{each.host}:{each.port}": (each.outcome, each.calls) for each in reached.connections} == {
        "127.0.0.1:1": ("refused", 16),
        "/nowhere/redis.sock": ("no such file", 8),
    }
    assert reached.programs == (Program("/bin/true", True, "", 8), Program("true", False, "", 8))
    by_error = {each.error: each for each in reached.writes}
    assert by_error["ENOENT"].path == "/nowhere/app.log"
    assert by_error["ENOENT"].calls == 8
    # Sessions, logs and the app's own tree are ours; what is left is the temporary file, by a new
    # name each time.
    assert {each.path.startswith("/tmp/reach") for each in reached.writes if not each.error} == {True}
    assert sum(each.calls for each in reached.writes if each.deed == "removed") == 8
    lines = [each.line for each in advise(reached)]
    assert lines[0] == "2 x a request 127.0.0.1:1, refused: `--allow-network 127.0.0.1:1` lets it through, for this run"
    assert any(line.startswith("once a request mail() handed") for line in lines)
    assert wait_for_no_traces() == []


def test_a_request_that_fails_is_watched_all_the_same(tmp_path: Path) -> None:
    page = "<?php error_reporting(0); if (!fsockopen('127.0.0.1', 1)) { http_response_code(500); }"
    with plain_bench(tmp_path, index=page) as bench, bench.running([plain_arm("broken")]) as (instance,):
        reached = watch_requests(bench.supervisor, driven_of(bench, instance), np.zeros(2, dtype=np.uint32))
    assert [(each.port, each.calls) for each in reached.connections] == [(1, 2)]


def test_an_error_of_the_block_is_the_blocks_own(tmp_path: Path) -> None:
    with plain_bench(tmp_path) as bench, bench.running([plain_arm("plain")]) as (instance,):
        with pytest.raises(FileNotFoundError), watching(bench.supervisor, [instance.php_pid]) as watched:
            raise FileNotFoundError
        with pytest.raises(DynoError, match="not known before the watching ends"):
            watched.found()
        assert list((bench.supervisor.live / "strace").iterdir()) == []


def test_ptrace_forbidden_is_said(tmp_path: Path) -> None:
    with (
        Supervisor(tmp_path / "logs") as supervisor,
        pytest.raises(CannotTrace, match="ptrace is forbidden here"),
        watching(supervisor, [1], as_service=True),
    ):
        raise AssertionError("attached")


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are made by root")
def test_names_and_peers_of_a_process_in_namespaces_of_its_own(tmp_path: Path) -> None:
    """Nothing but loopback, a resolv.conf that names it, and nobody who answers there: names are
    seen all the same."""
    code = (
        "error_reporting(0); echo 'r'; fgets(STDIN); unlink(tempnam('/tmp', 'own')); chdir('/var/tmp'); rename('none', 'other');"
        "fsockopen('api.example.test', 443); stream_socket_client('tcp://192.0.2.7:80', $c, $t, 1); exec('cat /dev/null | true'); echo 'x';"
    )
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions attempts:1\n")
    with Supervisor(tmp_path / "logs") as supervisor, isolated(tmp_path / "resolv.conf", code) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(1) == b"r"
        with watching(supervisor, children_of(process.pid), requests=1) as watched:
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.read(1) == b"x"
        reached = watched.found()
    assert [(each.name, each.calls, each.resolved) for each in reached.lookups] == [("api.example.test", 1, False)]
    assert [(each.host, each.outcome) for each in reached.connections] == [("192.0.2.7", "unreachable")]
    assert reached.programs == (Program("cat", False, "", 1),)
    assert {each.path[:8] for each in reached.writes} == {"/tmp/own"}


@contextmanager
def isolated(resolv_conf: Path, code: str) -> Iterator[subprocess.Popen[bytes]]:
    """PHP with namespaces of its own, the child of what is given."""
    within = f'ip link set lo up && mount --bind {resolv_conf} /etc/resolv.conf && mount -t tmpfs none /tmp && exec "$@"'
    argv = ["unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", "--kill-child"]
    argv += ["sh", "-c", within, "sh", default_cli(), "-r", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()
