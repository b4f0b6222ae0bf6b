"""Peers that an app may reach, as they are written down, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.apps.registry import open_app
from phpdyno.cli.app import run
from phpdyno.config.app_toml import load_app_toml
from phpdyno.config.peers import distinct, parse_peer
from phpdyno.errors import UsageError
from phpdyno.host.sockets import network
from phpdyno.model.services.service import Tcp
from phpdyno.session.peers import go_on_with, named_peers

TOML = """name = "shop"
docroot = "."
{more}
[[target]]
path = "/"
[service.cache]
kind = "redis"
at = "localhost:6379"
"""


@pytest.fixture(autouse=True)
def nobody_allowed() -> Iterator[None]:
    yield
    network.allow(())


def shop(folder: Path, more: str = "") -> Path:
    (folder / "app.toml").write_text(TOML.format(more=more))
    return folder / "app.toml"


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("api.Example.com:443", Tcp("api.example.com", 443)),
        ("localhost:80", Tcp("localhost", 80)),
        ("10.0.0.5:8080", Tcp("10.0.0.5", 8080)),
        ("[::1]:9200", Tcp("::1", 9200)),
        ("[2001:DB8:0::1]:80", Tcp("2001:db8::1", 80)),
    ],
)
def test_host_and_port(text: str, peer: Tcp) -> None:
    assert parse_peer(text, where="x") == peer
    assert parse_peer(str(peer), where="x") == peer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("api.example.com", "names no port; write it with one, e.g. api.example.com:443"),
        ("::1", r"names no port; write it with one, e.g. \[::1\]:443"),
        ("https://api.example.com", "is no HOST:PORT"),
        ("/run/redis.sock", "is no HOST:PORT"),
        ("api.example.com:0", "is no port"),
        ("api.example.com:https", "is no port"),
        ("a b:80", "is no host"),
        (":80", "is no host"),
        ("0.0.0.0:80", "is no address that an app connects to"),
        ("1.2.3:80", "is no host"),
    ],
)
def test_what_is_none_is_one_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as fault:
        run(["check", "hello", "--allow-network", text])
    assert "\n" not in str(fault.value)
    assert str(fault.value).startswith("--allow-network ")


@pytest.mark.parametrize("argv", [["check", "--allow-network"], ["check", "--allow-network", "--json"], ["check", "--allow-network="]])
def test_an_option_without_a_peer(argv: list[str]) -> None:
    with pytest.raises(UsageError, match="no peer is named; write --allow-network HOST:PORT"):
        run(argv)


def test_one_place_by_two_names_is_one_peer() -> None:
    assert distinct([Tcp("localhost", 80), Tcp("127.0.0.1", 80), Tcp("127.0.0.1", 81)], where="") == (
        Tcp("localhost", 80),
        Tcp("127.0.0.1", 81),
    )
    with pytest.raises(UsageError, match="65 peers are over 64"):
        distinct([Tcp("box", port) for port in range(1, 66)], where="")


def test_the_command_line_adds_to_what_the_file_names(tmp_path: Path) -> None:
    assert load_app_toml(shop(tmp_path, 'network = ["api.example.com:443", "10.1.1.1:80"]')).network == (
        Tcp("api.example.com", 443),
        Tcp("10.1.1.1", 80),
    )
    network.allow([Tcp("box", 1), Tcp("10.1.1.1", 80)])
    app = open_app(str(tmp_path))
    assert [str(each) for each in app.described.network] == ["api.example.com:443", "10.1.1.1:80", "box:1"]  # type: ignore[attr-defined]


def test_a_bad_one_in_the_file_is_named_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"app.toml: network\[1\]: 'box' names no port"):
        load_app_toml(shop(tmp_path, 'network = ["box:1", "box"]'))


def test_where_a_service_stands_no_peer_is_let_through(tmp_path: Path) -> None:
    said = "service.cache stands at 127.0.0.1:6379 in this run, so it cannot be let through as well; keep one of the two"
    with pytest.raises(UsageError, match=said):
        load_app_toml(shop(tmp_path, 'network = ["127.0.0.1:6379"]'))
    shop(tmp_path)
    network.allow([Tcp("127.0.0.1", 6379)])
    with pytest.raises(UsageError, match=f"--allow-network: {said}"):
        open_app(str(tmp_path))


def test_a_resumed_run_goes_on_with_the_peers_that_it_began_with() -> None:
    go_on_with(("box:1", "[::1]:2"))
    assert named_peers() == ("box:1", "[::1]:2")
    go_on_with(("[::1]:2", "box:1"))
    with pytest.raises(UsageError, match="this run began with other:1 let through; leave --allow-network out"):
        go_on_with(("other:1",))
    with pytest.raises(UsageError, match="this run began with no peer let through"):
        go_on_with(())
