"""Tarantool with the reference's space, as our own unprivileged child: it keeps nothing, and
whoever is in the bottle may do everything."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.servers.services.running import await_ready
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.iproto import Iproto

_Answer = TypeVar("_Answer")

SCRIPT = Path(__file__).with_name("server.lua")
LOG = "tarantool"
READY_S = 30.0
SHUTDOWN_S = 10.0
HOST = "127.0.0.1"
OPERATIONS = ("SELECT", "INSERT", "REPLACE", "UPDATE", "UPSERT", "DELETE", "CALL", "EVAL", "EXECUTE")
"""What box.stat() counts."""


class TarantoolProgram(Struct, frozen=True):
    """A server's binary, and directories of shared libraries that it needs besides the system's."""

    binary: Path
    libraries: tuple[Path, ...] = ()

    @property
    def env(self) -> dict[str, str]:
        """What it is started with."""
        return {"LD_LIBRARY_PATH": ":".join(map(str, self.libraries))} if self.libraries else {}


class ServerSettings(Struct, frozen=True):
    """How the server is set up; the defaults are the reference's. `readahead` and `memory` are
    bytes, `tuples` how many the space holds.

    `collect`: Lua's collector runs.
    """

    wal_mode: str = "none"
    readahead: int = 1 << 20
    memory: int = 256 << 20
    tuples: int = 10_000
    collect: bool = False
    port: int = 3301


END_S = 0.5
CHANGES = frozenset({"insert", "replace", "update", "upsert", "delete"})


class Tarantool:
    """A running server. It listens at `socket` or at HOST:`port`, whichever it was told last;
    connections outlive a change."""

    def __init__(self, child: Child, socket: Path, settings: ServerSettings) -> None:
        self.child = child
        self.socket = socket
        self.settings = settings
        self._control: Iproto | None = None
        self._asked_for_requests = 0

    @classmethod
    @contextlib.contextmanager
    def start(
        cls,
        supervisor: Supervisor,
        program: TarantoolProgram,
        settings: ServerSettings,
        *,
        cores: Sequence[int] = (),
        cgroups: Sequence[Path] = (),
    ) -> Iterator["Tarantool"]:
        """Start it, wait until its space is filled, and end it with all that it holds. Raises
        DynoError with the last lines of its log."""
        folder = supervisor.directory(LOG)
        script = supervisor.live / SCRIPT.name
        script.write_bytes(SCRIPT.read_bytes())
        path = folder / "t.sock"
        env = {
            **program.env,
            "PHPDYNO_FOLDER": str(folder),
            "PHPDYNO_LISTEN": f"unix/:{path}",
            "PHPDYNO_WAL_MODE": settings.wal_mode,
            "PHPDYNO_READAHEAD": str(settings.readahead),
            "PHPDYNO_MEMORY": str(settings.memory),
            "PHPDYNO_TUPLES": str(settings.tuples),
            "PHPDYNO_COLLECT": "yes" if settings.collect else "no",
        }
        for place in (program.binary.parent, *program.libraries):
            supervisor.show(place)
        child = supervisor.spawn(LOG, [str(program.binary), str(script)], env=env, cwd=folder, cores=cores, cgroups=cgroups)
        server = cls(child, path, settings)
        try:
            await_ready(child, server._answers, timeout_s=READY_S)
            yield server
        finally:
            server._hang_up()
            child.stop(timeout_s=SHUTDOWN_S)

    @property
    def version(self) -> str:
        """The version as its greeting has it. Raises DynoError."""
        return self._asking().version

    def fill(self) -> None:
        """Give its space the tuples that it began with, and no others. Raises DynoError."""
        held = self._evaluate("return phpdyno_fill(...)", self.settings.tuples)
        if held != [self.settings.tuples]:
            raise DynoError(f"the space holds {held} tuples, and {self.settings.tuples} were put there", where=LOG)

    def listen_on_unix(self) -> str:
        """Take connections at the unix socket from now on, and give its address. Raises
        DynoError."""
        self._evaluate("return phpdyno_listen(...)", f"unix/:{self.socket}")
        return f"unix://{self.socket}"

    def listen_on_tcp(self) -> str:
        """Take connections over TCP from now on, and give the address. Raises DynoError."""
        self._evaluate("return phpdyno_listen(...)", f"{HOST}:{self.settings.port}")
        return f"tcp://{HOST}:{self.settings.port}"

    def counted(self) -> dict[str, int]:
        """How many operations of each kind it has carried out since it was started (`box.stat`),
        and in all as `ALL`. Raises DynoError."""
        (stat,) = self._evaluate(
            "local s = box.stat(); local r = {}; for _, n in ipairs({...}) do r[n] = s[n].total end; "
            "r.ALL = box.stat.net().REQUESTS.total; return r",
            *OPERATIONS,
        )
        return {str(name): int(count) for name, count in stat.items()}

    def requests(self) -> int:
        """How many requests it has carried out since it was started (`box.stat.net`), those by
        which it was asked left out: differences between two answers are what others asked for.
        Raises DynoError."""
        self._asked_for_requests += 1
        (count,) = self._evaluate("return box.stat.net().REQUESTS.total")
        return int(count) - self._asked_for_requests

    def ended(self) -> str:
        """How it ended, in words; '' while it runs."""
        # Its sockets close a moment before the guardian tells of its end.
        return f"Tarantool {self.child.ended_how()}: {self.child.tail()}" if self.child.wait(END_S) else ""

    def perform(self, kind: int, body: dict[int, Any]) -> dict[int, Any]:
        """The body of the answer to a request of this type. Raises DynoError."""
        return self._told(lambda asking: asking.perform(kind, body))

    def _evaluate(self, expression: str, *arguments: Any) -> list[Any]:
        return self._told(lambda asking: asking.evaluate(expression, *arguments))

    def _told(self, ask: Callable[[Iproto], _Answer]) -> _Answer:
        try:
            return ask(self._asking())
        except OSError as error:
            self._hang_up()
            raise DynoError(self.ended() or f"Tarantool does not answer: {error}", where=LOG) from error

    def _asking(self) -> Iproto:
        """A connection of our own, made while it listened at its unix socket."""
        if self._control is None:
            try:
                self._control = Iproto(self.socket)
            except OSError as error:
                raise DynoError(self.ended() or f"Tarantool cannot be reached: {error.strerror}", where=str(self.socket)) from error
        return self._control

    def _answers(self) -> bool:
        with contextlib.suppress(OSError, DynoError):
            control = Iproto(self.socket)
            # It listens before its space is there.
            try:
                if control.evaluate("return phpdyno_fill ~= nil and box.space.items:len()") == [self.settings.tuples]:
                    self._control = control
                    return True
            except BaseException:
                control.close()
                raise
            control.close()
            time.sleep(0.01)
        return False

    def _hang_up(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None


class SharedSpace:
    """The server's space, which rows use in turn; `changes` says that what a slot does to it
    shows."""

    def __init__(self, server: Tarantool, *, changes: bool) -> None:
        self.server = server
        self._changes = changes

    def restore(self) -> None:
        """Have it as it was in the beginning, where a slot may have changed it. Raises
        DynoError."""
        if self._changes:
            self.server.fill()


def is_change(operation: str) -> bool:
    """Whether the space is not what it was after an operation of the lab."""
    return operation.removesuffix("-prepared").removeprefix("sql-") in CHANGES
