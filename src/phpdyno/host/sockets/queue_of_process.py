"""How many connections wait at a socket of another process's network, read below /proc/PID/net: no
namespace is entered, nobody is asked.

Where the socket is in our own network too, `listen_queue` tells more (the limit) for less.
"""

import ipaddress
import os
import socket
from collections.abc import Callable

from phpdyno.errors import DynoError
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.pressure import numbers
from phpdyno.host.sockets.listen_queue import ListenQueue
from phpdyno.model.runs.readings import QueueLevel

CHUNK = 1 << 16
_LISTENS = b"0A"
_CONNECTING = b"02"
"""Of /proc/net/unix: a connection that nobody has accepted yet bears the listener's path."""


class QueueReader:
    """The queue of one listening socket, `unix:/path` or `tcp:HOST:PORT`, in the network of process
    `pid`, until closed."""

    def __init__(self, address: str, pid: int, *, backlog: int, inside: bool, tree: SmallFiles | None = None) -> None:
        """`backlog` is what the pool's file asks for, the limit where the kernel does not tell;
        `inside`: the paths of `pid` are not ours.

        Raises DynoError: nobody listens there, or its tables may not be read.
        """
        self._diag: ListenQueue | None = None
        self._file = -1
        kind, _, place = address.partition(":")
        tree = tree or SmallFiles()
        try:
            table = _read(tree, pid, "unix" if kind == "unix" else "tcp")
            self._count = self._counter(kind, place, table, tree, pid)
        except OSError as error:
            raise DynoError(f"the queue at {address} cannot be read: {error.strerror}", where=f"/proc/{pid}/net") from error
        self._limit = backlog
        if not inside and self._is_ours(kind, place, table, tree):
            try:
                self._diag = ListenQueue(address)
            except (OSError, ValueError):
                self._diag = None

    @property
    def knows_limit(self) -> bool:
        """Whether the limit is the kernel's own word, not the file's."""
        return self._diag is not None

    def read(self) -> QueueLevel:
        """The queue at this moment. Raises OSError where the socket is gone."""
        if self._diag is not None:
            return self._diag.read()
        return QueueLevel(self._count(_whole(self._file)), self._limit)

    def _counter(self, kind: str, place: str, table: bytes, tree: SmallFiles, pid: int) -> Callable[[bytes], int]:
        if kind == "unix":
            self._file = os.open(tree.path(f"/proc/{pid}/net/unix"), os.O_RDONLY | os.O_CLOEXEC)
            path = os.fsencode(place)
            if b" " + path + b"\n" not in table + b"\n":
                raise FileNotFoundError(2, "nobody listens there")
            return lambda now: connecting_at(path, now)
        port = int(place.rpartition(":")[2])
        for name in ("tcp", "tcp6"):
            if listening_at(place, _read(tree, pid, name)) is not None:
                self._file = os.open(tree.path(f"/proc/{pid}/net/{name}"), os.O_RDONLY | os.O_CLOEXEC)
                return lambda now: _waiting(place, now)
        raise FileNotFoundError(2, f"nobody listens at port {port}")

    @staticmethod
    def _is_ours(kind: str, place: str, table: bytes, tree: SmallFiles) -> bool:
        """Whether our own network has the same socket: then its inode is in our table, too."""
        own = _read(tree, "self", "unix" if kind == "unix" else "tcp")
        if kind == "unix":
            return _unix_inodes(os.fsencode(place), own) == _unix_inodes(os.fsencode(place), table) != set()
        theirs, ours = listening_at(place, table), listening_at(place, own)
        return theirs is not None and ours is not None and theirs[1] == ours[1]

    def close(self) -> None:
        """Close what is open. Idempotent."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        if self._diag is not None:
            self._diag.__exit__(None, None, None)
            self._diag = None


def _read(tree: SmallFiles, pid: int | str, name: str) -> bytes:
    try:
        return tree.path(f"/proc/{pid}/net/{name}").read_bytes()
    except FileNotFoundError:
        if name == "tcp6":  # a kernel without IPv6
            return b""
        raise


def _whole(file: int) -> bytes:
    """All of a table: the kernel gives a page or so at a time."""
    os.lseek(file, 0, os.SEEK_SET)
    chunks = []
    while chunk := os.read(file, CHUNK):
        chunks.append(chunk)
    return b"".join(chunks)


def connecting_at(path: bytes, table: bytes) -> int:
    """Connections to a unix socket that nobody has accepted, from /proc/net/unix."""
    count = 0
    end = b" " + path
    for line in table.split(b"\n"):
        if line.endswith(end) and line.split(None, 6)[5] == _CONNECTING:
            count += 1
    return count


def listening_at(place: str, table: bytes) -> tuple[int, int] | None:
    """Waiting connections and inode of the socket that listens at HOST:PORT, from /proc/net/tcp or
    tcp6; None where none does.

    Where HOST is a name, whichever socket listens at the port.
    """
    host, _, port = place.rpartition(":")
    wanted, written = f"{int(port):04X}".encode(), _written(host)
    found = None
    for line in table.split(b"\n")[1:]:
        fields = line.split(None, 10)
        if len(fields) < 10 or fields[3] != _LISTENS:
            continue
        address, _, at = fields[1].partition(b":")
        if at != wanted:
            continue
        row = int(fields[4].partition(b":")[2], 16), int(fields[9])
        if not written or address in written:
            return row
        if not address.strip(b"0"):
            found = row  # it listens everywhere
    return found


def _waiting(place: str, table: bytes) -> int:
    row = listening_at(place, table)
    if row is None:
        raise FileNotFoundError(2, "nobody listens there any more")
    return row[0]


def _written(host: str) -> set[bytes]:
    """An address as the kernel's tables write it: words of the host's byte order in hexadecimal
    digits; nothing for a name."""
    try:
        packed = ipaddress.ip_address(host.strip("[]")).packed
    except ValueError:
        return set()
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    own = b"".join(f"{socket.htonl(int.from_bytes(word, 'big')):08X}".encode() for word in words)
    mapped = b"0000000000000000FFFF0000" + own if len(packed) == 4 else own
    return {own, mapped}


def _unix_inodes(path: bytes, table: bytes) -> set[bytes]:
    rows = (line.split(None, 7) for line in table.split(b"\n") if line.endswith(b" " + path))
    return {fields[6] for fields in rows if len(fields) == 8 and int(fields[3], 16) & 0x10000}


def overflows(pid: int, tree: SmallFiles | None = None) -> int | None:
    """Connections that the network of process `pid` has turned away because a TCP queue was full
    (ListenOverflows), since it began."""
    lines = ((tree or SmallFiles()).text(f"/proc/{pid}/net/netstat") or "").splitlines()
    for head, values in zip(lines[::2], lines[1::2], strict=False):
        if head.startswith("TcpExt:"):
            return numbers("\n".join(f"{name} {value}" for name, value in zip(head.split(), values.split(), strict=False))).get(
                "ListenOverflows"
            )
    return None
