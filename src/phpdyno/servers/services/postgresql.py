"""PostgreSQL on a private data directory: every role that exists is let in, whatever password its
client sends."""

import contextlib
import functools
import os
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.model.services.kinds import SERVICE_KINDS
from phpdyno.model.services.service import Service
from phpdyno.servers.programs.finding import find_program, told, version_key
from phpdyno.servers.services.running import SHUTDOWN_S, Complaint, RunningService, ServiceStart, answers, home_of, kept_running
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

VERSIONS = Path("/usr/lib/postgresql")
OWNER = "phpdyno"
"""The role that owns the system: not `postgres`, which a dump of a whole server makes itself."""
TRUST = "local all all trust\nhost all all all trust\n"
_STARTUP = b"\x00\x03\x00\x00user\x00" + OWNER.encode() + b"\x00database\x00postgres\x00\x00"
HELLO = (len(_STARTUP) + 4).to_bytes(4, "big") + _STARTUP
LET_IN = b"R\x00\x00\x00\x08\x00\x00\x00\x00"
_MISSING = re.compile(r'FATAL:  (role|database) "([^"\n]{1,63})" does not exist')
SETTINGS = {
    # The copy is disposable: what a power failure would lose is not worth an fsync.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "200",
    # Files of the data directory, not of /dev/shm, where they would stay after a kill.
    "dynamic_shared_memory_type": "mmap",
    "log_checkpoints": "off",
    "ssl": "off",
}


def postgres_program(name: str) -> str:
    """A program of the newest PostgreSQL server that is installed: Debian has them in a directory
    for each version.

    Raises DynoError with the line that installs it.
    """
    folders = sorted(VERSIONS.glob("*/bin"), key=lambda path: version_key(path.parent.name), reverse=True)
    server = find_program("postgres", os.pathsep.join(map(str, folders)))
    return shutil.which(name, path=str(Path(server).parent)) or find_program(name, str(Path(server).parent))


def version() -> str:
    """Version of the installed server, as it prints it."""
    return told([postgres_program("postgres"), "--version"]).stdout.decode(errors="replace").strip()


def initialise(supervisor: Supervisor, datadir: Path) -> None:
    """Fill an empty directory, writable for the servers' account, with the system's tables. Raises
    DynoError."""
    child = supervisor.run(
        "initdb",
        [
            postgres_program("initdb"),
            f"--pgdata={datadir}",
            f"--username={OWNER}",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ],
        env={"HOME": str(datadir)},
    )
    if child.status != 0:
        raise DynoError(f"initdb {child.ended_how()}: {child.tail()}", where=str(datadir))


@contextlib.contextmanager
def started(supervisor: Supervisor, start: ServiceStart, settings: Sequence[str] = ()) -> Iterator[RunningService]:
    """Run it on its copy of a prepared data directory; `settings` as `name=value` beside ours."""
    if start.data is None:
        raise DynoError("PostgreSQL has no data directory", where=f"service.{start.service.name}")
    port = _port(start)
    home = home_of(supervisor, start)
    socket_path = home / f".s.PGSQL.{port}"
    rules = supervisor.live / f"{start.log}.hba"
    rules.write_text(TRUST)
    rules.chmod(0o644)
    ours = {
        **SETTINGS,
        "listen_addresses": ",".join(start.addresses),
        "port": str(port),
        "unix_socket_directories": str(home),
        "hba_file": str(rules),
    }
    given = [f"{name}={value}" for name, value in ours.items()] + list(settings)
    child = supervisor.spawn(
        start.log,
        [postgres_program("postgres"), "-D", str(start.data), *(word for each in given for word in ("-c", each))],
        env={"HOME": str(start.data)},
        cores=start.cores,
        cgroups=start.cgroups,
    )
    ready = lambda: answers(socket_path, HELLO, LET_IN)  # noqa: E731
    ending = functools.partial(_stop, supervisor)
    with kept_running(supervisor, child, ready, socket_path=socket_path, listen=start.listen, stop=ending):
        yield RunningPostgresql(start.service, child, socket_path, supervisor)


class RunningPostgresql(RunningService):
    """A running PostgreSQL. A role that its clients want and that is not there shows in its log
    alone."""

    def __init__(self, service: Service, child: Child, socket_path: Path, supervisor: Supervisor) -> None:
        super().__init__(service, child, socket_path)
        self._supervisor = supervisor
        self._made: set[str] = set()

    def turned_away(self) -> tuple[Complaint, ...]:
        """Who was turned away, by its log: one for each role and database."""
        return tuple(each for each in complaints(self.service.name, self.child.said()) if each.user not in self._made)

    def let_in(self, user: str) -> None:
        """Make a role that may do anything, as nothing says what it may do."""
        if self.socket is not None:
            statement = f"CREATE ROLE {identifier(user)} LOGIN SUPERUSER"
            fixed = ["--no-psqlrc", "--quiet", "--no-password", "--dbname=postgres", f"--command={statement}"]
            made = self._supervisor.run("service-users", [postgres_program("psql"), *place_of(self.socket), *fixed])
            if made.status != 0:
                raise DynoError(f"PostgreSQL does not make the role {user}: {made.tail(1)}", where=f"service.{self.service.name}")
            self._made.add(user)


def place_of(socket_path: Path) -> list[str]:
    """Options of PostgreSQL's own clients for a private socket and the role that owns the
    system."""
    return [f"--host={socket_path.parent}", f"--port={socket_path.name.rpartition('.')[2]}", f"--username={OWNER}"]


def identifier(name: str) -> str:
    """A name as SQL has it in quotes."""
    return '"' + name.replace('"', '""') + '"'


def complaints(name: str, log: str) -> tuple[Complaint, ...]:
    """What clients wanted that the server does not have, by its log."""
    steps = {"role": f"add it to users of service.{name}", "database": f"let service.{name} have that database, or its dump make it"}
    found = dict.fromkeys((match[1], match[2]) for match in _MISSING.finditer(log))
    return tuple(
        Complaint(
            f'the app wants the {what} "{which}" of service.{name}, which is not there; {steps[what]}', which if what == "role" else ""
        )
        for what, which in found
    )


def _port(start: ServiceStart) -> int:
    """The port, which the names of its sockets hold as well."""
    named = next((int(path.name.rpartition(".")[2]) for path in start.listen.sockets), SERVICE_KINDS["postgresql"].port)
    return start.port(named)


def _stop(supervisor: Supervisor, child: Child) -> None:
    """SIGTERM would wait for clients that keep their connection; SIGINT does not, and leaves the
    directory whole."""
    if child.alive():
        supervisor.signal(child.pid, signal.SIGINT)
        child.wait(SHUTDOWN_S)
    child.stop(timeout_s=1.0)
