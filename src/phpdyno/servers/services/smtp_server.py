"""The mail server behind `smtp_sink`: it says yes to everything, keeps nothing, and writes down how
much there was of each connection.

`smtp_server.py JSON` with `tcp` (host and port of each), `socket` (a path), `counts` (a file that
gets one line of JSON per connection that said something) and `account` (user and group to become
once the ports are bound, or null).

It offers AUTH with any user and password and no STARTTLS. Standard library only, and run by file
name, as the servers' account.
"""

import asyncio
import contextlib
import json
import signal
import socket
import sys
from pathlib import Path

GREETING = b"220 phpdyno ESMTP\r\n"
OFFERS = b"250-phpdyno\r\n250-PIPELINING\r\n250-SIZE\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-ENHANCEDSTATUSCODES\r\n250 AUTH PLAIN LOGIN\r\n"
FIXED = {
    "HELO": b"250 phpdyno\r\n",
    "EHLO": OFFERS,
    "NOOP": b"250 2.0.0 ok\r\n",
    "VRFY": b"252 2.0.0 cannot say\r\n",
    "HELP": b"214 2.0.0 every message is taken, and none delivered\r\n",
}
SIGNED_IN = b"235 2.7.0 signed in\r\n"
END_OF_DATA = b"\r\n.\r\n"
MOST_OF_A_LINE = 1 << 16


class Session:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.buffer = b""
        self.spoke = False
        self.sender = False
        self.to = 0
        self.messages = 0
        self.recipients = 0
        self.bytes = 0

    async def serve(self) -> None:
        """Answer until the client leaves."""
        self.writer.write(GREETING)
        while (line := await self.line()) is not None:
            self.spoke = True
            word, _, rest = line.partition(" ")
            if word.upper() == "QUIT":
                self.writer.write(b"221 2.0.0 bye\r\n")
                return
            await self.obey(word.upper(), rest.strip())

    async def obey(self, word: str, rest: str) -> None:
        """Answer one command."""
        if word in FIXED:
            self.writer.write(FIXED[word])
        elif word == "RSET":
            self.sender, self.to = False, 0
            self.writer.write(b"250 2.0.0 ok\r\n")
        elif word == "MAIL":
            self.sender, self.to = True, 0
            self.writer.write(b"250 2.1.0 ok\r\n")
        elif word == "RCPT" and self.sender:
            self.to += 1
            self.writer.write(b"250 2.1.5 ok\r\n")
        elif word == "DATA" and self.to:
            await self.take()
        elif word == "AUTH" and rest:
            await self.sign_in(rest)
        elif word in {"RCPT", "DATA"}:
            self.writer.write(b"503 5.5.1 the sender and a recipient come first\r\n")
        else:
            self.writer.write(b"502 5.5.1 this is not offered here\r\n")

    async def sign_in(self, rest: str) -> None:
        """Whatever the client wants to be."""
        mechanism, *given = rest.split()
        for challenge in [b"VXNlcm5hbWU6", b"UGFzc3dvcmQ6"][len(given) :] if mechanism.upper() == "LOGIN" else [b""][len(given) :]:
            self.writer.write(b"334 " + challenge + b"\r\n")
            if (await self.line() or "*") == "*":
                self.writer.write(b"501 5.7.0 as you like\r\n")
                return
        self.writer.write(SIGNED_IN)

    async def take(self) -> None:
        """A message, up to its end, of which nothing is kept."""
        self.writer.write(b"354 go on, and end with a dot\r\n")
        self.buffer = b"\r\n" + self.buffer  # the dot may be its first line
        while END_OF_DATA not in self.buffer:
            keep = len(END_OF_DATA) - 1
            self.bytes += max(0, len(self.buffer) - keep)
            self.buffer = self.buffer[-keep:]
            if not await self.more():
                return
        message, _, self.buffer = self.buffer.partition(END_OF_DATA)
        self.bytes += len(message)
        self.messages += 1
        self.recipients += self.to
        self.sender, self.to = False, 0
        self.writer.write(b"250 2.0.0 taken\r\n")

    async def line(self) -> str | None:
        """The next line without its end; None where the client is gone, or never ends it."""
        while b"\n" not in self.buffer:
            if len(self.buffer) > MOST_OF_A_LINE or not await self.more():
                return None
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.removesuffix(b"\r").decode(errors="replace")

    async def more(self) -> bool:
        """Send what was said and take in more; False at the end."""
        await self.writer.drain()
        part = await self.reader.read(1 << 16)
        self.buffer += part
        return bool(part)


async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: Path) -> None:
    """One connection from its greeting to its line in the counts."""
    session = Session(reader, writer)
    with contextlib.suppress(ConnectionError):
        await session.serve()
        await writer.drain()
    if session.spoke:
        count = {"messages": session.messages, "recipients": session.recipients, "bytes": session.bytes}
        with counts.open("a", encoding="utf-8") as file:
            file.write(json.dumps(count) + "\n")
    writer.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket that is bound and does not listen yet."""
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((host, port))
    return held


async def main() -> None:
    """Bind, and serve until SIGTERM."""
    told = json.loads(sys.argv[1])
    held = [bound(host, port) for host, port in told["tcp"]]
    # One that served the app's prepare command has left its own.
    Path(told["socket"]).unlink(missing_ok=True)
    private = socket.socket(socket.AF_UNIX)
    private.bind(told["socket"])
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    counts = Path(told["counts"])

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await handle(reader, writer, counts)

    # The private one last: who is greeted there knows that the others listen as well.
    for each in held:
        await asyncio.start_server(served, sock=each, backlog=1024)
    await asyncio.start_unix_server(served, sock=private, backlog=1024)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
