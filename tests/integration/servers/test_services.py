"""Private services, by their protocols, with users and passwords that nobody told them."""

import gzip
import shutil
import smtplib
import socket
import time
from contextlib import ExitStack
from email.message import EmailMessage
from functools import partial
from pathlib import Path

import pytest

from phpdyno.apps.data.services import prepare_services, start_services
from phpdyno.errors import DynoError
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.model.services.service import Service, Tcp, UnixSocket
from phpdyno.servers.bench import component_cgroup, component_meter
from phpdyno.servers.programs.finding import program_path
from phpdyno.servers.services import redis
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.services.running import RunningService
from phpdyno.servers.services.smtp_sink import Mails, mails_of
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.optional import needs
from tests.support.real.services import ADDRESS, at, free_port, refused, running
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

has_redis = needs(shutil.which("redis-server", path=program_path()), "redis-server is not installed")
has_memcached = needs(shutil.which("memcached", path=program_path()), "memcached is not installed")


# ---- Redis --------------------------------------------------------------------------------------


VARIABLE = "{env.CACHE}"


def redis_says(port: int, *commands: bytes) -> list[bytes]:
    """The answers to commands over one connection; words are divided by blanks."""
    with socket.create_connection((ADDRESS, port), timeout=5) as connection, connection.makefile("rwb") as stream:
        for each in commands:
            stream.write(redis.command(*each.split()))
        stream.flush()
        return [redis.read_reply(stream) for _ in commands]


@has_redis
def test_redis_without_a_password(tmp_path: Path, place: Path, port: int) -> None:
    service = Service("cache", "redis", at(port, place / "redis.sock"), users=("shop",))
    with running(tmp_path, service) as (server,):
        assert redis_says(port, b"SET a 1", b"GET a", b"SELECT 200") == [b"+OK\r\n", b"$1\r\n1\r\n", b"+OK\r\n"]
        assert redis.ask(server.socket or Path(), None, b"GET", b"a") == b"$1\r\n1\r\n"
        assert redis_says(port, b"AUTH shop wrong", b"GET a", b"AUTH default wrong") == [b"+OK\r\n", b"$1\r\n1\r\n", b"+OK\r\n"]
        assert server.complaints() == ()
        assert redis_says(port, b"AUTH secret")[0].startswith(b"-ERR AUTH <password> called without any password")
        assert server.complaints() == ("the app sends a password to Redis, which has none; write it as password of service.cache",)
        assert redis_says(port, b"AUTH eve wrong")[0].startswith(b"-WRONGPASS")
        assert server.complaints() == (
            'the app signs in to service.cache as "eve", whom Redis does not know; add it to users of service.cache',
        )
        assert server.let_all_in() == ("eve",)
        assert redis_says(port, b"AUTH eve wrong", b"GET a") == [b"+OK\r\n", b"$1\r\n1\r\n"]
        assert server.complaints() == ()
    assert server.child.status == 0


@has_redis
def test_redis_with_a_password(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHE", 'se"cr\\et')
    with running(tmp_path, Service("cache", "redis", at(port), users=("shop",), password=VARIABLE)) as (server,):
        assert redis_says(port, b'AUTH se"cr\\et', b"PING") == [b"+OK\r\n", b"+PONG\r\n"]
        assert redis_says(port, b"AUTH shop anything", b"PING") == [b"+OK\r\n", b"+PONG\r\n"]
        assert redis_says(port, b"PING")[0].startswith(b"-NOAUTH")
        assert server.complaints() == ()
        assert redis_says(port, b"AUTH other")[0].startswith(b"-WRONGPASS")
        assert server.complaints() == ("the app sends another password than the one of service.cache; correct password there",)
        assert 'se"cr' not in Path(f"/proc/{server.child.pid}/cmdline").read_text()


@has_redis
@pytest.mark.parametrize("form", ["dump.rdb", "appendonly.aof", "whole.aof", "commands.txt", "dump.rdb.gz"])
def test_a_dump_of_redis(tmp_path: Path, port: int, form: str) -> None:
    text = tmp_path / "first.txt"
    text.write_text("# a comment\nSET greeting \"hello\\x20world\"\nHSET h 'a b' 1\n\nSELECT 3\nSET n 5\n")
    dump = tmp_path / form
    if form == "commands.txt":
        dump.write_bytes(text.read_bytes())
    elif form == "appendonly.aof":
        dump.write_bytes(
            redis.command(b"SET", b"greeting", b"hello world") + redis.command(b"SELECT", b"3") + redis.command(b"SET", b"n", b"5")
        )
    else:
        with running(tmp_path, Service("cache", "redis", at(port), text)):
            (made,) = (tmp_path / "cache").glob("apps/seed-redis-*/datadir/dump.rdb")
        dump.write_bytes(gzip.compress(made.read_bytes()) if form.endswith(".gz") else made.read_bytes())
        if form == "whole.aof":
            dump.write_bytes(dump.read_bytes() + redis.command(b"SELECT", b"0") + redis.command(b"SET", b"more", b"1"))
    with running(tmp_path, Service("cache", "redis", at(port), dump), logs="again"):
        said = redis_says(port, b"GET greeting", b"SELECT 3", b"GET n", b"SELECT 0", b"GET more")
        assert said[:3] == [b"$11\r\nhello world\r\n", b"+OK\r\n", b"$1\r\n5\r\n"]
        assert said[4] == (b"$1\r\n1\r\n" if form == "whole.aof" else b"$-1\r\n")


@has_redis
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"SET a 1\nSETT b\n", r"c\.txt: line 2: Redis refuses this command: ERR unknown command 'SETT'"),
        (b'SET a "1\n', r"c\.txt: line 1: a quote does not end"),
        (b"REDIS9999rubbish", r"service-cache-seed does not start: it ended with exit code 1: .*RDB format version"),
    ],
)
def test_a_dump_that_redis_refuses(tmp_path: Path, content: bytes, says: str) -> None:
    dump = tmp_path / "c.txt"
    dump.write_bytes(content)
    with pytest.raises(DynoError, match=says), running(tmp_path, Service("cache", "redis", at(free_port()), dump)):
        pass
    assert wait_for_no_traces() == []


