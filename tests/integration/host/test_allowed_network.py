"""A peer of the host's network that the user lets through is reached from the bottle, as root and
as an ordinary user, and no other is."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.host.sockets.network import outside
from phpdyno.model.services.service import Tcp
from phpdyno.paths import live_root
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.supervision.processes import descendants
from phpdyno.servers.supervision.supervisor import THROUGH_LOG, Supervisor
from tests.integration.host.test_ordinary_user import home, python, run_as_nobody
from tests.support.real.command import FEWEST, fault_of, phpdyno, the_run
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration
__all__ = ["home", "python"]

SAYS = "what the peer says"
PAGE = """<?php
$peer = @stream_socket_client('tcp://%s', $number, $why, 5);
if (!$peer) {
    exit(str_repeat("nobody there: $why\\n", 20));
}
fwrite($peer, "GET /said.txt HTTP/1.0\\r\\n\\r\\n");
stream_socket_shutdown($peer, STREAM_SHUT_WR);
[$head, $body] = explode("\\r\\n\\r\\n", stream_get_contents($peer) . "\\r\\n\\r\\n");
echo str_repeat("it says: $body\\n", 20);
"""


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[int]:
    """The port of a web server of the operator's on the host's loopback."""
    (tmp_path / "peer").mkdir()
    (tmp_path / "peer/said.txt").write_text(SAYS)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    argv = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path / "peer")]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + 20
        while not answers(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield port
        server.terminate()


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def site(folder: Path, address: str) -> Path:
    folder.mkdir()
    (folder / "index.php").write_text(PAGE % address)
    return folder


def php(supervisor: Supervisor, code: str, *argv: str) -> str:
    """What PHP says in the bottle."""
    child = supervisor.run("asked", ["php", "-n", "-r", code, "--", *argv])
    return child.said().strip()


def asked(supervisor: Supervisor, address: str) -> str:
    return php(supervisor, "echo @file_get_contents(\"http://{$argv[1]}/said.txt\") ?: error_get_last()['message'];", address)


@pytest.fixture
def supervisor(tmp_path: Path, peer: int) -> Iterator[Supervisor]:
    """With the peer outside: what we start later is in the bottle's network."""
    assert peer
    with Supervisor(tmp_path / "logs") as supervisor:
        if supervisor.no_bottle:
            pytest.skip(f"no bottle can be made here: {supervisor.no_bottle}")
        yield supervisor


def let_through(supervisor: Supervisor, *peers: Tcp) -> None:
    plan = addresses_of((), peers)
    supervisor.add_addresses(plan.addresses, plan.hosts)
    supervisor.let_through(plan.through)


