"""The listen queue as the kernel tells it: real sockets of our own, replies cut and bent, and the
sampler."""

import contextlib
import errno
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.host.sockets.listen_queue import ListenQueue, listeners_at, parse_tcp_reply, parse_unix_reply
from phpdyno.host.sockets.queue_sampler import QueueSampler, levels_of
from phpdyno.model.runs.readings import QueueLevel, QueueLevels

# As Linux 6.18 answered about a socket with three of seven places taken.
UNIX_REPLY = bytes.fromhex("3400000014000000010000001706000001010a0048efc80301100000000000000c00040003000000070000000500060000000000")


@contextlib.contextmanager
def waiting_at(listener: socket.socket, count: int) -> Iterator[list[socket.socket]]:
    clients = [socket.socket(listener.family) for _ in range(count)]
    try:
        for client in clients:
            client.connect(listener.getsockname())
        yield clients
    finally:
        for client in clients:
            client.close()


@contextlib.contextmanager
def unix_listener(path: Path, backlog: int = 7) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(backlog)
        yield listener


def test_a_unix_queue_is_what_nobody_has_accepted_yet(tmp_path: Path) -> None:
    path = tmp_path / "a b.sock"
    with unix_listener(path) as listener, ListenQueue(f"unix:{path}") as queue:
        assert queue.read() == QueueLevel(0, 7)
        with waiting_at(listener, 3):
            assert queue.read() == QueueLevel(3, 7)
            listener.accept()[0].close()
            assert queue.read() == QueueLevel(2, 7)