# ---- memcached ----------------------------------------------------------------------------------


@has_memcached
def test_memcached(tmp_path: Path, port: int) -> None:
    other = free_port()
    with running(tmp_path, Service("cache", "memcached", (Tcp(ADDRESS, port), Tcp(ADDRESS, other)))) as (server,):
        with socket.create_connection((ADDRESS, port)) as text:
            text.sendall(b"set a 0 0 5\r\nwheel\r\n")
            assert text.recv(64) == b"STORED\r\n"
        with socket.create_connection((ADDRESS, other)) as binary:
            binary.sendall(bytes.fromhex("80000001 00000000 00000001 00000000 00000000 00000000") + b"a")
            assert binary.recv(64).endswith(b"wheel")
    assert server.child.status == 0
    assert refused(other)


@has_memcached
def test_memcached_on_a_socket(tmp_path: Path, place: Path) -> None:
    service = Service("cache", "memcached", (UnixSocket(place / "a.sock"), UnixSocket(place / "b.sock")))
    with running(tmp_path, service) as (server,), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(server.socket))
        client.sendall(b"version\r\n")
        assert client.recv(64).startswith(b"VERSION ")
    assert wait_for_no_traces() == []


# ---- the mail sink ------------------------------------------------------------------------------


def test_mails_are_taken_and_counted(tmp_path: Path, place: Path, port: int) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "shop@example.org", "a@example.org, b@example.org"
    message.set_content("Grüße\n.\n..\n" + "x" * 200_000)
    with running(tmp_path, Service("mail", "smtp-sink", at(port, place / "smtp.sock"))) as (sink,):
        with smtplib.SMTP(ADDRESS, port) as client:
            client.login("anybody", "wrong")  # the strongest that is offered
            assert not client.has_extn("starttls")
            assert client.has_extn("8bitmime")
            for _ in range(2):
                assert client.send_message(message) == {}
        with smtplib.SMTP(ADDRESS, port) as client:
            client.ehlo()
            client.user, client.password = "anybody", "wrong"
            assert client.auth("LOGIN", client.auth_login)[0] == 235
            assert client.docmd("RCPT", "TO:<a@b>")[0] == 503
            assert client.docmd("STARTTLS")[0] == 502
            assert client.docmd("AUTH", "CRAM-MD5 ***")[0] == 235
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(sink.socket))
            lines = b"HELO me\r\nMAIL FROM:<>\r\nRCPT TO:<c>\r\nDATA\r\n.\r\nQUIT\r\n"
            client.sendall(lines)
            said = b""
            while part := client.recv(1024):
                said += part
            assert [line[:3] for line in said.splitlines()] == [b"220", b"250", b"250", b"250", b"354", b"250", b"221"]
        assert settled(sink) == Mails(connections=3, messages=3, recipients=5)
    assert sink.child.status == 0


def settled(sink: RunningService) -> Mails:
    """The counts once the third connection is among them."""
    for _ in range(1000):
        if (mails := mails_of(sink)).connections == 3:
            return mails
        time.sleep(0.01)
    return mails_of(sink)


def test_the_port_of_production(tmp_path: Path) -> None:
    with running(tmp_path, Service("mail", "smtp-sink", (Tcp(ADDRESS, 25),))) as (sink,):
        with smtplib.SMTP(ADDRESS, 25) as client:
            assert client.noop()[0] == 250
        if sink.child.pid and Path("/proc/self").stat().st_uid == 0:
            assert Path(f"/proc/{sink.child.pid}").stat().st_uid != 0, "it is root still"
    assert wait_for_no_traces() == []


# ---- all of them --------------------------------------------------------------------------------


def test_two_services_and_an_address_that_is_taken(tmp_path: Path, port: int) -> None:
    one, two = (Service(name, "smtp-sink", (Tcp(ADDRESS, port),)) for name in ("one", "two"))
    refuses = r"service-two does not start: it ended with exit code 1: .*Address already in use"
    with pytest.raises(DynoError, match=refuses), running(tmp_path, one, two):
        pass


def test_what_a_service_costs_is_metered(tmp_path: Path, port: int) -> None:
    groups = find_cpu_groups()
    service = Service("mail", "smtp-sink", at(port))
    with Supervisor(tmp_path / "logs") as supervisor, ExitStack() as stack:
        prepared = prepare_services(supervisor, [service], cache=tmp_path, file=tmp_path / "app.toml", progress=lambda _: None)
        made = partial(component_cgroup, supervisor, groups)
        (sink,) = start_services(stack, supervisor, prepared, addresses_of([service]), cgroups_of=made)
        meter = component_meter(supervisor, groups, "service-mail", sink.child)
        stack.callback(meter.close)
        before = meter.read_ns()
        with smtplib.SMTP(ADDRESS, port) as client:
            for _ in range(50):
                client.noop()
        assert meter.read_ns() > before
