"""Private databases for preparing: an empty or filled data directory in the cache, and live copies
of it."""

import contextlib
import gzip
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

from phpdyno.apps.files.copies import copy_tree, file_digest, give_to_service
from phpdyno.apps.source import Progress
from phpdyno.apps.store import stored
from phpdyno.errors import DynoError
from phpdyno.host.files.room import require_room
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import Supervisor

SERVER_LOG = "prepare-mariadb"
LOAD_LOG = "prepare-sql"
LOAD_TIMEOUT_S = 3600.0
DATADIR = "datadir"
GZIP_TAIL = 4
INI = {"mysqli.default_host": "localhost", "mysqli.default_socket": "{db_socket}", "pdo_mysql.default_socket": "{db_socket}"}
"""For every app with a database: `localhost`, and no host at all, then mean the private server,
never the host's own."""
FIXED = frozenset(f"ini.{name}" for name in INI)
"""The same as names of settings: what a running pool says of them is not taken over."""


def database_socket(supervisor: Supervisor) -> Path:
    """Where a run's database listens, while preparing and while measuring: an app may have written
    it into its caches."""
    return supervisor.directory("db") / "mariadb.sock"


def live_datadir(supervisor: Supervisor, prepared: Path, name: str = "datadir") -> Path:
    """A copy of a prepared data directory that the servers' account may write, in the live
    directory."""
    into = supervisor.live / name
    copy_tree(supervisor, prepared, into)
    give_to_service(supervisor, into)
    into.chmod(0o700)
    return into


@contextlib.contextmanager
def serving(supervisor: Supervisor, datadir: Path) -> Iterator[Database]:
    """A database while something is prepared. Raises DynoError when it did not shut down cleanly,
    as then it cannot be kept."""
    with Database.start(supervisor, datadir=datadir, socket_path=database_socket(supervisor), name=SERVER_LOG) as database:
        yield database
    if database.child.status != 0:
        raise DynoError(
            f"MariaDB did not shut down cleanly: it {database.child.ended_how()}: {database.child.tail()}",
            where=str(datadir),
            next_step=f"see {database.child.log}",
        )


def keep_datadir(supervisor: Supervisor, datadir: Path, into: Path) -> None:
    """Copy a data directory at rest into the cache, for our eyes only."""
    copy_tree(supervisor, datadir, into)
    into.chmod(0o700)


def seeded(supervisor: Supervisor, *, cache: Path, dump: Path | None, database: str | None, progress: Progress) -> Path:
    """A data directory in the cache with the database `database`, filled from `dump` once for each
    of its contents.

    Without `database` nothing is made but what the dump makes itself.
    """
    key = {"kind": "seed", "database": database or "", "mariadb": Database.version(), "dump": dump_digest(dump)}

    def build(partial: Path) -> None:
        progress(f"loading {dump.name}" if dump else "making an empty database")
        datadir = supervisor.directory("seed")
        Database.initialise(supervisor, datadir)
        with serving(supervisor, datadir) as server:
            made = f"CREATE DATABASE `{database}`; " if database else ""
            _client(supervisor, server, f"--execute={made}SET GLOBAL max_allowed_packet = 1073741824")
            if dump is not None:
                _load(supervisor, server, dump, database)
        keep_datadir(supervisor, datadir, partial / DATADIR)
        shutil.rmtree(datadir, ignore_errors=True)

    return stored(cache, "seed", key, build, progress) / DATADIR


def dump_digest(dump: Path | None) -> str:
    """SHA-256 of a dump as it lies there, '' for none. Raises DynoError."""
    try:
        return file_digest(dump) if dump else ""
    except OSError as error:
        raise DynoError(f"the SQL dump cannot be read: {error.strerror}", where=str(dump)) from error


def readable_place(supervisor: Supervisor) -> Path:
    """A directory that the servers' account may read and not write: what root writes there cannot
    be led elsewhere by a link."""
    place = supervisor.live / "sql"
    place.mkdir(exist_ok=True)
    if supervisor.user.switch:
        os.chown(place, os.geteuid(), supervisor.user.gid)
    place.chmod(0o750)
    return place


@contextlib.contextmanager
def unpacked(supervisor: Supervisor, dump: Path, *, what: str = "SQL dump") -> Iterator[Path]:
    """A copy of a dump, unpacked where its name ends with `.gz`, that the servers' account can
    read. Raises DynoError."""
    plain = readable_place(supervisor) / "dump.sql"
    try:
        _require_room(dump, plain.parent, what)
        with gzip.open(dump) if dump.suffix == ".gz" else dump.open("rb") as packed, plain.open("wb") as into:
            shutil.copyfileobj(packed, into)
        if supervisor.user.switch:
            os.chown(plain, os.geteuid(), supervisor.user.gid)
        plain.chmod(0o640)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        plain.unlink(missing_ok=True)
        raise DynoError(f"the {what} is not a whole gzip file: {error}", where=str(dump)) from error
    except OSError as error:
        plain.unlink(missing_ok=True)
        raise DynoError(f"the {what} cannot be read: {error.strerror or error}", where=str(dump)) from error
    try:
        yield plain
    finally:
        plain.unlink(missing_ok=True)


def _require_room(dump: Path, folder: Path, what: str) -> None:
    """Refuse a dump for which a disk has no room, itself and what is loaded of it. Raises
    UsageError, OSError where it cannot be read."""
    with dump.open("rb") as stream:
        packed = stream.seek(0, os.SEEK_END)
        if dump.suffix == ".gz" and packed > GZIP_TAIL:
            stream.seek(-GZIP_TAIL, os.SEEK_END)  # the size of what is packed, less a multiple of 4 GiB
            packed = max(packed, int.from_bytes(stream.read(GZIP_TAIL), "little"))
    whole = f"the {what}, with what is loaded of it,"
    require_room(2 * packed, folder, what=whole, where=str(dump), next_step="set PHPDYNO_LIVE to a place on a larger disk")


def _load(supervisor: Supervisor, server: Database, dump: Path, database: str | None) -> None:
    """Feed the dump to the client."""
    with unpacked(supervisor, dump) as plain:
        _client(supervisor, server, *([f"--database={database}"] if database else []), stdin=plain, what=dump)


def _client(supervisor: Supervisor, server: Database, *options: str, stdin: Path = Path(os.devnull), what: Path | None = None) -> None:
    """Run the client on what `stdin` holds; it stops at the first error. Raises DynoError naming
    `what`.

    In binary mode it knows no commands of its own, so a dump cannot run programs. An argument to
    read from a file (`--execute=source`) will not do: errors in that file do not show in the exit
    code.
    """
    client = [find_program("mariadb"), "--no-defaults", "--batch", "--binary-mode", "--default-character-set=utf8mb4"]
    limits = ["--max-allowed-packet=1073741824", f"--socket={server.socket}"]
    child = supervisor.run(
        LOAD_LOG,
        ["sh", "-c", 'input=$1; shift; exec "$@" < "$input"', "sh", str(stdin), *client, *limits, *options],
        env={"HOME": str(supervisor.live)},
        timeout_s=LOAD_TIMEOUT_S,
    )
    if child.status != 0:
        raise DynoError(f"MariaDB refuses the SQL: {child.tail(1)}", where=str(what or server.socket), next_step=f"see {child.log}")
