"""Sampling real processes of our own: what they wait for, and whom their sockets are connected
to."""

import fcntl
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phpdyno.explain.waits.descriptors import Descriptors, KnownEnds, address_words, wait_for_end
from phpdyno.explain.waits.sampler import CannotSeeWaits, address_in, polled_in, sampling_waits, selected_in
from phpdyno.explain.waits.syscall_numbers import BY_MACHINE
from phpdyno.model.inside.waits import Wait, WaitsSeen
from phpdyno.servers.facts.meter import children_of

pytestmark = pytest.mark.skipif(platform.machine() not in BY_MACHINE, reason="another machine")
LOOKED_S = 0.3


@contextmanager
def python(script: str, *argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that says a line when it is ready."""
    process = subprocess.Popen([sys.executable, "-c", script, *argv], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def seen(process: subprocess.Popen[bytes], known: KnownEnds | None = None) -> WaitsSeen:
    with sampling_waits(lambda: (process.pid,), known or KnownEnds()) as sampling:
        time.sleep(LOOKED_S)
    return sampling.seen


def mostly(found: WaitsSeen) -> Wait:
    return max(found.waits, key=lambda each: found.waits[each])


def test_a_sleeping_process_sleeps() -> None:
    with python("import time; print('ready', flush=True); time.sleep(60)") as process:
        found = seen(process)
    assert mostly(found) == Wait("sleep")
    assert found.sweeps > 50
    # Nearly all of the time that it was looked at.
    assert found.blocked_ns(Wait("sleep")) > 0.8 * found.wall_ns


def test_a_busy_process_runs() -> None:
    with python("print('ready', flush=True)\nwhile True: pass") as process:
        found = seen(process)
    assert found.on_cpu_ns + found.queued_ns > 0.8 * found.wall_ns
    assert found.running > 0.8 * found.sweeps


def test_a_lock_is_told(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    held = file.open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    script = "import fcntl, sys; f = open(sys.argv[1]); print('ready', flush=True); fcntl.flock(f, fcntl.LOCK_EX)"
    with python(script, str(file)) as process:
        assert mostly(seen(process)) == Wait("lock", "flock")
    held.close()


@pytest.mark.parametrize("how", ["s.recv(1)", "import select; select.poll(); p = select.poll(); p.register(s); p.poll()", "SELECT"])
def test_the_database_is_known_by_its_unix_socket_however_it_is_waited_for(tmp_path: Path, how: str) -> None:
    path = tmp_path / "db.sock"
    wait = "import select; select.select([s], [], [])" if how == "SELECT" else how.replace("p.register(s)", "p.register(s, 1)")
    script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('ready', flush=True); " + wait
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        with python(script, str(path)) as process:
            found = seen(process, KnownEnds(names={str(path): Wait("database", "MariaDB")}))
    assert mostly(found) == Wait("database", "MariaDB")


def test_a_peer_without_a_name_is_told_by_its_address() -> None:
    script = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('ready', flush=True); s.recv(1)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with python(script, str(port)) as process:
            assert mostly(seen(process)) == Wait("network", f"127.0.0.1:{port}")


def test_who_waits_for_the_next_request_is_idle_and_who_reads_one_waits_for_the_web_server(tmp_path: Path) -> None:
    path = tmp_path / "fpm.sock"
    script = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('ready', flush=True); "
        "c, _ = s.accept(); c.recv(1)"
    )
    known = KnownEnds(own=frozenset({str(path)}))
    with python(script, str(path)) as process:
        assert mostly(seen(process, known)) == Wait("idle")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            assert mostly(seen(process, known)) == Wait("web")


def test_a_child_that_is_waited_for_is_another_process() -> None:
    with python("import subprocess; print('ready', flush=True); subprocess.call(['sleep', '60'])") as process:
        found = seen(process)
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)
    assert mostly(found).kind == "process"


def test_a_worker_that_ends_meanwhile_keeps_what_it_used() -> None:
    script = "import time; print('ready', flush=True)\nend = time.monotonic() + 0.1\nwhile time.monotonic() < end: pass"
    with python(script) as process:
        found = seen(process)
    assert found.running > 0
    assert found.on_cpu_ns >= 0


def test_no_worker_and_an_unknown_machine_are_said() -> None:
    with pytest.raises(CannotSeeWaits, match="no worker"), sampling_waits(lambda: (), KnownEnds()):
        pass
    with pytest.raises(CannotSeeWaits, match="of vax are not known"), sampling_waits(lambda: (1,), KnownEnds(), machine="vax"):
        pass


def test_descriptors_are_closed_again() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    with python("import time; print('ready', flush=True); time.sleep(60)") as process:
        seen(process)
        open_now = set(Path("/proc/self/fd").iterdir())
    # The pipes of the process itself.
    assert len(open_now - before) <= 3


def test_files_pipes_and_what_is_gone() -> None:
    descriptors = Descriptors(os.getpid(), KnownEnds())
    read, write = os.pipe()
    file = os.open(__file__, os.O_RDONLY)
    assert descriptors.wait_on(read) == Wait("process", "a pipe")
    assert descriptors.wait_on(file) == Wait("disk", "files")
    for each in (read, write, file):
        os.close(each)
    assert descriptors.wait_on(file) is None
    descriptors.close()


def test_addresses_in_words() -> None:
    assert address_words(("127.0.0.1", 3306)) == "127.0.0.1:3306"
    assert address_words(("::1", 3306, 0, 0)) == "[::1]:3306"
    assert address_words(("::ffff:10.0.0.1", 80, 0, 0)) == "10.0.0.1:80"
    assert address_words(b"\0abstract") == "@abstract"
    assert address_words("/run/db.sock") == "/run/db.sock"
    assert address_words("") == address_words(None) == ""


def test_what_lies_in_a_process_s_memory() -> None:
    assert polled_in(b"\x05\0\0\0\x01\0\0\0\xff\xff\xff\xff\x01\0\0\0\x07") == (5,)
    assert selected_in(b"\x09\x01") == (0, 3, 8)
    assert address_in(b"\x01\0/run/db.sock\0rest") == "/run/db.sock"
    assert address_in(b"\x02\0\x0c\xea\x7f\0\0\x01" + bytes(8)) == "127.0.0.1:3306"
    assert address_in(b"\x0a\0\x0c\xea" + bytes(4) + bytes(15) + b"\x01" + bytes(4)) == "[::1]:3306"
    assert address_in(b"\x10\0\0\0") == address_in(b"") == ""


def test_an_unconnected_socket_is_told_as_that() -> None:
    with socket.socket() as end:
        assert wait_for_end(end, KnownEnds()) == Wait("network", "no connection yet")
