"""The relay: carries connections from addresses in the bottle to the peers outside that the user
lets through.

It is a process of the guardian's in the host's network, and has nothing of the bottle but sockets
that listen there. It runs as the servers' account, without privileges, so that it may do no more
than any program of this host. Standard library only; what a peer's name means is looked up on the
host for each connection.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401 (imported before rights are given up, as asyncio would do it late)
import encodings.idna  # noqa: F401 (as above: names are looked up with it)
import os
import resource
import socket
import struct
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

MOST_CONNECTIONS = 512
CHUNK = 1 << 16
CONNECT_S = 60.0
MOST_TOLD = 200
"""Lines that are written of connections that could not be had."""
_SPARE_FILES = 64
_RESET_AT_ONCE = struct.pack("ii", 1, 0)

Peer = tuple[str, int]
Door = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Relay:
    """Carries connections, up to `most` at once; what is over that is reset."""

    def __init__(self, log: int, most: int = MOST_CONNECTIONS) -> None:
        """`log` is an open file for what could not be reached, each reason once."""
        self._log = log
        self._most = most
        self._open = 0
        self._told: set[str] = set()

    async def serve(self, passages: Sequence[tuple[socket.socket, Peer]]) -> None:
        """Carry what arrives at each listening socket to the peer beside it. Never returns."""
        for listening, peer in passages:
            await asyncio.start_server(self._door(peer), sock=listening, limit=CHUNK, backlog=socket.SOMAXCONN)
        await asyncio.Event().wait()

    def _door(self, peer: Peer) -> Door:
        async def enter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self._open >= self._most:
                self._tell(peer, f"more than {self._most} connections at once")
                reset(writer)
                return
            self._open += 1
            try:
                await self._carry(reader, writer, peer)
            finally:
                self._open -= 1

        return enter

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
        try:
            there, back = await asyncio.wait_for(asyncio.open_connection(*peer, limit=CHUNK), CONNECT_S)
        except TimeoutError:
            self._tell(peer, "no answer")
            reset(writer)
            return
        except (OSError, UnicodeError) as error:
            self._tell(peer, _reason(error))
            reset(writer)
            return
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        except OSError:
            reset(writer)
            reset(back)
            return
        writer.close()
        back.close()

    def _tell(self, peer: Peer, reason: str) -> None:
        host, port = peer
        line = f"{f'[{host}]' if ':' in host else host}:{port}: {' '.join(reason.split())}"
        if line not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(line)
            os.write(self._log, f"{line}\n".encode(errors="replace"))


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Everything from one side to the other, its end included."""
    while data := await source.read(CHUNK):
        sink.write(data)
        await sink.drain()
    sink.write_eof()


def _reason(error: OSError | UnicodeError) -> str:
    """The kernel's words, or those of who looked the name up."""
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def reset(writer: asyncio.StreamWriter) -> None:
    """Let the other side see that the connection broke, and not that it ended."""
    held = writer.get_extra_info("socket")
    if held is not None and held.fileno() >= 0:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_ONCE)
    writer.transport.abort()


def run(passages: Sequence[tuple[socket.socket, Peer]], log: int) -> None:
    """Be the relay, with as many connections as this process may have files for. Never returns."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS + _SPARE_FILES
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    asyncio.run(Relay(log, min(MOST_CONNECTIONS, max(1, (soft - _SPARE_FILES) // 2))).serve(passages))
