"""Peers outside that the user lets an app reach, as `--allow-network` and `network` in an app.toml
name them."""

from collections.abc import Iterable, Sequence

from phpdyno.config.services import checked_host, checked_port, place_of, split_address
from phpdyno.errors import UsageError, one_line
from phpdyno.model.services.service import Service, Tcp

ALLOW_NETWORK = "--allow-network"
"""The option by which a user lets a peer through."""
MOST_PEERS = 64
HOW = "write host and port as the app has them, e.g. api.example.com:443"


def parse_peer(text: str, *, where: str) -> Tcp:
    """The peer that `HOST:PORT` or `[::1]:PORT` names. Raises UsageError."""
    if "://" in text or "/" in text:
        raise UsageError(f"{one_line(text)!r} is no HOST:PORT", where=where, next_step=HOW)
    host, port = split_address(text)
    if not port:
        example = f"[{host}]:443" if ":" in host else f"{host or 'api.example.com'}:443"
        raise UsageError(f"{one_line(text)!r} names no port", where=where, next_step=f"write it with one, e.g. {one_line(example)}")
    return Tcp(checked_host(host, where=where), checked_port(port, where=where))


def distinct(peers: Iterable[Tcp], *, where: str) -> tuple[Tcp, ...]:
    """Each place once, under the first of its names. Raises UsageError for more than may be let
    through."""
    found: dict[str, Tcp] = {}
    for peer in peers:
        found.setdefault(place_of(peer), peer)
    if len(found) > MOST_PEERS:
        raise UsageError(f"{len(found)} peers are over {MOST_PEERS}, which may be let through", where=where, next_step="name fewer")
    return tuple(found.values())


def refuse_served(peers: Sequence[Tcp], services: Sequence[Service], *, where: str) -> None:
    """Raise UsageError where a peer is to be let through at whose address a service of the app's
    own stands."""
    served = {place_of(address): service.name for service in services for address in service.at}
    for peer in peers:
        name = served.get(place_of(peer))
        if name is not None:
            what = f"service.{name} stands at {peer} in this run, so it cannot be let through as well"
            raise UsageError(what, where=where, next_step="keep one of the two")
