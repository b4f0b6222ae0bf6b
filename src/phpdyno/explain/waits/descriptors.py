"""What a descriptor of another process is: a file, a pipe, or a socket with the address at its
other end.

The link below /proc/PID/fd tells files and a socket's inode. Whom a socket is connected to is asked
of the socket itself, on a duplicate of it (pidfd_getfd): that holds in every network namespace, and
for unix sockets too, whose clients have no path in /proc/net/unix.
"""

import contextlib
import ctypes
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from phpdyno.host.namespaces import libc
from phpdyno.model.inside.waits import Wait

_PIDFD_GETFD = 438  # the same on every architecture
MOST_KNOWN = 4096
"""Sockets that are remembered: an app that connects for every request has a new one each time."""


class KnownEnds(Struct, frozen=True):
    """Addresses whose owners have a name. `own` are the pool's: where it listens. Unix sockets by
    path, TCP as `HOST:PORT`."""

    own: frozenset[str] = frozenset()
    names: Mapping[str, Wait] = field(default_factory=dict)


class Descriptors:
    """The descriptors of one process. Not for several threads."""

    def __init__(self, pid: int, known: KnownEnds) -> None:
        """Raises OSError where the process is gone."""
        self._pid = pid
        self._known = known
        self._links = f"/proc/{pid}/fd"
        self._pidfd = os.pidfd_open(pid)
        self._sockets: dict[str, Wait] = {}

    def wait_on(self, number: int) -> Wait | None:
        """What whoever waits for this descriptor waits for; None where it is closed by now, so that
        nobody waits any more."""
        try:
            link = os.readlink(f"{self._links}/{number}")  # noqa: PTH115 (called for every sample)
        except OSError:
            return None
        if link.startswith("socket:"):
            return self._socket(number, link)
        if link == "/dev/null":
            return None  # nobody waits there: the number was another file's when it was seen
        if link.startswith("pipe:"):
            return Wait("process", "a pipe")
        return Wait("disk", "files") if link.startswith("/") and not link.startswith("/dev/") else Wait("other", link.partition(":")[0])

    def watched_by(self, number: int) -> tuple[int, ...]:
        """The descriptors that an epoll descriptor watches."""
        try:
            text = Path(f"/proc/{self._pid}/fdinfo/{number}").read_text(encoding="ascii", errors="replace")
        except OSError:
            return ()
        return tuple(int(line.split()[1]) for line in text.splitlines() if line.startswith("tfd:"))

    def end_named(self, address: str) -> Wait:
        """The wait for whoever is at this address."""
        return self._known.names.get(address) or Wait("network", address)

    def close(self) -> None:
        """Give up what is held open."""
        pidfd, self._pidfd = self._pidfd, -1
        if pidfd >= 0:
            os.close(pidfd)

    def _socket(self, number: int, link: str) -> Wait:
        found = self._sockets.get(link)
        if found is None:
            if len(self._sockets) > MOST_KNOWN:
                self._sockets.clear()
            found = self._asked(number)
            if found != UNCONNECTED:
                self._sockets[link] = found
        return found

    def _asked(self, number: int) -> Wait:
        duplicate = libc.syscall(ctypes.c_long(_PIDFD_GETFD), ctypes.c_int(self._pidfd), ctypes.c_int(number), ctypes.c_uint(0))
        if duplicate < 0:
            return Wait("network", "a socket that may not be looked at")
        with contextlib.closing(socket.socket(fileno=duplicate)) as end:
            return wait_for_end(end, self._known)


UNCONNECTED = Wait("network", "no connection yet")


def wait_for_end(end: socket.socket, known: KnownEnds) -> Wait:
    """What whoever waits on this socket waits for: a request (it listens), the web server, a named
    end, an address."""
    if _said(lambda: end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)):
        return Wait("idle")
    if address_words(_said(end.getsockname)) in known.own:
        return Wait("web")
    there = address_words(_said(end.getpeername))
    if not there:
        return UNCONNECTED
    return known.names.get(there) or Wait("network", there)


def _said(ask: Callable[[], object]) -> object:
    """What a socket answers, None where it has no answer."""
    try:
        return ask()
    except OSError:
        return None


def address_words(address: object) -> str:
    """An address as `getpeername` gives it: the path of a unix socket, `HOST:PORT`, '' for none."""
    if isinstance(address, tuple) and len(address) >= 2:
        host, port = str(address[0]).removeprefix("::ffff:"), address[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(address, bytes):
        return "@" + address.strip(b"\0").decode(errors="replace") if address else ""
    return address if isinstance(address, str) else ""
