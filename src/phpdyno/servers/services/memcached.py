"""memcached, without users: it speaks its text and its binary protocol, whichever a client begins
with."""

import contextlib
from collections.abc import Iterator

from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.services.running import RunningService, ServiceStart, answers, answers_over_tcp, home_of, kept_running
from phpdyno.servers.supervision.supervisor import Supervisor

QUESTION = b"version\r\n"
ANSWER = b"VERSION "
MEMORY_MIB = 1024
"""Most that it keeps; taken as it is needed. Production's number is not known, and a smaller one
would throw out what it keeps."""


def version() -> str:
    """Version of the installed server, as it prints it."""
    return told([find_program("memcached"), "--version"]).stdout.decode(errors="replace").strip()


@contextlib.contextmanager
def started(supervisor: Supervisor, start: ServiceStart) -> Iterator[RunningService]:
    """Run it on TCP or on a socket: on one it hears nothing of the other."""
    over_tcp = bool(start.listen.tcp)
    socket_path = None if over_tcp else home_of(supervisor, start) / "memcached.sock"
    where = (
        ["-l", ",".join(str(address) for address in start.listen.tcp), "-U", "0"]
        if socket_path is None
        else ["-s", str(socket_path), "-a", "0777"]
    )
    child = supervisor.spawn(
        start.log, [find_program("memcached"), *where, "-m", str(MEMORY_MIB)], cores=start.cores, cgroups=start.cgroups
    )

    def ready() -> bool:
        if socket_path is not None:
            return answers(socket_path, QUESTION, ANSWER)
        return all(answers_over_tcp(supervisor, each.host, each.port, QUESTION, ANSWER) for each in start.listen.tcp)

    with kept_running(supervisor, child, ready, socket_path=socket_path, listen=start.listen):
        yield RunningService(start.service, child, socket_path)
