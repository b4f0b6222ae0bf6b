"""One process that the guardian started, as its owner sees it."""

import signal
import time
from pathlib import Path
from typing import Protocol


class ProcessOwner(Protocol):
    """Who hears from the guardian how processes end, and has it signal them."""

    @property
    def exits(self) -> dict[int, int]:
        """Exit codes by the number of the request that started the process."""

    def poll(self, timeout_s: float = 0.0) -> None:
        """Take in what the guardian has to say, waiting up to `timeout_s` for it."""

    def signal(self, pid: int, number: int) -> None:
        """Signal the process group of one of its children."""


class Child:
    """One process that the guardian started."""

    def __init__(self, owner: ProcessOwner, number: int, *, name: str, pid: int, log: Path, log_start: int) -> None:
        self._owner = owner
        self._number = number
        self.name = name
        self.pid = pid
        self.log = log
        self._log_start = log_start

    @property
    def status(self) -> int | None:
        """Exit code (negative: the number of the signal that ended it), None while it runs."""
        return self._owner.exits.get(self._number)

    def alive(self) -> bool:
        """Whether it still runs, by what the guardian has told so far."""
        self._owner.poll()
        return self.status is None

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; False when it still runs after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self.alive():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._owner.poll(left)
        return True

    def terminate(self) -> None:
        """Ask its process group to end, without waiting."""
        if self.alive():
            self._owner.signal(self.pid, signal.SIGTERM)

    def stop(self, *, timeout_s: float = 5.0) -> None:
        """Ask its process group to end, and kill what is left of it after `timeout_s`: a master
        that died may have left workers."""
        if self.alive():
            self.terminate()
            self.wait(timeout_s)
        if self.status != 0:
            self._owner.signal(self.pid, signal.SIGKILL)
            self.wait(timeout_s)

    def tail(self, lines: int = 6) -> str:
        """The last lines of its log, joined by ' | '."""
        return " | ".join(line.strip() for line in self.said().splitlines()[-lines:] if line.strip()) or "(its log is empty)"

    def said(self) -> str:
        """What it wrote since it was started (an earlier session of the run may have written into
        the same file)."""
        try:
            return self.log.read_bytes()[self._log_start :].decode(errors="replace")
        except OSError:
            return ""

    def ended_how(self) -> str:
        """Its end in words."""
        if self.status is None:
            return "still runs"
        if self.status < 0:
            return f"was ended by {signal.Signals(-self.status).name}"
        return f"ended with exit code {self.status}"