def relays() -> list[int]:
    """Processes that a guardian of ours has made of itself, below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = process.read_bytes()
            if b"phpdyno.servers.supervision.guardian" in line and line.rstrip(b"\0").endswith(str(live_root()).encode()):
                found += [pid for pid in descendants(int(process.parent.name)) if Path(f"/proc/{pid}/cmdline").read_bytes() == line]
    return found


def log_readers(supervisor: Supervisor) -> list[int]:
    """Processes that hold the log of the relay open."""
    held = str(supervisor.logs / THROUGH_LOG)
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(link.readlink()) == held:
                found.add(int(link.parts[2]))
    return sorted(found)


def test_the_peer_is_reached_by_each_of_its_names_and_no_other_is(supervisor: Supervisor, peer: int) -> None:
    assert "Connection refused" in asked(supervisor, f"127.0.0.1:{peer}")
    let_through(supervisor, Tcp("localhost", peer))
    assert asked(supervisor, f"localhost:{peer}") == SAYS
    assert asked(supervisor, f"127.0.0.1:{peer}") == SAYS
    assert "Connection refused" in asked(supervisor, f"127.0.0.2:{peer}")
    assert supervisor.not_reached() == ()


def test_a_peer_that_refuses_is_a_broken_connection_and_is_named(supervisor: Supervisor, peer: int) -> None:
    let_through(supervisor, Tcp("localhost", peer), Tcp("127.0.0.1", 1), Tcp("nobody.invalid", 80), Tcp("::1", 1))
    code = "$s = @stream_socket_client('tcp://' . $argv[1]); var_dump($s ? @fread($s, 10) : false);"  # it may break while it connects
    assert php(supervisor, code, "127.0.0.1:1") == "bool(false)"  # an end would be an empty string
    for address in ("nobody.invalid:80", "[::1]:1"):
        assert "failed" in asked(supervisor, address).lower()
    told = supervisor.not_reached()
    assert told[0] == "127.0.0.1:1: Connection refused"
    assert told[1].startswith("nobody.invalid:80: ")
    assert told[2] == "[::1]:1: Connection refused"


def test_either_side_may_end_first(supervisor: Supervisor) -> None:
    """What is sent before the end arrives whole, and the answer to it as well."""
    listening = outside(lambda: socket.create_server(("127.0.0.1", 0)))
    with listening:
        port = listening.getsockname()[1]
        let_through(supervisor, Tcp("127.0.0.1", port))
        code = (
            "$s = stream_socket_client('tcp://' . $argv[1]); fwrite($s, str_repeat('x', 3_000_000));"
            "stream_socket_shutdown($s, STREAM_SHUT_WR); echo strlen(stream_get_contents($s));"
        )
        child = supervisor.spawn("sends", ["php", "-n", "-r", code, "--", f"127.0.0.1:{port}"])
        listening.settimeout(20)
        accepted, _ = listening.accept()
        with accepted:
            taken = 0
            while data := accepted.recv(1 << 16):
                taken += len(data)
            assert taken == 3_000_000
            accepted.sendall(b"y" * 2_000_000)
        assert child.wait(20)
        assert child.said() == "2000000"


def test_what_relays_has_no_rights_and_nothing_of_ours(supervisor: Supervisor, peer: int) -> None:
    let_through(supervisor, Tcp("127.0.0.1", peer))
    assert asked(supervisor, f"127.0.0.1:{peer}") == SAYS
    (relay,) = log_readers(supervisor)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{relay}/status").read_text().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1"
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd")} == {"0" * 16}
    if os.geteuid() == 0:
        assert {*status["Uid"].split()} == {str(supervisor.user.uid)}
        assert not status["Groups"].strip()


def test_it_ends_with_the_guardian_however_that_ends(tmp_path: Path, peer: int) -> None:
    supervisor = Supervisor(tmp_path / "logs")
    let_through(supervisor, Tcp("127.0.0.1", peer))
    (relay,) = log_readers(supervisor)
    guardian = int(Path(f"/proc/{relay}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guardian, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while log_readers(supervisor) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert log_readers(supervisor) == []
    supervisor.close()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_check_reaches_it_where_it_is_let_through(tmp_path: Path, peer: int, name: str) -> None:
    page = site(tmp_path / "site", f"{name}:{peer}")
    answer = phpdyno("check", "--docroot", page, "--url", "/", "--allow-network", f"{name}:{peer}")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[1] == f"lets through: {name}:{peer}"
    assert f" {20 * len(f'it says: {SAYS}' + chr(10))} " in answer.stdout
    assert "it reached for nothing outside its own files and database" in lines
    assert wait_for_no_traces() == []
    assert relays() == []


def test_without_the_option_it_is_not_reached_and_the_option_is_named(tmp_path: Path, peer: int) -> None:
    answer = phpdyno("check", "--docroot", site(tmp_path / "site", f"127.0.0.1:{peer}"), "--url", "/", "--verbose")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"  once a request 127.0.0.1:{peer}, refused: `--allow-network 127.0.0.1:{peer}` lets it through, for this run" in (
        answer.stdout.splitlines()
    )


def test_a_report_begins_with_it_and_a_resumed_run_has_the_same_peers_and_no_others(tmp_path: Path, peer: int) -> None:
    page, runs = site(tmp_path / "site", f"localhost:{peer}"), tmp_path / "runs"
    whole = phpdyno(
        *("compare", "--docroot", page, "--url", "/", "--aa", *FEWEST, "--budget", "15s", "--runs", runs),
        *("--allow-network", f"localhost:{peer}"),
    )
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert f"lets through: localhost:{peer}" in whole.stdout.splitlines()
    assert whole.stdout.count("lets through") == 1
    run = the_run(runs)
    assert f"<strong>lets through: localhost:{peer}</strong>" in (run / "report.html").read_text()
    # As after an interruption: the plan, and nothing that was measured.
    lines = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    planned = next(number for number, line in enumerate(lines) if line.startswith('{"type":"plan"'))
    (run / "journal.jsonl").write_text("".join(lines[: planned + 1]))
    other = phpdyno("compare", "--resume", run, "--allow-network", "localhost:1")
    assert other.returncode == 2
    assert f"this run began with localhost:{peer} let through" in fault_of(other.stderr)
    answer = phpdyno("compare", "--resume", run)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"lets through: localhost:{peer}" in answer.stdout.splitlines()
    assert wait_for_no_traces() == []


def test_prepare_reaches_it_and_a_sweep_begins_with_it(tmp_path: Path, peer: int) -> None:
    site(tmp_path / "site", f"127.0.0.1:{peer}")
    (tmp_path / "site/prepare.php").write_text(
        f"<?php file_get_contents('http://127.0.0.1:{peer}/said.txt') === '{SAYS}' or exit(1); file_put_contents('prepared', 'x');"
    )
    (tmp_path / "app.toml").write_text(
        f'name = "shop"\ndocroot = "site"\nprepare = ["php", "prepare.php"]\nnetwork = ["127.0.0.1:{peer}"]\n[[target]]\npath = "/"\n'
    )
    answer = phpdyno("measure", tmp_path, "--budget", "8s", "--concurrency", "1", "--no-open", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"lets through: 127.0.0.1:{peer}" in answer.stdout.splitlines()
    assert wait_for_no_traces() == []


def test_a_script_reaches_it_already_when_it_is_asked_for_its_operations(tmp_path: Path, peer: int) -> None:
    (tmp_path / "script").mkdir()
    (tmp_path / "script/bench.php").write_text(
        f"<?php $said = file_get_contents('http://localhost:{peer}/said.txt'); $said === '{SAYS}' or exit(1);"
        "return fn (): string => hash('sha256', str_repeat($said, 5_000));"
    )
    command = ("compare", "--script", tmp_path / "script/bench.php", "--aa", *FEWEST, "--budget", "15s", "--runs", tmp_path / "runs")
    answer = phpdyno(*command, f"--allow-network=localhost:{peer}")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"lets through: localhost:{peer}" in answer.stdout.splitlines()


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_an_ordinary_user_reaches_it_as_well(home: Path, python: tuple[str, dict[str, str]], peer: int) -> None:
    interpreter, env = python
    page = site(home / "site", f"localhost:{peer}")
    command = [interpreter, "-m", "phpdyno", "check", "--docroot", str(page), "--url", "/"]
    answer = run_as_nobody([*command, "--allow-network", f"localhost:{peer}"], env, home)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[1] == f"lets through: localhost:{peer}"
    assert f" {20 * len(f'it says: {SAYS}' + chr(10))} " in answer.stdout
    assert not list(home.glob("phpdyno-*"))
