"""Connections tried and names looked up, out of the calls of some processes. Pure."""

import ipaddress
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec import Struct

from phpdyno.explain.tracing.dns_message import read_message
from phpdyno.explain.tracing.lines import UNFINISHED, Call, stands_for, strings, text
from phpdyno.explain.tracing.trees import inside
from phpdyno.model.inside.reach import Connection, Family, Lookup, Outcome, Protocol

RESOLVERS = frozenset({53, 5353, 5355})
"""Ports of name servers, and of those who ask their neighbours: how a name is looked up is not what
the app wants."""
QUIET = ("/run/nscd", "/var/run/nscd", "/run/systemd", "/var/run/systemd", "/run/avahi-daemon", "/var/run/avahi-daemon")
"""Sockets that the C library tries by itself when it looks up a name or an account."""
PENDING = frozenset({"EINPROGRESS", "EALREADY", UNFINISHED})
OUTCOMES: dict[str, Outcome] = {
    "": "connected",
    "EISCONN": "connected",
    **dict.fromkeys(PENDING, "in progress"),
    **dict.fromkeys(("ECONNREFUSED", "ECONNRESET"), "refused"),
    **dict.fromkeys(("ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EAFNOSUPPORT"), "unreachable"),
    **dict.fromkeys(("ENOENT", "ENOTDIR"), "no such file"),
    **dict.fromkeys(("EACCES", "EPERM"), "forbidden"),
    "ETIMEDOUT": "timed out",
}
_PORT = re.compile(r"sin6?_port=htons\((\d{1,5})\)")
_ADDRESS = re.compile(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"([0-9a-fA-F:.]+)"')
_UNIX = re.compile(r'sun_path=(@?)"')
_PAYLOAD = re.compile(r'iov_base=("(?:[^"\\]|\\.)*")')
_NAMED = re.compile(r"msg_name=(\{[^{}]*\})")
_SO_ERROR = re.compile(r"^\[(\w+)\]$")


class Address(Struct, frozen=True):
    """Where a connection goes."""

    family: Family
    host: str = ""
    port: int = 0
    path: str = ""


class _Attempt(Struct):
    address: Address
    protocol: Protocol
    host: str
    error: str
    sent: bool = False


def address_in(argument: str) -> Address | None:
    """The address that strace wrote out, None for one that is neither of the network nor a unix
    socket's."""
    if unix := _UNIX.search(argument):
        named = strings(argument[unix.start() :])
        return Address("unix", path=unix[1] + text(named[0])) if named and named[0] else None
    port, host = _PORT.search(argument), _ADDRESS.search(argument)
    if port is None or host is None:
        return None
    try:
        address = ipaddress.ip_address(host[1])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    address = mapped or address
    return Address("inet6" if address.version == 6 else "inet", str(address), int(port[1]))


class Peers:
    """Takes calls in order, and says at the end whom the processes reached for. Sockets are told
    apart by their inodes, so that threads and descriptors that are given out again do no harm."""

    def __init__(self, ours: Sequence[str]) -> None:
        """`ours`: trees whose unix sockets are left out."""
        self._ours = tuple(ours)
        self._udp: set[str] = set()
        self._asks: set[str] = set()
        self._attempts: list[_Attempt] = []
        self._current: dict[str, _Attempt] = {}
        self._asked: defaultdict[str, defaultdict[int, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
        self._answered: set[str] = set()
        self._names: dict[str, str] = {}
        self._turned_away = False
        self._takers = {
            "socket": self._socket,
            "connect": self._connect,
            "getsockopt": self._state,
            "sendto": self._sendto,
            "sendmsg": self._sendmsg,
            "sendmmsg": self._sendmsg,
            "recvfrom": self._received,
            "recvmsg": self._received,
        }

    def take(self, call: Call) -> None:
        """One call; those that have nothing to do with sockets are passed over."""
        if taker := self._takers.get(call.name):
            taker(call)

    def connections(self) -> tuple[Connection, ...]:
        """The peers that they tried, most often first."""
        streams = {(each.host, each.address.port) for each in self._attempts if each.protocol == "tcp"}
        found: Counter[Connection] = Counter()
        for each in self._attempts:
            # The C library connects a datagram socket, and sends nothing, to see which of several
            # addresses it has a way to.
            probe = each.protocol == "udp" and not each.sent and (not each.error or (each.host, each.address.port) in streams)
            if not probe:
                to, error = each.address, each.error if each.error != UNFINISHED else "EINPROGRESS"
                outcome = OUTCOMES.get(error, "failed")
                error = "" if outcome == "connected" else error
                found[
                    Connection(
                        host=each.host,
                        port=to.port,
                        path=to.path,
                        family=to.family,
                        protocol=each.protocol,
                        outcome=outcome,
                        error=error,
                        calls=0,
                    )
                ] += 1
        rows = [
            Connection(
                host=row.host,
                port=row.port,
                path=row.path,
                family=row.family,
                protocol=row.protocol,
                outcome=row.outcome,
                error=row.error,
                calls=calls,
            )
            for row, calls in found.items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.calls, row.host, row.port, row.path, row.family, row.protocol, row.error)))

    def lookups(self) -> tuple[Lookup, ...]:
        """What they looked up, most often first. Both kinds of address are asked for at once, which
        is one lookup."""
        rows = [Lookup(name, max(map(len, kinds.values())), name in self._answered) for name, kinds in self._asked.items()]
        return tuple(sorted(rows, key=lambda row: (-row.calls, row.name)))

    def no_name_server(self) -> bool:
        """Whether name servers were tried, and none could be asked anything."""
        return self._turned_away and not self._asked

    def _socket(self, call: Call) -> None:
        key = call.opened or f"{call.pid}:{call.value}"
        self._current.pop(key, None)
        self._asks.discard(key)
        (self._udp.add if "SOCK_DGRAM" in call.argument(1) else self._udp.discard)(key)

    def _connect(self, call: Call) -> None:
        address = address_in(call.argument(1))
        key = _key(call)
        self._asks.discard(key)
        if address is None or (address.family != "unix" and not address.port):
            return
        if address.port in RESOLVERS:
            self._asks.add(key)
            self._turned_away |= bool(call.error) and call.error not in PENDING
            return
        error = call.error or (UNFINISHED if call.value == UNFINISHED else "")
        before = self._current.get(key)
        if before and before.address == address and before.error in PENDING:
            # Asked again how the same attempt stands.
            before.error = error
            return
        self._try(key, address, error)

    def _try(self, key: str, address: Address, error: str) -> _Attempt:
        protocol: Protocol = "unix" if address.family == "unix" else "udp" if key in self._udp else "tcp"
        attempt = _Attempt(address, protocol, self._names.get(address.host, address.host), error)
        self._current[key] = attempt
        if not (address.path and (inside(address.path, QUIET) or inside(address.path, self._ours))):
            self._attempts.append(attempt)
        return attempt

    def _state(self, call: Call) -> None:
        attempt, said = self._current.get(_key(call)), _SO_ERROR.match(call.argument(3))
        if attempt and said and call.argument(2) == "SO_ERROR" and attempt.error in PENDING:
            attempt.error = "" if said[1] == "0" else said[1]

    def _sendto(self, call: Call) -> None:
        self._sent(call, address_in(call.argument(4)), strings(call.argument(1)))

    def _sendmsg(self, call: Call) -> None:
        body = call.argument(1)
        named = _NAMED.search(body)
        self._sent(call, address_in(named[1]) if named else None, _payloads(body))

    def _sent(self, call: Call, to: Address | None, payloads: Sequence[bytes]) -> None:
        key = _key(call)
        if to.port in RESOLVERS if to else key in self._asks:
            self._ask(call, payloads)
            self._turned_away |= bool(to and call.error)
            return
        attempt = self._current.get(key)
        if to and (attempt is None or attempt.address != to):
            attempt = self._try(key, to, call.error)
        if attempt:
            attempt.sent = True
            if not call.error and attempt.error in PENDING:
                attempt.error = ""

    def _ask(self, call: Call, payloads: Sequence[bytes]) -> None:
        self._asks.add(_key(call))
        for payload in payloads:
            message = read_message(payload)
            if message and message.name and not message.response:
                self._asked[message.name][message.kind].add((call.pid, message.number))

    def _received(self, call: Call) -> None:
        if _key(call) not in self._asks:
            return
        body = call.argument(1)
        for payload in _payloads(body) or strings(body):
            message = read_message(payload)
            if message and message.response and message.addresses:
                self._answered.add(message.name)
                self._names.update(dict.fromkeys(message.addresses, message.name))


def _key(call: Call) -> str:
    descriptor = call.argument(0)
    note = stands_for(descriptor)
    return note if note.startswith("socket:") else f"{call.pid}:{descriptor.partition('<')[0]}"


def _payloads(body: str) -> tuple[bytes, ...]:
    return tuple(strings(each[1])[0] for each in _PAYLOAD.finditer(body))