def test_a_file_that_was_replaced_belongs_to_the_new_listener(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix_listener(path, 3) as old:
        path.unlink()
        with unix_listener(path, 9) as new, waiting_at(new, 2), ListenQueue(f"unix:{path}") as queue:
            assert queue.read() == QueueLevel(2, 9)
            assert old.fileno() >= 0


def test_an_inode_number_of_more_than_32_bits_is_known_by_those(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def large(path: str) -> os.stat_result:
        found = real(path)
        return os.stat_result((found.st_mode, found.st_ino + (1 << 32), *found[2:10]))

    path = tmp_path / "s"
    with unix_listener(path, 9):
        with monkeypatch.context() as large_numbers:
            large_numbers.setattr(os, "stat", large)
            queue = ListenQueue(f"unix:{path}")
        with queue:
            assert queue.read() == QueueLevel(0, 9)


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_tcp_queue(family: socket.AddressFamily, host: str) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip("no such address here")
        listener.listen(9)
        port = listener.getsockname()[1]
        with ListenQueue(f"tcp:[{host}]:{port}" if ":" in host else f"tcp:{host}:{port}") as queue:
            assert queue.read() == QueueLevel(0, 9)
            with waiting_at(listener, 4):
                assert queue.read() == QueueLevel(4, 9)


@pytest.mark.skipif(shutil.which("ss") is None, reason="iproute2 is not installed")
def test_ss_sees_the_same(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix_listener(path) as listener, waiting_at(listener, 5), ListenQueue(f"unix:{path}") as queue:
        told = subprocess.run(["ss", "-xlnH", "src", str(path)], capture_output=True, text=True, check=True).stdout.split()
        assert queue.read() == QueueLevel(int(told[2]), int(told[3])) == QueueLevel(5, 7)


def test_nobody_listens(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with pytest.raises(FileNotFoundError):
        ListenQueue(f"unix:{path}")
    path.touch()
    with pytest.raises(ConnectionRefusedError):
        ListenQueue(f"unix:{path}")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="No such file"):
            ListenQueue(f"tcp:127.0.0.1:{bound.getsockname()[1]}")
    with pytest.raises(ValueError, match="localhost"):
        ListenQueue("tcp:localhost:80")


def test_a_listener_that_is_gone_is_an_error_and_never_a_zero(tmp_path: Path) -> None:
    with contextlib.ExitStack() as ends:
        with unix_listener(tmp_path / "s"):
            queue = ends.enter_context(ListenQueue(f"unix:{tmp_path}/s"))
        with pytest.raises(OSError, match="No such file"):
            queue.read()


def test_only_listeners_of_exactly_this_path_are_found() -> None:
    table = (
        b"Num       RefCount Protocol Flags    Type St Inode Path\n"
        b"00000000: 00000002 00000000 00010000 0001 01 11 /s\n"
        b"00000000: 00000003 00000000 00000000 0001 02 0 /s\n"
        b"00000000: 00000002 00000000 00010000 0001 01 12 /s2\n"
        b"00000000: 00000003 00000000 00000000 0001 03 13\n"
        b"00000000: 00000002 00000000 00010000 0001 01 14 /s\n"
    )
    assert listeners_at("/s", table) == [11, 14]


def test_a_reply_as_it_was_seen() -> None:
    assert parse_unix_reply(UNIX_REPLY).level == QueueLevel(3, 7)
    assert parse_unix_reply(UNIX_REPLY).file_inode is None


def test_a_reply_about_a_connection_is_refused() -> None:
    """Of one the same field counts bytes."""
    with pytest.raises(OSError, match="no answer about a listening socket"):
        parse_unix_reply(UNIX_REPLY[:18] + b"\x01" + UNIX_REPLY[19:])


def test_the_kernels_error_is_an_oserror() -> None:
    refused = struct.pack("=IHHIIi", 36, 2, 0, 1, 0, -errno.EPERM) + bytes(16)
    for parse in (parse_unix_reply, parse_tcp_reply):
        with pytest.raises(PermissionError):
            parse(refused)


@given(st.integers(0, len(UNIX_REPLY) - 1))
def test_a_reply_cut_short_is_refused(length: int) -> None:
    for parse in (parse_unix_reply, parse_tcp_reply):
        with pytest.raises(OSError, match="no answer"):
            parse(UNIX_REPLY[:length])


@given(st.binary(max_size=200) | st.binary(max_size=80).map(lambda tail: UNIX_REPLY[:20] + tail))
def test_any_bytes_are_a_level_or_an_oserror(reply: bytes) -> None:
    for parse in (parse_unix_reply, parse_tcp_reply):
        with contextlib.suppress(OSError):
            parse(reply)


def test_samples_as_one_reading() -> None:
    seen = [QueueLevel(0, 4), QueueLevel(5, 4), QueueLevel(4, 4), QueueLevel(0, 4)]
    # With 4 waiting of a limit of 4 another one is taken.
    assert levels_of(seen, failed=1) == QueueLevels(samples=4, failed=1, most=5, mean=2.25, share=0.5, full=0.25, limit=4)
    assert levels_of([QueueLevel(1, 0), QueueLevel(0, 0)]).full == 0.5
    assert levels_of(()) == QueueLevels(0, 0, None, None, None, None, None)


class FakeQueue:
    """Answers from a list, then fails; says when it has been asked often enough."""

    def __init__(self, levels: list[QueueLevel], enough: int) -> None:
        self.levels = levels
        self.enough = enough
        self.asked = 0
        self.done = threading.Event()
        self.cores: set[int] = set()

    def read(self) -> QueueLevel:
        self.cores = os.sched_getaffinity(0)
        self.asked += 1
        if self.asked >= self.enough:
            self.done.set()
        if not self.levels:
            raise ConnectionResetError
        return self.levels.pop(0)


def test_the_sampler_reads_on_its_core_and_ends_with_its_context() -> None:
    ours = os.sched_getaffinity(0)
    queue = FakeQueue([QueueLevel(2, 5)], enough=2)
    with QueueSampler(queue.read, cores=(min(ours),)) as sampler:
        assert queue.done.wait(10)
    levels = sampler.levels()
    assert (levels.samples, levels.failed >= 1, levels.most, levels.share) == (1, True, 2, 1.0)
    assert queue.cores == {min(ours)}
    assert os.sched_getaffinity(0) == ours
    assert "phpdyno-queue" not in {thread.name for thread in threading.enumerate()}


def test_an_error_inside_ends_the_sampler_too() -> None:
    with pytest.raises(KeyboardInterrupt), QueueSampler(FakeQueue([], 1).read):
        raise KeyboardInterrupt
    assert "phpdyno-queue" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("per_s", [0.0, -1.0, 10.1, float("nan")])
def test_a_sampler_that_would_disturb_is_refused(per_s: float) -> None:
    with pytest.raises(ValueError, match="at most 10"):
        QueueSampler(FakeQueue([], 1).read, per_s=per_s)
