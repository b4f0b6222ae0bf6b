"""PostgreSQL's data directories in the cache: the dump's own roles are made first, then it is
loaded, then the tables are looked over."""

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.data.databases import DATADIR, LOAD_TIMEOUT_S, dump_digest, keep_datadir, readable_place, unpacked
from phpdyno.apps.source import Progress
from phpdyno.apps.store import stored
from phpdyno.errors import DynoError
from phpdyno.model.services.service import Service
from phpdyno.servers.services import postgresql
from phpdyno.servers.services.addresses import Listen
from phpdyno.servers.services.postgresql import OWNER, identifier, place_of, postgres_program
from phpdyno.servers.services.running import RunningService, ServiceStart
from phpdyno.servers.supervision.supervisor import Supervisor

LOAD_LOG = "prepare-pgsql"
SUPERUSER = "postgres"
MOST_ROLES = 1000
_NAME = rb'("(?:[^"]|"")+"|[A-Za-z_\x80-\xff][\w$\x80-\xff]*)'
_MENTIONS = (
    re.compile(rb"ALTER [^;]* OWNER TO " + _NAME + rb";"),
    re.compile(rb"GRANT [^;]* TO " + _NAME + rb"[ ;]"),
    re.compile(rb"REVOKE [^;]* FROM " + _NAME + rb"[ ;]"),
    re.compile(rb"ALTER DEFAULT PRIVILEGES FOR ROLE " + _NAME + rb" "),
    re.compile(rb"SET SESSION AUTHORIZATION " + _NAME + rb";"),
    re.compile(rb"CREATE POLICY [^;]* TO " + _NAME + rb"[ ;]"),
)
_MAKES_ROLE = re.compile(rb"CREATE (?:ROLE|USER) " + _NAME)
_MAKES_DATABASE = re.compile(rb"CREATE DATABASE " + _NAME)
_BEGINNINGS = (
    b"ALTER ",
    b"GRANT ",
    b"REVOKE ",
    b"SET SESSION AUTH",
    b"CREATE POLICY ",
    b"CREATE ROLE ",
    b"CREATE USER ",
    b"CREATE DATABASE ",
)
_NO_ROLES = frozenset({"public", "session_user", "current_user", "current_role", "default", OWNER})
_EACH_MAY = """DO $$ BEGIN
  EXECUTE format('GRANT ALL ON DATABASE %I TO {role}', current_database());
  IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'public') THEN GRANT ALL ON SCHEMA public TO {role}; END IF;
END $$;
"""


class Named(Struct, frozen=True):
    """Names in a dump: the roles that it takes for granted, and the roles and databases that it
    makes."""

    roles: tuple[str, ...] = ()
    made_roles: frozenset[str] = frozenset()
    made_databases: frozenset[str] = frozenset()


def seeded(supervisor: Supervisor, service: Service, *, cache: Path, dump: Path | None, progress: Progress) -> Path:
    """A data directory in the cache with the service's database and roles, filled from `dump` once
    for each of its contents.

    Every role that the dump names may sign in, with the rights that the dump gives it and those of
    making things in the database. `postgres` is a superuser, and so is a name in `users` that the
    dump does not know: nothing says what it may do. A dump is trusted as the app's own code is:
    PostgreSQL lets one that a superuser loads run programs, as the servers' account.
    """
    key = {
        "kind": "postgresql",
        "database": service.database or "",
        "server": postgresql.version(),
        "dump": dump_digest(dump),
        "users": " ".join(service.users),
    }

    def build(partial: Path) -> None:
        progress(f"loading {dump.name}" if dump else "making an empty database")
        datadir = supervisor.directory("seed-pgsql")
        postgresql.initialise(supervisor, datadir)
        start = ServiceStart(Service(f"{service.name}-seed", "postgresql", ()), Listen(), datadir)
        with postgresql.started(supervisor, start, ["autovacuum=off"]) as server:
            _Loader(supervisor, server).fill(service, dump)
        if server.child.status != 0:
            what = f"PostgreSQL did not shut down cleanly: it {server.child.ended_how()}: {server.child.tail()}"
            raise DynoError(what, where=str(datadir), next_step=f"see {server.child.log}")
        keep_datadir(supervisor, datadir, partial / DATADIR)
        shutil.rmtree(datadir, ignore_errors=True)

    return stored(cache, "seed-postgresql", key, build, progress) / DATADIR


