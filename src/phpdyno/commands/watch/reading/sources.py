"""Where workers and requests of a pool are read: its scoreboard, its status page beside, systemd's
line, its own socket when asked to."""

import shutil
import subprocess
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.servers.facts.pool_status import read_pool_page
from phpdyno.servers.live.scoreboard import Slot
from phpdyno.servers.live.scoreboard_reader import ScoreboardReader, Unsettled
from phpdyno.servers.live.systemd_status import SystemdStatus, parse_status_text, unit_of
from phpdyno.servers.live.watched_masters import WatchedPool

Workers = Callable[[], Container[int] | None]
"""Who may be in a scoreboard at this moment, as their own PID namespace numbers them; None where
that is not known."""
TRIES = 5
SYSTEMD = Path("/run/systemd/system")
"""There where systemd runs."""
SYSTEMD_EVERY_S = 10.0
PAGE_TIMEOUT_NS = 500_000_000


class NotThere(DynoError):  # noqa: N818 (it names what is the matter)
    """There is no such source here, and nobody needs to be told."""


class SourceReading(Struct, frozen=True):
    """One look. Counters are since `started_s`, where that is known; `slots` is None where workers
    are not told one by one."""

    active: int
    idle: int
    requests: int | None = None
    started_s: int | None = None
    pm: str | None = None
    max_children: int | None = None
    max_children_reached: int | None = None
    slow_requests: int | None = None
    slots: list[Slot] | None = None
    counts_wrong: bool = False


class Source(Protocol):
    """One of them, for one pool."""

    name: str

    def read(self, workers: Container[int] | None) -> SourceReading:
        """Look. Raises DynoError where it does not answer any more."""

    def busy(self) -> int | None:
        """Workers in a request at this moment, where that costs next to nothing; None elsewhere.
        Raises DynoError."""

    def close(self) -> None:
        """Close what is open."""


class Scoreboard:
    """The master's memory."""

    name = "scoreboard"

    def __init__(self, pool: WatchedPool, workers: Workers) -> None:
        """Raises NoScoreboard."""
        for rest in reversed(range(TRIES)):
            try:
                self._reader = ScoreboardReader(pool.master.pid, pool.name, workers=workers())
                return
            except Unsettled:
                if not rest:
                    raise

    @property
    def layout(self) -> str:
        """Which versions' layout it has."""
        return self._reader.layout

    def read(self, workers: Container[int] | None) -> SourceReading:
        """Active are those whose stage says so: php-fpm's own counter is off by some under load
        (php-src issues 14212, 18956)."""
        board = self._reader.read(workers=workers)
        head, slots = board.head, board.slots
        active = sum(slot.busy for slot in slots) if slots else head.active
        return SourceReading(
            active=active,
            idle=(len(slots) - active) if slots else head.idle,
            requests=head.requests,
            started_s=head.started_s,
            pm=head.pm,
            max_children=head.max_children,
            max_children_reached=head.max_children_reached,
            slow_requests=head.slow_requests,
            slots=slots,
            counts_wrong=self._reader.counts_wrong,
        )

    def busy(self) -> int | None:
        """The number of busy workers, as their stages say."""
        return self._reader.busy()

    def close(self) -> None:
        """Close the master's memory."""
        self._reader.close()


class StatusPage:
    """A status page, over FastCGI: where it listens beside, or (`own`) at the pool's own socket,
    where it takes a worker of the pool."""

    def __init__(self, pool: WatchedPool, *, own: bool = False) -> None:
        """Raises DynoError: there is none, it may not be asked, it does not answer."""
        self.name = "own socket" if own else "status page"
        address = pool.address if own else pool.status_address
        if not pool.status_path or not address:
            what = "it has no pm.status_path" if own else "it has no pm.status_listen"
            raise DynoError(what, where=pool.name, next_step="set it in the pool's file and reload php-fpm")
        if pool.master.inside:
            if not address.startswith("unix:"):
                raise DynoError("its status page is in a container's network", where=pool.name, next_step="run phpdyno inside it")
            address = f"unix:/proc/{pool.master.pid}/root{address.removeprefix('unix:')}"
        self._address, self._path = address, pool.status_path
        self.read(None)

    def read(self, workers: Container[int] | None) -> SourceReading:
        """One question; it counts itself among the active ones at the pool's own socket."""
        page = read_pool_page(self._address, path=self._path, timeout_ns=PAGE_TIMEOUT_NS)
        itself = 1 if self.name == "own socket" else 0
        status = page.status
        return SourceReading(
            active=max(0, status.active - itself),
            idle=status.idle + itself,
            requests=status.accepted,
            started_s=page.started_s,
            pm=page.pm,
            max_children_reached=status.max_children_reached,
            slow_requests=status.slow_requests,
        )

    def busy(self) -> int | None:
        """Each question has a price, so there is one an interval."""
        return None

    def close(self) -> None:
        """Nothing is kept open."""


class SystemdLine:
    """What php-fpm tells systemd every ten seconds, of all its pools together: of use where it has
    one."""

    name = "systemd"

    def __init__(self, pool: WatchedPool, *, alone: bool) -> None:
        """Raises DynoError: no systemd, no unit, no line, or several pools."""
        self._unit = unit_of(Path(f"/proc/{pool.master.pid}/cgroup"))
        self._program = shutil.which("systemctl")
        if not alone or not self._unit or self._program is None or not SYSTEMD.is_dir():
            raise NotThere("systemd has no line of this pool alone", where=pool.name)
        self._last: tuple[float, SystemdStatus] | None = None
        self.read(None)

    def read(self, workers: Container[int] | None) -> SourceReading:
        """The last line; asked for anew every ten seconds, as php-fpm writes it."""
        now = time.monotonic()
        if self._last is None or now - self._last[0] >= SYSTEMD_EVERY_S:
            self._last = now, self._ask()
        told = self._last[1]
        return SourceReading(active=told.active, idle=told.idle, requests=told.requests, slow_requests=told.slow)

    def busy(self) -> int | None:
        """Ten seconds old."""
        return None

    def close(self) -> None:
        """Nothing is kept open."""

    def _ask(self) -> SystemdStatus:
        argv = [str(self._program), "show", "--property", "StatusText", "--value", self._unit]
        try:
            answer = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DynoError(f"systemctl does not answer: {error}", where=self._unit) from error
        return parse_status_text(answer.stdout, where=self._unit)


def open_source(pool: WatchedPool, workers: Workers, *, ask: bool, alone: bool) -> tuple[Source | None, tuple[DynoError, ...]]:
    """The first that works, in the order scoreboard, page beside, systemd, own socket; and why
    those before it do not that could."""
    refused: list[DynoError] = []
    tries: list[Callable[[], Source]] = [
        lambda: Scoreboard(pool, workers),
        lambda: StatusPage(pool),
        lambda: SystemdLine(pool, alone=alone),
    ]
    if ask:
        tries.append(lambda: StatusPage(pool, own=True))
    for attempt in tries:
        try:
            return attempt(), tuple(refused)
        except NotThere:
            continue
        except DynoError as error:
            refused.append(error)
    return None, tuple(refused)
