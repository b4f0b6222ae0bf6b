"""php-fpm under valgrind's callgrind: how it is started, and the dump that its worker writes before
it accepts each request.

`accept` is where the dumps are made because every build calls it, once a request and from a
library, so that no compiler can have put it into its caller; between two of them lies exactly one
request, with what is done after its answer. No other process has to ask the worker for anything, so
that neither its PID namespace nor its account stands between.
"""

import re
import time
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.explain.counting.callgrind import Dump, read_dump
from phpdyno.host.files.plain import read_plain
from phpdyno.servers.facts.meter import children_of, is_asleep
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.under import Under

READY_S = 180.0
"""It is some fifty times slower; an arm may preload its whole app before it answers."""
DUMP_S = 60.0
LOOK_S = 0.005
QUIET_LOOKS = 10
FOLDER = "callgrind"
UNKNOWN_INSTRUCTION = re.compile(r"unhandled instruction bytes: (.*)|[Uu]nrecognised instruction at")
_DUMP = re.compile(r"cg\.(\d+)\.(\d+)")


class CannotCount(DynoError):  # noqa: N818 (it names the finding: instructions cannot be counted here)
    """Instructions cannot be counted here: valgrind is missing, or does not run this arm. Whatever
    else was asked for goes on."""


def find_valgrind() -> str:
    """Path of valgrind. Raises CannotCount with the line that installs it."""
    try:
        return find_program("valgrind")
    except DynoError as error:
        raise CannotCount(error.what, next_step=error.next_step) from error


def fixed_addresses() -> tuple[str, ...]:
    """The words that start a program without address-space randomisation; none where the host
    forbids that (some containers do)."""
    try:
        words = (find_program("setarch"), "-R")
        return words if told([*words, "/bin/true"]).returncode == 0 else ()
    except DynoError:
        return ()


class Counter:
    """Reads the dumps of one instance's only worker, in their order."""

    def __init__(self, supervisor: Supervisor) -> None:
        """Raises CannotCount."""
        self._folder = supervisor.directory(FOLDER)
        self.addresses_fixed = bool(setarch := fixed_addresses())
        options = [
            "--tool=callgrind",
            f"--callgrind-out-file={self._folder}/cg.%p",
            "--dump-before=accept",
            # Nothing asks it from outside, so it makes no pipes.
            "--vgdb=no",
            "-q",
            "--sigill-diagnostics=yes",
        ]
        self.under = Under((*setarch, find_valgrind(), *options), READY_S)
        self._last: dict[int, int] = {}

    def forget(self, master: int) -> None:
        """Remove all dumps, once the worker has written the one of its last request. Raises
        DynoError."""
        self._await_rest(master)
        for path in self._folder.iterdir():
            match = _DUMP.fullmatch(path.name)
            if match:
                self._last[int(match[1])] = max(self._last.get(int(match[1]), 0), int(match[2]))
                path.unlink()

    def take(self, master: int) -> Dump:
        """The dump of the request that was just answered, which is removed. Raises DynoError: none
        comes, or not just one."""
        self._await_rest(master)
        deadline = time.monotonic() + DUMP_S
        while not (found := self._fresh()):
            if time.monotonic() > deadline:
                raise CannotCount(f"callgrind wrote nothing within {DUMP_S:.0f} s of a request's end")
            time.sleep(LOOK_S)
        if len(found) > 1:
            raise CannotCount(f"one request made callgrind count {len(found)} times: this pool's workers accept more than requests")
        try:
            dump = read_dump(read_plain(found[0]).decode(errors="replace").splitlines())
        except (OSError, ValueError) as error:
            raise CannotCount(f"what callgrind wrote cannot be read: {error}", where=str(found[0])) from error
        self.forget(master)
        return dump

    def _fresh(self) -> list[Path]:
        found = []
        for path in self._folder.iterdir():
            match = _DUMP.fullmatch(path.name)
            if match and int(match[2]) > self._last.get(int(match[1]), 0):
                found.append(path)
        return found

    def _await_rest(self, master: int) -> None:
        """Wait until the worker sleeps and goes on sleeping: its dump is written before it waits
        for the next request."""
        deadline = time.monotonic() + DUMP_S
        quiet = 0
        while quiet < QUIET_LOOKS:
            quiet = quiet + 1 if all(is_asleep(pid) for pid in children_of(master)) else 0
            if time.monotonic() > deadline:
                raise CannotCount(f"php-fpm does not come to rest within {DUMP_S:.0f} s, so its instructions cannot be told by request")
            time.sleep(LOOK_S)
