"""Where the services of an app, and the peers that it may reach, stand in a network of its own: the
addresses that it needs, and what /etc/hosts says. Pure."""

import ipaddress
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.config.services import LOOPBACK_NAMES
from phpdyno.model.services.service import Passage, Service, Tcp

NAMED = ipaddress.ip_network("198.18.0.0/15")
"""Names get addresses of the network that is set aside for benchmarks: no host of production has
one of these."""
LOOPBACK_LINES = ("127.0.0.1 localhost",)
"""Not ::1: what listens on 127.0.0.1 alone would be asked there first, in vain."""


class Listen(Struct, frozen=True):
    """Where one server listens: IP addresses with their ports, and paths of sockets."""

    tcp: tuple[Tcp, ...] = ()
    sockets: tuple[Path, ...] = ()


class AddressPlan(Struct, frozen=True):
    """What the private network and file system have to have before the services start.

    `addresses` are to be added to the private loopback (the 127.0.0.0/8 and ::1 that are there
    anyway are not among them). `hosts` are the lines of /etc/hosts. `folders` are the directories
    in which sockets are made: they must be private. `listen` says of each service by its name where
    it listens. `through` are the ways out to peers of the host's network.
    """

    addresses: tuple[str, ...]
    hosts: tuple[str, ...]
    folders: tuple[Path, ...]
    listen: dict[str, Listen]
    through: tuple[Passage, ...] = ()


def addresses_of(services: Sequence[Service], peers: Sequence[Tcp] = ()) -> AddressPlan:
    """A numeric address stands for itself, `localhost` is 127.0.0.1, and every other name gets an
    address of its own.

    The same name has the same address in all services, and among the peers that are let through.
    """
    named = [*(address.host for service in services for address in service.tcp), *(peer.host for peer in peers)]
    hosts = list(dict.fromkeys(named))
    numeric = {host for host in hosts if _is_numeric(host)}
    free = (address for address in map(str, NAMED.hosts()) if address not in numeric)
    placed = {host: _placed(host, free) for host in hosts}
    return AddressPlan(
        addresses=tuple(dict.fromkeys(address for address in placed.values() if not _is_there(address))),
        hosts=(*LOOPBACK_LINES, *(f"{placed[host]} {host}" for host in hosts if host not in numeric and host not in LOOPBACK_NAMES)),
        folders=tuple(dict.fromkeys(path.parent for service in services for path in service.sockets)),
        listen={
            service.name: Listen(tuple(Tcp(placed[address.host], address.port) for address in service.tcp), service.sockets)
            for service in services
        },
        through=tuple(Passage(Tcp(placed[peer.host], peer.port), peer) for peer in peers),
    )


def _placed(host: str, free: Iterator[str]) -> str:
    if _is_numeric(host):
        return host
    return LOOPBACK_NAMES.get(host) or next(free)


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_there(address: str) -> bool:
    """Whether a loopback that is up has it without being told: all of 127.0.0.0/8, and ::1."""
    return ipaddress.ip_address(address).is_loopback
