"""What is told of what an app reached for."""

import tomllib

import pytest

from phpdyno.model.inside.reach import Connection, Deed, Family, Lookup, Outcome, Program, Protocol, Reached, Write
from phpdyno.report.advice import ReachAdvice, WatchedCount, advise, often
from phpdyno.report.known_services import kind_of


def peer(
    host: str = "", port: int = 0, *, path: str = "", protocol: Protocol = "tcp", outcome: Outcome = "refused", calls: int = 12
) -> Connection:
    family: Family = "unix" if path else "inet6" if ":" in host else "inet"
    return Connection(host, port, path, family, "unix" if path else protocol, outcome, "", calls)


def lines(*found: ReachAdvice) -> list[str]:
    return [each.line for each in found]


def test_a_known_service_comes_with_its_lines_of_toml() -> None:
    (told,) = advise(Reached(12, (peer("127.0.0.1", 6379),)))
    assert told.line == 'once a request 127.0.0.1:6379, refused: `[service.cache] kind = "redis"`, `at = "127.0.0.1:6379"` gives it one'
    assert tomllib.loads(told.snippet) == {"service": {"cache": {"kind": "redis", "at": "127.0.0.1:6379"}}}


def test_another_peer_is_let_through_by_its_name() -> None:
    found = advise(
        Reached(5, (peer("api.stripe.com", 443, outcome="unreachable"), peer("2001:db8::1", 80, outcome="in progress", calls=1)))
    )
    assert lines(*found) == [
        "12 x api.stripe.com:443, unreachable: `--allow-network api.stripe.com:443` lets it through, for this run",
        "1 x [2001:db8::1]:80, no answer: `--allow-network [2001:db8::1]:80` lets it through, for this run",
    ]


def test_a_name_that_was_looked_up_in_vain() -> None:
    rows = (Lookup("api.stripe.com", 12, resolved=False), Lookup("known.example", 12, resolved=True))
    (told,) = advise(Reached(5, lookups=rows))
    assert told.line.startswith("12 x api.stripe.com was looked up, and no address found: `--allow-network api.stripe.com:PORT`")
    (told,) = advise(Reached(5, no_name_server=True))
    assert "resolv.conf" in told.line


def test_what_the_app_has_is_not_told() -> None:
    rows = (
        peer("::1", 6379),
        peer("127.0.0.1", 6379, outcome="connected"),
        peer(path="/run/mysqld/mysqld.sock"),
        peer("10.0.0.5", 80),
    )
    assert advise(Reached(12, rows), given=("/run/mysqld/mysqld.sock", "10.0.0.5:80")) == ()


def test_both_addresses_of_loopback_are_one_peer() -> None:
    (told,) = advise(Reached(12, (peer("::1", 11211), peer("127.0.0.1", 11211))))
    assert told.line.startswith("once a request 127.0.0.1:11211, refused: `[service.memcached]")


def test_two_services_of_one_name_are_numbered() -> None:
    found = advise(Reached(1, (peer("127.0.0.1", 3306), peer("127.0.0.1", 5432, calls=2), peer(path="/tmp/mysql.sock", calls=1))))
    whole = tomllib.loads("\n".join(each.snippet for each in found))
    assert {name: each["kind"] for name, each in whole["service"].items()} == {
        "db": "mariadb",
        "db2": "postgresql",
        "db3": "mariadb",
    }


def test_datagrams_and_sockets_that_nobody_knows() -> None:
    sent = peer("10.0.0.5", 8125, protocol="udp", outcome="connected")
    found = advise(Reached(5, (sent, peer(path="/dev/log", calls=2), peer(path="@agent", calls=1))))
    assert lines(*found) == [
        "12 x 10.0.0.5:8125 (udp), sent: nobody reads it in this run",
        "2 x /dev/log, refused: what is written to the system's log is dropped in this run",
        "1 x @agent, refused: no server listens there in this run, and `--allow-network` takes HOST:PORT only",
    ]


