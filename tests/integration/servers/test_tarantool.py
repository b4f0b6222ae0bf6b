"""Debian's Tarantool, unpacked and not installed, in a bottle: its space, its counters, both of its
addresses."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.apps.source import silent
from phpdyno.commands.connectors.program import find_server
from phpdyno.errors import DynoError, UsageError
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.iproto import Iproto
from phpdyno.servers.tarantool.server import ServerSettings, Tarantool, TarantoolProgram

pytestmark = pytest.mark.integration


@pytest.fixture
def server(supervisor: Supervisor, tarantool: TarantoolProgram) -> Iterator[Tarantool]:
    with Tarantool.start(supervisor, tarantool, ServerSettings(tuples=100)) as server:
        yield server


def test_its_space_is_the_references_and_every_operation_is_counted(server: Tarantool) -> None:
    assert server.version == "2.6.0"
    with Iproto(server.socket) as client:
        before = server.counted()
        assert client.evaluate("return box.space[555]:get(...)", 7) == [[7, "tuple_7"]]
        assert client.evaluate("return box.space.items:len(), box.cfg.readahead, box.cfg.wal_mode") == [100, 1 << 20, "none"]
        after = server.counted()
    assert after["EVAL"] - before["EVAL"] == 3  # and our own question
    assert after["SELECT"] > before["SELECT"]


def test_it_counts_what_others_ask_for_and_not_how_often_it_is_asked(server: Tarantool) -> None:
    with Iproto(server.socket) as client:
        before = server.requests()
        assert server.requests() == before
        for _ in range(25):
            client.evaluate("return 1")
        assert server.requests() == before + 25


def test_it_is_filled_anew(server: Tarantool) -> None:
    with Iproto(server.socket) as client:
        client.evaluate("for id = 1, 50 do box.space.items:delete(id) end; box.space.items:insert{nil, 'more'}")
        server.fill()
        assert client.evaluate("return box.space.items:len(), box.space.items:get(1), box.space.items:get(101) == nil") == [
            100,
            [1, "tuple_1"],
            True,
        ]


def test_connections_outlive_a_change_of_its_address(server: Tarantool) -> None:
    with Iproto(server.socket) as client:
        assert server.listen_on_tcp() == "tcp://127.0.0.1:3301"
        with socket.create_connection(("127.0.0.1", 3301), timeout=5) as other:
            assert other.recv(128).startswith(b"Tarantool 2.6.0")
        client.ping()
        assert server.listen_on_unix() == f"unix://{server.socket}"
    with Iproto(server.socket) as again:
        again.ping()


def test_what_it_refuses_is_said_in_its_words(server: Tarantool) -> None:
    with Iproto(server.socket) as client, pytest.raises(DynoError, match=r"attempt to index field 'nothing'"):
        client.evaluate("return box.space.nothing:len()")


def test_that_it_was_killed_is_said(supervisor: Supervisor, server: Tarantool) -> None:
    supervisor.signal(server.child.pid, 9)
    assert server.child.wait(5)
    with pytest.raises(DynoError, match="Tarantool was ended by SIGKILL"):
        server.counted()


def test_a_server_that_is_none_is_refused(supervisor: Supervisor, tmp_path: Path) -> None:
    for binary in (tmp_path / "none", Path("/bin/true")):
        with pytest.raises(UsageError, match=r"no such program|this is no Tarantool"):
            find_server(binary, supervisor, cache=tmp_path, progress=silent)


def test_a_setting_that_it_does_not_know_is_one_line(supervisor: Supervisor, tarantool: TarantoolProgram) -> None:
    with (
        pytest.raises(DynoError, match=r"tarantool does not start: .*wal_mode"),
        Tarantool.start(supervisor, tarantool, ServerSettings(wal_mode="sometimes")),
    ):
        pass


def test_nothing_of_it_is_left(tarantool: TarantoolProgram, tmp_path: Path) -> None:
    with Supervisor(tmp_path / "more-logs") as supervisor, Tarantool.start(supervisor, tarantool, ServerSettings(tuples=10)) as server:
        pid, path = server.child.pid, server.socket
    assert not path.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
