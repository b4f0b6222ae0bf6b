"""strace on a php-fpm pool while it serves some requests, for what the app reaches for. Times under
it mean nothing."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno.errors import DynoError
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.explain.tracing.attached import attached
from phpdyno.explain.tracing.reached import TRACED, read_reached
from phpdyno.explain.tracing.strace import await_attached, find_strace, place_of_output, sleeping_pool
from phpdyno.host.files.plain import open_plain
from phpdyno.model.inside.reach import Reached
from phpdyno.servers.programs.finding import told
from phpdyno.servers.supervision.supervisor import Supervisor

LOG = "strace-reach"
STRING_BYTES = 2048
"""Of each string: the longest answer of a name server that the C library takes by UDP, the longest
command that is worth showing."""
OTHER_NAMESPACE = "--decode-pids=pidns"
"""Has strace name processes as the host counts them too; versions before 5.9 do not know it."""


class Watched(Struct):
    """Filled when the watching ends. `requests` may be set until then."""

    requests: int
    reached: Reached | None = None

    def found(self) -> Reached:
        """What was seen. Raises DynoError before the end."""
        if self.reached is None:
            raise DynoError("what was reached for is not known before the watching ends")
        return self.reached


@contextlib.contextmanager
def watching(
    supervisor: Supervisor,
    pids: Sequence[int],
    *,
    requests: int = 0,
    ours: Sequence[str] = (),
    sendmail: Sequence[str] = (),
    as_service: bool = False,
) -> Iterator[Watched]:
    """See what `pids`, and what they fork meanwhile, reach for. strace runs as we do, or as the
    servers' account (`as_service`).

    What a process has open already is not seen: a worker that keeps its connections shows them only
    if it is watched from its first request on. The processes may be in other namespaces; `ours`
    (trees whose files and unix sockets are left out) and the paths that come out are as they see
    them. The result is filled when the block ends. Raises CannotTrace: strace missing, ptrace
    forbidden.
    """
    output = place_of_output(supervisor, as_service=as_service) / "reached"
    output.unlink(missing_ok=True)
    argv = [*_command(find_strace()), "-o", str(output), "-p", ",".join(map(str, pids))]
    watched = Watched(requests)
    places = {pid: place for pid in pids if (place := _place(pid))}
    try:
        with attached(supervisor, LOG, argv, lambda child: await_attached(child, pids), as_service=as_service):
            yield watched
        watched.reached = _read(output, watched.requests, ours, sendmail, places)
    finally:
        # It holds what the app was sent: rows of its database, passwords.
        output.unlink(missing_ok=True)


@contextlib.contextmanager
def watching_from_start(
    supervisor: Supervisor, *, requests: int, ours: Sequence[str] = (), sendmail: Sequence[str] = ()
) -> Iterator[tuple[list[str], Watched]]:
    """Give the words before a command of the servers' account with which it starts under strace,
    and what it reached for by the end.

    Raises CannotTrace where strace is missing.
    """
    output = place_of_output(supervisor, as_service=True) / "reached"
    output.unlink(missing_ok=True)
    watched = Watched(requests)
    try:
        yield [*_command(find_strace()), "-o", str(output), "--"], watched
        watched.reached = _read(output, watched.requests, ours, sendmail, {})
    finally:
        output.unlink(missing_ok=True)


def _read(output: Path, requests: int, ours: Sequence[str], sendmail: Sequence[str], places: Mapping[int, str]) -> Reached:
    try:
        # The servers' account may write there, and put a link in its place.
        with open(open_plain(output), encoding="utf-8", errors="surrogateescape", newline="\n") as lines:  # noqa: PTH123
            return read_reached(lines, requests=requests, ours=ours, sendmail=sendmail, places=places)
    except OSError as error:
        raise DynoError(f"strace left nothing to read: {error}", where=str(output)) from error


def watch_requests(
    supervisor: Supervisor, driven: DrivenInstance, sequence: NDArray[np.uint32], *, ours: Sequence[str] = (), sendmail: Sequence[str] = ()
) -> Reached:
    """Drive `sequence` and see what the pool reaches for. A request that fails is no error here:
    why it does may be what is seen.

    Raises CannotTrace where the host forbids it.
    """
    master = driven.instance.php_pid
    with watching(supervisor, sleeping_pool(master), requests=len(sequence), ours=ours, sendmail=sendmail) as watched:
        driven.driver.drive(sequence)
        sleeping_pool(master)
    return watched.found()


def _command(strace: str) -> list[str]:
    known = told([strace, "--help"]).stdout.decode(errors="replace")
    pids = [OTHER_NAMESPACE] if OTHER_NAMESPACE.partition("=")[0] in known else []
    # A call that this machine does not have (open on ARM) is no mistake: hence the question marks.
    calls = ",".join(f"?{each}" for each in TRACED)
    return [strace, "-f", "-y", *pids, "-s", str(STRING_BYTES), "-e", f"trace={calls}", "-e", "signal=none"]


def _place(pid: int) -> str:
    """Its working directory, '' where that may not be read."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""
