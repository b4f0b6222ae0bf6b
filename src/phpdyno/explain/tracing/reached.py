"""What processes reached for, read from the lines of strace. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from phpdyno.explain.tracing.lines import calls_in
from phpdyno.explain.tracing.missed import CALLS as LOOKING
from phpdyno.explain.tracing.missed import MissedFiles
from phpdyno.explain.tracing.peers import Peers
from phpdyno.explain.tracing.programs_run import FORKS, ProcessTree
from phpdyno.explain.tracing.written import CALLS, Written
from phpdyno.model.inside.reach import Reached

NETWORK = ("socket", "connect", "getsockopt", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg")
PROCESS = (*sorted(FORKS), "execve", "execveat", "chdir", "fchdir")
TRACED = tuple(dict.fromkeys((*NETWORK, *PROCESS, *CALLS, *LOOKING)))
"""The calls that strace has to show."""


def read_reached(
    lines: Iterable[str], *, requests: int, ours: Sequence[str] = (), sendmail: Sequence[str] = (), places: Mapping[int, str] | None = None
) -> Reached:
    """What the lines of `strace -f -y` say. No line is an error: what cannot be read is left out.

    `ours`: trees whose files and sockets are left out, as the processes see them; `sendmail`:
    commands that mail() hands messages to; `places`: working directories at the start, by process.
    """
    processes = ProcessTree(places or {}, sendmail)
    peers = Peers(ours)
    files, missed = Written(ours, processes.place), MissedFiles(ours, processes.place)
    for call in calls_in(lines):
        processes.take(call)
        peers.take(call)
        files.take(call)
        missed.take(call)
    return Reached(
        requests,
        peers.connections(),
        peers.lookups(),
        processes.programs(),
        files.writes(),
        no_name_server=peers.no_name_server(),
        missed=missed.missed(),
    )
