"""The native load core against real nginx and real php-fpm: our own children, in a directory of
their own."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES, Engine, Samples, Target

pytestmark = pytest.mark.integration

MS = 1_000_000
CHILDREN = 4
AS_ROOT = os.geteuid() == 0

SCRIPTS = {
    "hello.php": "<?php echo str_repeat('x', 1000);",
    "error.php": "<?php http_response_code(500); echo 'broken';",
    "fatal.php": "<?php no_such_function();",
    "moved.php": "<?php header('Location: /hello.php');",
    "chunks.php": "<?php for ($i = 0; $i < 20; $i++) { echo str_repeat('y', 997); flush(); }",
    "large.php": "<?php echo str_repeat('z', 3_000_000);",
    "echo.php": "<?php echo strlen(file_get_contents('php://input')), ' ', $_SERVER['REQUEST_METHOD'];",
    "stderr.php": "<?php error_log('to the log'); echo 'said';",
    "slow.php": "<?php usleep(5000); echo 'slow';",
    "suicide.php": "<?php exec('kill -9 ' . getmypid());",
}

FPM_CONF = """
[global]
daemonize = no
error_log = {home}/fpm.log
{pools}
"""

POOL_CONF = """
[{name}]
{user}
listen = {listen}
listen.mode = 0666
pm = static
pm.max_children = {children}
php_admin_flag[display_errors] = off
"""

NGINX_CONF = """
{user}
daemon off;
worker_processes 1;
pid {home}/nginx.pid;
error_log {home}/nginx-error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {home}/temp-body;
    fastcgi_temp_path {home}/temp-fastcgi;
    proxy_temp_path {home}/temp-proxy;
    scgi_temp_path {home}/temp-scgi;
    uwsgi_temp_path {home}/temp-uwsgi;
    client_max_body_size 10m;
    keepalive_requests 50;
    server {{
        listen 127.0.0.1:{port};
        listen unix:{home}/nginx.sock;
        root {home}/www;
        location ~ \\.php$ {{
            fastcgi_pass unix:{home}/fpm.sock;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param CONTENT_TYPE $content_type;
        }}
    }}
}}
"""


def sbin(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        pytest.fail(f"{name} is not installed: run make setup")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_it_listens(address: str, log: Path) -> None:
    target = Target.http(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", status=200)
    engine = Engine(address, [target], response_timeout_ns=50 * MS)
    deadline = time.monotonic() + 10
    while OUTCOMES[engine.fetch(0).outcome] == "connect_failed":
        if time.monotonic() > deadline:
            pytest.fail(f"nothing listens at {address}: {log.read_text() if log.exists() else 'no log'}")
        time.sleep(0.02)
    engine.close()


@contextmanager
def child(*argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process group of its own, which ends with the block."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def new_home() -> Iterator[Path]:
    """A directory that unprivileged workers can enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="phpdyno-native-") as name:
        home = Path(name)
        home.chmod(0o755)
        (home / "www").mkdir()
        for script, code in SCRIPTS.items():
            (home / "www" / script).write_text(code)
        (home / "www" / "kilobyte.bin").write_bytes(b"k" * 1024)
        yield home


