"""How servers of an app are configured, and what is said where one is missing or turns somebody
away."""

from pathlib import Path

import pytest

from phpdyno.apps.data.services import versions_of_services
from phpdyno.errors import DynoError
from phpdyno.model.services.kinds import KINDS, SERVICE_KINDS, Kind
from phpdyno.model.services.service import Service, Tcp, UnixSocket
from phpdyno.servers.services import postgresql, redis
from phpdyno.servers.services.addresses import addresses_of
from phpdyno.servers.services.kinds import STARTERS, VERSIONS
from phpdyno.servers.services.running import Complaint, ServiceStart

HOME = Path("/live/home")
WORD = 'pass"word \\é'


def configured(service: Service) -> list[str]:
    start = ServiceStart(service, addresses_of([service]).listen[service.name])
    return redis.configured(start, home=HOME, socket_path=HOME / "r.sock").splitlines()


def test_redis_on_two_addresses() -> None:
    lines = configured(Service("c", "redis", (Tcp("cache", 7000), Tcp("10.0.0.1", 7000)), users=("shop", "default")))
    assert lines[:2] == ["bind 198.18.0.1 10.0.0.1", "port 7000"]
    assert 'user "shop" on nopass ~* &* +@all' in lines
    assert [line for line in lines if "default" in line] == ["user default on nopass ~* &* +@all"]


def test_redis_on_a_socket_alone_has_no_port() -> None:
    lines = configured(Service("c", "redis", (UnixSocket(Path("/run/redis.sock")),)))
    assert lines[0] == "port 0"


def test_a_password_is_one_word_of_the_file() -> None:
    lines = configured(Service("c", "redis", (Tcp("cache", 6379),), password=WORD))
    assert r'user default on ">pass\x22word \x5c\xc3\xa9" ~* &* +@all' in lines


def test_each_kind_can_be_started() -> None:
    assert set(STARTERS) == set(VERSIONS) == set(SERVICE_KINDS) == set(KINDS)


def test_a_name_or_a_port_means_one_kind() -> None:
    names = [name for kind in KINDS for name in (kind, *SERVICE_KINDS[kind].also)]
    ports = [port for known in SERVICE_KINDS.values() for port in (known.port, *known.other_ports)]
    assert len(set(names)) == len(names)
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize(("kind", "package"), [("postgresql", "postgresql-15"), ("redis", "redis-server"), ("memcached", "memcached")])
def test_a_server_that_is_not_installed(kind: Kind, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    monkeypatch.setattr(postgresql, "VERSIONS", tmp_path)
    with pytest.raises(DynoError) as caught:
        versions_of_services([Service("s", kind, ())])
    assert f"is not installed; install it with: sudo sh scripts/setup.sh --packages-only {package} (only a service" in str(caught.value)


def test_the_newest_postgresql_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("9.6", "15", "13"):
        place = tmp_path / number / "bin"
        place.mkdir(parents=True)
        for name in ("postgres", "initdb"):
            (place / name).touch(mode=0o755)
    monkeypatch.setattr(postgresql, "VERSIONS", tmp_path)
    assert postgresql.postgres_program("initdb") == str(tmp_path / "15" / "bin" / "initdb")


def test_whom_postgresql_turned_away() -> None:
    log = 'x FATAL:  role "shop" does not exist\nx FATAL:  role "shop" does not exist\nx ERROR:  role "other" does not exist\n'
    what = 'the app wants the role "shop" of service.db, which is not there; add it to users of service.db'
    assert postgresql.complaints("db", log) == (Complaint(what, "shop"),)


def test_whom_redis_turned_away() -> None:
    service = Service("c", "redis", ())
    assert redis.complaints(service, [], passwords=False) == ()
    assert [each.user for each in redis.complaints(service, ["a", "b"], passwords=True)] == ["a", "b"]
    assert "write it as password of service.c" in redis.complaints(service, [], passwords=True)[0].text
