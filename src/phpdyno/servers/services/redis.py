"""Redis in memory alone, filled from a file of its own format where the service has a dump."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from phpdyno.errors import DynoError
from phpdyno.model.services.service import Service
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.services.running import ANSWER_S, Complaint, RunningService, ServiceStart, connected, home_of, kept_running
from phpdyno.servers.supervision.supervisor import Supervisor

DUMP = "dump.rdb"
LOG_OF_COMMANDS = "appendonly.aof"
ALL = "~* &* +@all"
LOADING_S = 600.0
"""Most that it takes to read its dump."""
_PING = b"*1\r\n$4\r\nPING\r\n"
_FAILED_AUTH = re.compile(rb"cmdstat_auth:[^\r\n]*failed_calls=([1-9]\d*)")
_FAILED_USER = re.compile(rb"\$8\r\nusername\r\n\$\d+\r\n([^\r\n]+)\r\n")


class Stream(Protocol):
    """A connection to read from and to write to."""

    def readline(self) -> bytes:
        """Up to a line's end."""

    def read(self, size: int, /) -> bytes:
        """This many bytes."""

    def write(self, data: bytes, /) -> int:
        """Keep these bytes for sending."""

    def flush(self) -> None:
        """Send them."""


def version() -> str:
    """Version of the installed server, as it prints it."""
    return told([find_program("redis-server"), "--version"]).stdout.decode(errors="replace").strip()


@contextlib.contextmanager
def started(supervisor: Supervisor, start: ServiceStart, *, replaying: bool = False) -> Iterator[RunningService]:
    """Run it, from the dump in its data directory where it has one; `replaying`: from a log of
    commands there instead.

    Nothing is saved. Users that the service names may sign in with any password, and so may
    `default` by its name. `AUTH PASSWORD` without a user is answered by Redis 7.0 with an error
    unless it is the one password that is set: no setting makes any pass.
    """
    home = home_of(supervisor, start)
    socket_path = home / "redis.sock"
    # The servers' account may read what configures it, and not write it; nobody else may do either.
    configuration = supervisor.live / f"{start.log}.conf"
    configuration.touch(mode=0o600)
    configuration.write_text(configured(start, home=home, socket_path=socket_path, replaying=replaying))
    if supervisor.user.switch:
        os.chown(configuration, os.geteuid(), supervisor.user.gid)
        configuration.chmod(0o640)
    child = supervisor.spawn(
        start.log,
        [find_program("redis-server"), str(configuration)],
        env={"HOME": str(home)},
        cores=start.cores,
        cgroups=start.cgroups,
    )
    password = start.service.password
    ready = lambda: _ready(socket_path, password)  # noqa: E731
    with kept_running(supervisor, child, ready, socket_path=socket_path, listen=start.listen, timeout_s=LOADING_S):
        yield RunningRedis(start.service, child, socket_path)


class RunningRedis(RunningService):
    """A running Redis. Whom it turned away is in its own statistics, which hold names of users and
    never a password."""

    def turned_away(self) -> tuple[Complaint, ...]:
        """Who was turned away, by its log of access and its count of commands that failed."""
        try:
            failed = _FAILED_AUTH.search(self._ask(b"INFO", b"commandstats"))
            names = dict.fromkeys(_FAILED_USER.findall(self._ask(b"ACL", b"LOG", b"128")))
        except (OSError, DynoError):
            return ()
        users = [name.decode(errors="replace") for name in names if name != b"default"]
        return complaints(self.service, users, passwords=bool(failed))

    def let_in(self, user: str) -> None:
        """Make a user whom any password lets do anything, and forget what was refused before."""
        for words in ((b"ACL", b"SETUSER", user.encode(), b"on", b"nopass", *ALL.encode().split()), (b"ACL", b"LOG", b"RESET")):
            if (reply := self._ask(*words)) != b"+OK\r\n":
                what = f"Redis does not make the user {user}: {reply.decode(errors='replace').strip()}"
                raise DynoError(what, where=f"service.{self.service.name}")
        self._ask(b"CONFIG", b"RESETSTAT")

    def _ask(self, *words: bytes) -> bytes:
        if self.socket is None:
            raise DynoError("this Redis has no private socket")
        return ask(self.socket, self.service.password, *words)


def configured(start: ServiceStart, *, home: Path, socket_path: Path, replaying: bool = False) -> str:
    """Its configuration file."""
    password = start.service.password
    lines = [
        f"bind {' '.join(start.addresses)}" if start.addresses else "",
        f"port {start.port(0)}",
        "protected-mode no",
        f"unixsocket {quoted(str(socket_path))}",
        "unixsocketperm 777",
        f"dir {quoted(str(start.data or home))}",
        f"dbfilename {DUMP}",
        'save ""',
        f"appendonly {'yes' if replaying else 'no'}",
        # Production may have more than the usual sixteen; an empty one costs nothing.
        "databases 256",
        f"user default on {quoted('>' + password) if password else 'nopass'} {ALL}",
        *(f"user {quoted(user)} on nopass {ALL}" for user in start.service.users if user != "default"),
    ]
    return "".join(f"{line}\n" for line in lines if line)


def quoted(text: str) -> str:
    """A word of a configuration file as Redis reads it."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}" for byte in text.encode())
    return f'"{"".join(plain)}"'


def command(*words: bytes) -> bytes:
    """A command as Redis's protocol has it."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def read_reply(stream: Stream) -> bytes:
    """One whole answer as it came, nested ones included. Raises DynoError where the server hangs
    up."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise DynoError("Redis hung up in the middle of an answer")
    if line[:1] == b"$" and line != b"$-1\r\n":
        return line + stream.read(int(line[1:]) + 2)
    if line[:1] == b"*":
        return line + b"".join(read_reply(stream) for _ in range(max(0, int(line[1:]))))
    return line


def ask(socket_path: Path, password: str | None, *words: bytes, timeout_s: float = ANSWER_S) -> bytes:
    """The answer to one command. Raises OSError and DynoError."""
    with signed_in(socket_path, password, timeout_s=timeout_s) as stream:
        stream.write(command(*words))
        stream.flush()
        return read_reply(stream)


@contextlib.contextmanager
def signed_in(socket_path: Path, password: str | None, *, timeout_s: float = ANSWER_S) -> Iterator[Stream]:
    """A connection as the user `default`. Raises OSError and DynoError."""
    with connected(socket_path, timeout_s=timeout_s) as connection, connection.makefile("rwb") as stream:
        if password:
            stream.write(command(b"AUTH", password.encode()))
            stream.flush()
            read_reply(stream)
        yield stream


def complaints(service: Service, users: Sequence[str], *, passwords: bool) -> tuple[Complaint, ...]:
    """Complaints of users that Redis does not know; where there are none and `passwords` were
    refused, of those."""
    where = f"service.{service.name}"
    if users or not passwords:
        step = f"whom Redis does not know; add it to users of {where}"
        return tuple(Complaint(f'the app signs in to {where} as "{user}", {step}', user) for user in users)
    if service.password:
        return (Complaint(f"the app sends another password than the one of {where}; correct password there"),)
    return (Complaint(f"the app sends a password to Redis, which has none; write it as password of {where}"),)


def _ready(socket_path: Path, password: str | None) -> bool:
    with contextlib.suppress(OSError, DynoError):
        return ask(socket_path, password, b"PING") == b"+PONG\r\n"
    return False