class _Loader:
    """What fills one running server."""

    def __init__(self, supervisor: Supervisor, server: RunningService) -> None:
        if server.socket is None:
            raise DynoError("this PostgreSQL has no private socket")
        self.supervisor = supervisor
        self.place = [*place_of(server.socket), "--no-password"]

    def fill(self, service: Service, dump: Path | None) -> None:
        if dump is None:
            self._make(service, Named())
            return
        with unpacked(self.supervisor, dump, what="dump") as plain:
            packed = _is_archive(plain)
            named = self._names_of_archive(plain) if packed else names_in_file(plain)
            own = self._make(service, named)
            if packed:
                # Its own database where none is named: it is made, and left.
                into = [f"--dbname={service.database}"] if service.database else ["--create", "--dbname=postgres"]
                self._run("pg_restore", "--exit-on-error", *into, str(plain), what=dump)
            else:
                self._psql(service.database if own and service.database else "postgres", f"--file={plain}", what=dump)
        self._finish(service, named)

    def _make(self, service: Service, named: Named) -> bool:
        """The roles, and the database unless the dump makes it; whether it was made."""
        known = set(named.made_roles)
        statements = []
        for role in dict.fromkeys((SUPERUSER, *named.roles, *service.users)):
            if role not in known and role not in _NO_ROLES:
                trusted = role == SUPERUSER or role not in named.roles
                statements.append(f"CREATE ROLE {identifier(role)} LOGIN{' SUPERUSER' if trusted else ''};\n")
        makes = bool(service.database) and service.database != "postgres" and service.database not in named.made_databases
        if makes:
            statements.append(f"CREATE DATABASE {identifier(service.database or '')} TEMPLATE template0;\n")
        self._say("postgres", statements)
        return makes or service.database == "postgres"

    def _finish(self, service: Service, named: Named) -> None:
        """Let the dump's roles make things where production's own would own the place, and have the
        planner know all tables at once."""
        for database in [service.database] if service.database else []:
            roles = [role for role in named.roles if role not in _NO_ROLES and role not in named.made_roles and role != SUPERUSER]
            self._say(database, [_EACH_MAY.format(role=identifier(role)) for role in roles])
        self._run("vacuumdb", "--all", "--analyze", "--quiet")

    def _say(self, database: str, statements: Sequence[str]) -> None:
        if statements:
            file = readable_place(self.supervisor) / "ours.sql"
            file.write_text("".join(statements))
            file.chmod(0o644)
            self._psql(database, f"--file={file}")
            file.unlink()

    def _psql(self, database: str, *options: str, what: Path | None = None) -> None:
        fixed = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", f"--dbname={database}"]
        self._run("psql", *fixed, *options, what=what)

    def _names_of_archive(self, plain: Path) -> Named:
        """The names in the SQL that the archive holds besides its rows."""
        text = readable_place(self.supervisor) / "schema.sql"
        asking = [postgres_program("pg_restore"), "--schema-only", "--file=-", str(plain)]
        child = self.supervisor.run(LOAD_LOG, asking, output=text, timeout_s=LOAD_TIMEOUT_S)
        if child.status != 0:
            raise DynoError(f"pg_restore cannot read the dump: {child.tail(2)}", next_step=f"see {child.log}")
        named = names_in_file(text)
        text.unlink()
        return named

    def _run(self, program: str, *arguments: str, what: Path | None = None) -> None:
        child = self.supervisor.run(
            LOAD_LOG,
            [postgres_program(program), *self.place, *arguments],
            env={"HOME": str(self.supervisor.live)},
            timeout_s=LOAD_TIMEOUT_S,
        )
        if child.status != 0:
            said = next((line for line in child.said().splitlines() if "ERROR:" in line or "error:" in line), child.tail(1)).strip()
            raise DynoError(f"{program} refuses the dump: {said}", where=str(what or ""), next_step=f"see {child.log}")


def names_in_file(path: Path) -> Named:
    """The names in a dump of plain SQL."""
    with path.open("rb") as lines:
        return names_in(lines)


def names_in(lines: Iterable[bytes]) -> Named:
    """The names in these lines: pg_dump writes one statement about a role on each. One too many
    does no harm."""
    roles: dict[str, None] = {}
    made_roles, made_databases = set(), set()
    for line in lines:
        if not line.startswith(_BEGINNINGS):
            continue
        if made := _MAKES_ROLE.match(line):
            made_roles.add(_plain(made[1]))
        elif made := _MAKES_DATABASE.match(line):
            made_databases.add(_plain(made[1]))
        for pattern in _MENTIONS:
            if (mention := pattern.match(line)) and len(roles) < MOST_ROLES:
                roles.setdefault(_plain(mention[1]))
    kept = tuple(role for role in roles if role and role not in _NO_ROLES and not role.startswith("pg_"))
    return Named(kept, frozenset(made_roles), frozenset(made_databases))


def _plain(name: bytes) -> str:
    text = name.decode(errors="replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text.lower()


def _is_archive(path: Path) -> bool:
    """Whether it is one of pg_dump's own formats: custom, or tar."""
    with path.open("rb") as file:
        return file.read(7).startswith((b"PGDMP", b"toc.dat"))