def test_mail_is_counted_over_the_ways_that_it_is_sent() -> None:
    programs = (Program("/usr/sbin/sendmail", True, "", 8), Program("msmtp", True, "ENOENT", 2), Program("/usr/bin/convert", False, "", 10))
    told = {each.what: each for each in advise(Reached(10, (peer("mail.example", 587, calls=3),), programs=programs))}
    assert list(told) == ["mail() handed a message to sendmail", "the program `/usr/bin/convert`", "mail.example:587, refused"]
    mail, convert, smtp = told.values()
    assert mail.line.startswith('once a request mail() handed a message to sendmail: `[service.mail2] kind = "smtp-sink"` counts')
    assert convert.line == "once a request the program `/usr/bin/convert`: it runs as the app does, without network and with private files"
    assert tomllib.loads(smtp.snippet) == {"service": {"mail": {"kind": "smtp-sink", "at": "mail.example:587"}}}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("", "it went to a private copy, which is gone after the run; nothing of yours was touched"),
        ("EROFS", "it was refused (EROFS); a directory below the app's own tree can be written to"),
        ("ENOENT", "there is no such directory in this run (ENOENT); a directory below the app's own tree can be written to"),
    ],
)
def test_a_file_outside_and_what_became_of_it(error: str, said: str) -> None:
    deeds: tuple[Deed, ...] = ("written", "renamed", "removed")
    (told,) = advise(Reached(4, writes=tuple(Write("/var/log/app.log", deed, error, 12) for deed in deeds)))
    assert told.line == f"3 x a request /var/log/app.log, opened for writing, removed and renamed: {said}"


def test_names_that_are_drawn_anew_are_told_by_their_directory() -> None:
    drawn = tuple(Write(f"/tmp/php{number}", "written", "", 1) for number in range(4))
    assert [each.what for each in advise(Reached(4, writes=drawn))] == ["4 files in /tmp, opened for writing"]
    assert len(advise(Reached(4, writes=drawn[:3]))) == 3


def test_the_order_is_that_of_the_counts_whatever_the_order_of_the_rows() -> None:
    rows = tuple(peer(f"10.0.0.{number}", 3306, calls=calls) for number, calls in ((1, 2), (2, 9), (3, 9), (4, 5)))
    there, back = advise(Reached(20, rows)), advise(Reached(20, rows[::-1]))
    assert there == back
    assert [each.what.split(",")[0] for each in there] == ["10.0.0.2:3306", "10.0.0.3:3306", "10.0.0.4:3306", "10.0.0.1:3306"]


def test_control_characters_are_shown_and_the_toml_holds() -> None:
    path = '/run/\x1b[2J"\n/redis.sock'
    (service,) = advise(Reached(1, (peer(path=path),)))
    (write,) = advise(Reached(1, writes=(Write("/a\x1b\u202eb", "written", "", 1),)))
    (lookup,) = advise(Reached(1, lookups=(Lookup("a\x07b", 1, resolved=False),)))
    assert all(each.line.isprintable() for each in (service, write, lookup))
    assert "\\x1b" in write.line
    assert tomllib.loads(service.snippet)["service"]["cache"]["at"] == '/run/\\x1b[2J"\\n/redis.sock'


@pytest.mark.parametrize(
    ("calls", "requests", "said"),
    [(12, 12, "once a request"), (36, 12, "3 x a request"), (13, 12, "13 x"), (3, 12, "3 x"), (1, 1, "once a request"), (3, 0, "3 x")],
)
def test_how_often(calls: int, requests: int, said: str) -> None:
    assert often(calls, WatchedCount(requests)) == said


@pytest.mark.parametrize(
    ("port", "path", "kind"),
    [
        *((3306, "", "mariadb"), (5432, "", "postgresql"), (6379, "", "redis"), (11211, "", "memcached"), (443, "", None)),
        *((port, "", "smtp-sink") for port in (25, 465, 587, 1025)),
        *((0, path, "mariadb") for path in ("/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock")),
        *((0, "/var/run/postgresql/.s.PGSQL.5432", "postgresql"), (0, "/run/redis/redis-server.sock", "redis")),
        *((0, "/run/memcached/memcached.sock", "memcached"), (0, "/dev/log", None), (0, "@redis", None)),
    ],
)
def test_services_by_port_and_by_socket(port: int, path: str, kind: str | None) -> None:
    assert kind_of(port, path) == kind


def test_of_a_script_operations_are_told_and_no_service_that_it_cannot_have() -> None:
    connection = Connection("127.0.0.1", 6379, "", "inet", "tcp", "refused", "ECONNREFUSED", 4)
    (told,) = advise(Reached(requests=2, connections=(connection,)), unit="operation")
    assert told.line == "2 x an operation 127.0.0.1:6379, refused: `--allow-network 127.0.0.1:6379` lets it through, for this run"
    assert told.snippet == ""
