"""MariaDB on a private data directory and unix socket, as our own unprivileged child."""

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

READY_S = 30.0
SHUTDOWN_S = 30.0
PROTOCOL_10 = 0x0A


class Database:
    """A running MariaDB: its socket and process."""

    def __init__(self, child: Child, socket_path: Path) -> None:
        self.child = child
        self.socket = socket_path

    @staticmethod
    def version() -> str:
        """Version of the installed server, as it prints it."""
        server = find_program("mariadbd")
        answer = told([server, "--no-defaults", "--version"])
        return answer.stdout.decode(errors="replace").strip().removeprefix(server).strip()

    @staticmethod
    def initialise(supervisor: Supervisor, datadir: Path) -> None:
        """Fill an empty directory, writable for the service user, with the system tables."""
        child = supervisor.run(
            "mariadb-install-db",
            [
                find_program("mariadb-install-db"),
                "--no-defaults",
                f"--datadir={datadir}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-log-file-size=16M",
            ],
            env={"HOME": str(datadir), "TMPDIR": str(datadir)},
        )
        if child.status != 0:
            raise DynoError(f"mariadb-install-db {child.ended_how()}: {child.tail()}", where=str(datadir))

    @classmethod
    @contextlib.contextmanager
    def start(
        cls,
        supervisor: Supervisor,
        *,
        datadir: Path,
        socket_path: Path,
        name: str = "mariadb",
        cores: Sequence[int] = (),
        cgroups: Sequence[Path] = (),
        addresses: Sequence[str] = (),
        port: int = 3306,
    ) -> Iterator["Database"]:
        """Start, wait until it greets, and shut down cleanly at the end (so that the directory can
        be kept).

        Grant tables are skipped, so whatever user and password the app's own configuration names
        works; nobody else can reach the server: there is no network unless `addresses` of a private
        one are named, and the socket's directory belongs to the servers' account alone.
        """
        # Names of clients are never asked for: a private network has nobody who would answer.
        network = [f"--bind-address={','.join(addresses)}", f"--port={port}", "--skip-name-resolve"] if addresses else ["--skip-networking"]
        argv = [
            find_program("mariadbd"),
            "--no-defaults",
            f"--datadir={datadir}",
            f"--socket={socket_path}",
            f"--pid-file={datadir}/mariadbd.pid",
            f"--tmpdir={datadir}",
            *network,
            "--skip-grant-tables",
            "--skip-log-bin",
            "--innodb-log-file-size=16M",
            # The copy is disposable: what a power failure would lose is not worth an fsync for each
            # page view.
            "--innodb-flush-log-at-trx-commit=0",
            "--character-set-server=utf8mb4",
        ]
        child = supervisor.spawn(name, argv, env={"HOME": str(datadir)}, cores=cores, cgroups=cgroups)
        database = cls(child, socket_path)
        try:
            database.await_ready()
            yield database
        finally:
            child.stop(timeout_s=SHUTDOWN_S)

    def await_ready(self) -> None:
        """Wait for the server's greeting on the socket. Raises DynoError with its last log
        lines."""
        deadline = time.monotonic() + READY_S
        while not self._greets():
            if not self.child.alive() or time.monotonic() > deadline:
                raise DynoError(
                    f"MariaDB does not start: it {self.child.ended_how()}: {self.child.tail()}", next_step=f"see {self.child.log}"
                )
            time.sleep(0.01)

    def _greets(self) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(2.0)
            probe.connect(str(self.socket))
            greeting = probe.recv(5)
            return len(greeting) == 5 and greeting[4] == PROTOCOL_10
        return False
