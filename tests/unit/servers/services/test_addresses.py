"""Addresses of services in a network of the app's own."""

from pathlib import Path

from phpdyno.model.services.service import Address, Service, Tcp, UnixSocket
from phpdyno.servers.services.addresses import Listen, addresses_of


def services(*at: tuple[Address, ...]) -> list[Service]:
    return [Service(f"s{number}", "redis", each) for number, each in enumerate(at)]


def test_without_services_only_localhost_is_known() -> None:
    plan = addresses_of([])
    assert (plan.addresses, plan.hosts, plan.folders, plan.listen) == ((), ("127.0.0.1 localhost",), (), {})


def test_a_number_stands_for_itself_and_a_name_gets_an_address() -> None:
    plan = addresses_of(services((Tcp("10.1.2.3", 6379), Tcp("cache.internal", 6379)), (Tcp("db", 3306), Tcp("fd00::5", 3306))))

    assert plan.addresses == ("10.1.2.3", "198.18.0.1", "198.18.0.2", "fd00::5")
    assert plan.hosts == ("127.0.0.1 localhost", "198.18.0.1 cache.internal", "198.18.0.2 db")
    assert plan.listen["s0"] == Listen((Tcp("10.1.2.3", 6379), Tcp("198.18.0.1", 6379)))
    assert plan.listen["s1"] == Listen((Tcp("198.18.0.2", 3306), Tcp("fd00::5", 3306)))


def test_one_host_of_two_services_has_one_address() -> None:
    plan = addresses_of(services((Tcp("box", 6379),), (Tcp("box", 3306),)))
    assert plan.addresses == ("198.18.0.1",)
    assert plan.hosts == ("127.0.0.1 localhost", "198.18.0.1 box")
    assert plan.listen["s1"].tcp == (Tcp("198.18.0.1", 3306),)


def test_the_loopback_has_its_own_addresses_already() -> None:
    plan = addresses_of(services((Tcp("localhost", 1), Tcp("127.0.0.7", 1), Tcp("::1", 1))))
    assert plan.addresses == ()
    assert plan.hosts == ("127.0.0.1 localhost",)
    assert plan.listen["s0"].tcp == (Tcp("127.0.0.1", 1), Tcp("127.0.0.7", 1), Tcp("::1", 1))


def test_an_address_that_production_has_is_given_to_no_name() -> None:
    plan = addresses_of(services((Tcp("a", 1), Tcp("198.18.0.1", 1), Tcp("b", 1))))
    assert plan.addresses == ("198.18.0.2", "198.18.0.1", "198.18.0.3")


def test_sockets_and_the_directories_that_have_to_be_private() -> None:
    plan = addresses_of(services((UnixSocket(Path("/run/redis/r.sock")), UnixSocket(Path("/run/redis/s.sock"))), (Tcp("mail", 25),)))
    assert plan.folders == (Path("/run/redis"),)
    assert plan.listen["s0"].sockets == (Path("/run/redis/r.sock"), Path("/run/redis/s.sock"))


def test_a_peer_is_carried_out_at_the_address_that_the_app_has_for_it() -> None:
    peers = (Tcp("box", 443), Tcp("api.example.com", 443), Tcp("localhost", 80), Tcp("10.0.0.9", 80), Tcp("::1", 80))
    plan = addresses_of(services((Tcp("box", 6379),)), peers)
    assert plan.addresses == ("198.18.0.1", "198.18.0.2", "10.0.0.9")
    assert plan.hosts == ("127.0.0.1 localhost", "198.18.0.1 box", "198.18.0.2 api.example.com")
    assert [(str(each.at), str(each.to)) for each in plan.through] == [
        ("198.18.0.1:443", "box:443"),
        ("198.18.0.2:443", "api.example.com:443"),
        ("127.0.0.1:80", "localhost:80"),
        ("10.0.0.9:80", "10.0.0.9:80"),
        ("[::1]:80", "[::1]:80"),
    ]
