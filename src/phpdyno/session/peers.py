"""The peers that a run lets through are recorded with it, and those that it goes on with."""

from collections.abc import Sequence

from msgspec import structs

from phpdyno.config.peers import ALLOW_NETWORK, parse_peer
from phpdyno.errors import UsageError
from phpdyno.host.sockets import network
from phpdyno.model.plan import AppSource


def named_peers() -> tuple[str, ...]:
    """The peers that the command line lets through, as a record holds them."""
    return tuple(map(str, network.allowed()))


def with_named_peers(source: AppSource) -> AppSource:
    """How the app was named, the peers that it may reach included."""
    return structs.replace(source, network=named_peers())


def go_on_with(begun: Sequence[str]) -> None:
    """Let through what a run that is resumed began with. Raises UsageError where the command line
    names other peers."""
    now = named_peers()
    if now and set(now) != set(begun):
        what = f"this run began with {', '.join(begun) or 'no peer'} let through"
        raise UsageError(what, where=f"{ALLOW_NETWORK} {now[0]}", next_step=f"leave {ALLOW_NETWORK} out, or start a new run")
    network.allow([parse_peer(text, where=ALLOW_NETWORK) for text in begun])
