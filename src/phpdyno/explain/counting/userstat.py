"""What MariaDB did for an app's requests, by its own count: `userstat` switched on for a pass and
off again."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.servers.database.client import ask
from phpdyno.servers.supervision.supervisor import Supervisor

OURS = "phpdyno"
"""Whom we ask as, so that our own questions can be told from the app's."""
_COLUMNS = ("BUSY_TIME", "CPU_TIME", "ROWS_READ", "ROWS_SENT", "SELECT_COMMANDS", "UPDATE_COMMANDS", "OTHER_COMMANDS", "TOTAL_CONNECTIONS")
OFF = "SET GLOBAL userstat=0"


class UserStat(Struct, frozen=True):
    """Totals over all of the app's users, since `counted` began. Times in seconds."""

    busy_s: float
    cpu_s: float
    rows_read: int
    rows_sent: int
    commands: int
    connections: int


class UserstatRead(Struct):
    """Filled when the counting ends."""

    stat: UserStat | None = None


@contextmanager
def counted(supervisor: Supervisor, socket: Path) -> Iterator[UserstatRead]:
    """Let the MariaDB at this socket count while the block lasts. Raises DynoError where it
    refuses."""
    _ask(supervisor, socket, "SET GLOBAL userstat=1; FLUSH USER_STATISTICS")
    found = UserstatRead()
    with _switching_off(supervisor, socket):
        yield found
        sums = ", ".join(f"COALESCE(SUM({column}), 0)" for column in _COLUMNS)
        text = _ask(supervisor, socket, f"SELECT {sums} FROM information_schema.USER_STATISTICS WHERE USER <> '{OURS}'")  # noqa: S608 (ours)
        found.stat = stat_in(text)


@contextmanager
def _switching_off(supervisor: Supervisor, socket: Path) -> Iterator[None]:
    """Switch the counting off at the end; where something went wrong, that is what is told."""
    try:
        yield
    except BaseException:
        with suppress(DynoError):
            _ask(supervisor, socket, OFF)
        raise
    _ask(supervisor, socket, OFF)


def stat_in(text: str) -> UserStat:
    """The one row that was asked for. Raises DynoError for anything else."""
    cells = text.split()
    try:
        busy, cpu, read, sent, *commands, connections = map(float, cells)
    except ValueError as error:
        raise DynoError(f"MariaDB's statistics of users are not understood: {text.strip()[:200]!r}") from error
    return UserStat(busy, cpu, int(read), int(sent), int(sum(commands)), int(connections))


def _ask(supervisor: Supervisor, socket: Path, sql: str) -> str:
    return ask(supervisor, socket, sql, user=OURS, refused="MariaDB refuses to count")