@contextmanager
def php_fpm(home: Path, listens: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    user = "user = nobody\ngroup = nogroup" if AS_ROOT else ""
    pools = [POOL_CONF.format(name=name, user=user, listen=at, children=CHILDREN) for name, at in listens.items()]
    conf = home / "fpm.conf"
    conf.write_text(FPM_CONF.format(home=home, pools="".join(pools)))
    with child(sbin("php-fpm8.2"), "-F", "-n", "-R", "-y", str(conf)) as process:
        for at in listens.values():
            wait_until_it_listens(f"unix:{at}" if at.startswith("/") else f"tcp:{at}", home / "fpm.log")
        yield process


@dataclass(frozen=True)
class Stack:
    """The addresses of one php-fpm and of the nginx in front of it."""

    home: Path
    fpm_unix: str
    fpm_tcp: str
    nginx_unix: str
    nginx_tcp: str


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with new_home() as home:
        fpm_port, nginx_port = free_port(), free_port()
        conf = home / "nginx.conf"
        user = "user nobody nogroup;" if AS_ROOT else ""
        conf.write_text(NGINX_CONF.format(home=home, port=nginx_port, user=user))
        listens = {"unix": f"{home}/fpm.sock", "tcp": f"127.0.0.1:{fpm_port}"}
        log = home / "nginx-error.log"
        with (
            php_fpm(home, listens),
            child(sbin("nginx"), "-p", str(home), "-e", str(log), "-c", str(conf)),
        ):
            stack = Stack(
                home=home,
                fpm_unix=f"unix:{home}/fpm.sock",
                fpm_tcp=f"tcp:127.0.0.1:{fpm_port}",
                nginx_unix=f"unix:{home}/nginx.sock",
                nginx_tcp=f"tcp:127.0.0.1:{nginx_port}",
            )
            wait_until_it_listens(stack.nginx_unix, log)
            yield stack


def http(path: str, status: int = 200, method: str = "GET", body: bytes = b"", size: int | None = None) -> Target:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    low, high = (0, 2**62) if size is None else (size, size)
    request = head.encode() + body
    return Target.http(request, status=status, min_bytes=low, max_bytes=high, head=method == "HEAD")


def fastcgi(home: Path, script: str, status: int = 200, stdin: bytes = b"", size: int | None = None) -> Target:
    params = {
        "SCRIPT_FILENAME": f"{home}/www/{script}",
        "REQUEST_METHOD": "POST" if stdin else "GET",
        "REQUEST_URI": f"/{script}",
        "CONTENT_LENGTH": str(len(stdin)),
        "CONTENT_TYPE": "application/octet-stream",
        "SERVER_PROTOCOL": "HTTP/1.1",
    }
    low, high = (0, 2**62) if size is None else (size, size)
    pairs = [(name.encode(), value.encode()) for name, value in params.items()]
    return Target.fastcgi(pairs, stdin, status=status, min_bytes=low, max_bytes=high)


def sequence(*targets: int) -> NDArray[np.uint32]:
    return np.array(targets, np.uint32)


def count(samples: Samples) -> dict[str, int]:
    codes, counts = np.unique(samples.outcome, return_counts=True)
    return {OUTCOMES[code]: int(number) for code, number in zip(codes, counts, strict=True)}


@pytest.mark.parametrize("family", ["unix", "tcp"])
@pytest.mark.parametrize("keep_alive", [True, False])
def test_fastcgi_straight_to_php_fpm(stack: Stack, family: str, keep_alive: bool) -> None:
    address = stack.fpm_unix if family == "unix" else stack.fpm_tcp
    targets = [
        fastcgi(stack.home, "hello.php", size=1000),
        fastcgi(stack.home, "error.php", status=500, size=6),
        fastcgi(stack.home, "missing.php", status=404),
        fastcgi(stack.home, "moved.php", status=302, size=0),
        fastcgi(stack.home, "large.php", size=3_000_000),
    ]
    engine = Engine(address, targets, keep_alive=keep_alive)
    rows = np.random.default_rng(1).choice(5, 200, p=[0.6, 0.1, 0.1, 0.1, 0.1]).astype(np.uint32)
    samples = engine.run(rows, concurrency=CHILDREN)
    engine.close()
    assert count(samples) == {"ok": 200}
    assert samples.connects == (CHILDREN if keep_alive else 200)
    assert samples.status[rows == 3].tolist() == [302] * int((rows == 3).sum())
    assert samples.target.tolist() == rows.tolist()
    assert np.all(samples.done_ns >= samples.first_byte_ns)


def test_http_keep_alive_through_nginx(stack: Stack) -> None:
    targets = [
        http("/kilobyte.bin", size=1024),
        http("/hello.php", size=1000),
        http("/missing.txt", status=404),
        http("/missing.php", status=404),
        http("/error.php", status=500, size=6),
        http("/kilobyte.bin", method="HEAD", size=0),
    ]
    rows = np.arange(1000, dtype=np.uint32) % 6
    for address in (stack.nginx_unix, stack.nginx_tcp):
        samples = Engine(address, targets).run(rows)
        assert count(samples) == {"ok": 1000}
        # nginx says `Connection: close` with its 50th answer.
        assert samples.connects == 1000 // 50
        wide = Engine(address, targets).run(rows, concurrency=16)
        assert count(wide) == {"ok": 1000}


def test_an_answer_in_chunks(stack: Stack) -> None:
    engine = Engine(stack.nginx_tcp, [http("/chunks.php", size=20 * 997)])
    assert count(engine.run(sequence(*[0] * 20), concurrency=2)) == {"ok": 20}
    response = engine.fetch(0)
    assert (b"Transfer-Encoding", b"chunked") in response.headers
    assert response.body == b"y" * 20 * 997
    straight = Engine(stack.fpm_unix, [fastcgi(stack.home, "chunks.php", size=20 * 997)], keep_alive=False)
    assert straight.fetch(0).body == response.body


def test_both_transports_give_the_same_answer(stack: Stack) -> None:
    over_http = Engine(stack.nginx_unix, [http("/hello.php")]).fetch(0)
    over_fastcgi = Engine(stack.fpm_tcp, [fastcgi(stack.home, "hello.php")], keep_alive=False).fetch(0)
    assert over_http.status == over_fastcgi.status == 200
    assert over_http.body == over_fastcgi.body == b"x" * 1000
    assert [name for name, _ in over_fastcgi.headers] == [b"X-Powered-By", b"Content-type"]


def test_what_is_not_expected_is_told(stack: Stack) -> None:
    targets = [fastcgi(stack.home, "error.php"), fastcgi(stack.home, "hello.php", size=999)]
    samples = Engine(stack.fpm_unix, targets, keep_alive=False).run(sequence(0, 1))
    assert [OUTCOMES[code] for code in samples.outcome] == ["wrong_status", "wrong_length"]
    assert (samples.status.tolist(), samples.body_bytes.tolist()) == ([500, 200], [6, 1000])


def test_large_request_bodies(stack: Stack) -> None:
    body = b"b" * 1_000_000
    over_http = Engine(stack.nginx_tcp, [http("/echo.php", method="POST", body=body)]).fetch(0)
    over_fastcgi = Engine(stack.fpm_unix, [fastcgi(stack.home, "echo.php", stdin=body)], keep_alive=False).fetch(0)
    assert over_http.body == over_fastcgi.body == b"1000000 POST"


def test_stderr_of_php(stack: Stack) -> None:
    engine = Engine(stack.fpm_unix, [fastcgi(stack.home, "stderr.php"), fastcgi(stack.home, "fatal.php", 500)])
    response = engine.fetch(0)
    assert (response.body, b"to the log" in response.stderr) == (b"said", True)
    samples = engine.run(sequence(0, 0, 1))
    engine.close()
    assert count(samples) == {"ok": 3}
    assert samples.stderr_bytes > 2 * len("to the log")


def test_a_worker_that_dies_costs_only_its_own_request(stack: Stack) -> None:
    targets = [fastcgi(stack.home, "hello.php", size=1000), fastcgi(stack.home, "suicide.php")]
    engine = Engine(stack.fpm_unix, targets, keep_alive=False, response_timeout_ns=5000 * MS)
    samples = engine.run(sequence(*([0] * 20 + [1] + [0] * 20)))
    assert count(samples) == {"ok": 40, "closed_early": 1}
    assert OUTCOMES[samples.outcome[20]] == "closed_early"


def test_php_fpm_killed_in_mid_run_gives_outcomes_and_no_hang() -> None:
    with new_home() as home, php_fpm(home, {"www": f"{home}/fpm.sock"}) as fpm:
        engine = Engine(f"unix:{home}/fpm.sock", [fastcgi(home, "slow.php")], response_timeout_ns=2000 * MS)
        assassin = threading.Timer(0.3, os.killpg, (fpm.pid, signal.SIGKILL))
        assassin.start()
        started = time.monotonic()
        samples = engine.run(np.zeros(5000, np.uint32), concurrency=CHILDREN)
        took = time.monotonic() - started
        assassin.join()
    outcomes = count(samples)
    assert took < 5
    assert sum(outcomes.values()) == 5000
    assert outcomes["ok"] > CHILDREN
    assert outcomes["connect_failed"] > 0
    assert outcomes.get("closed_early", 0) <= CHILDREN
    assert set(outcomes) <= {"ok", "connect_failed", "closed_early"}
