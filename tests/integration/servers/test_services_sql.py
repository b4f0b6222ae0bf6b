"""MariaDB and PostgreSQL as services: any user, and what their dumps hold."""

import gzip
import socket
from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.model.services.service import Service
from phpdyno.servers.services import postgresql
from phpdyno.servers.services.postgresql import VERSIONS, postgres_program
from tests.support.optional import needs
from tests.support.real.services import ADDRESS, at, free_port, running, told
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

has_postgresql = needs(list(VERSIONS.glob("*/bin/postgres")), "postgresql-15 is not installed")


# ---- MariaDB ------------------------------------------------------------------------------------


def mysql(port: int, query: str, *options: str) -> str:
    where = options or (f"--host={ADDRESS}", f"--port={port}", "--protocol=tcp")
    return told("mariadb", "--no-defaults", *where, "--user=shop", "--password=wrong", "--batch", "--skip-column-names", "-e", query)


def test_mariadb(tmp_path: Path, place: Path, port: int) -> None:
    dump = tmp_path / "shop.sql.gz"
    dump.write_bytes(gzip.compress(b"CREATE TABLE t (name VARCHAR(9)); INSERT INTO t VALUES ('wheel');"))
    service = Service("db", "mariadb", at(port, place / "mysqld.sock"), dump, "shop")
    with running(tmp_path, service) as (server,):
        assert mysql(port, "SELECT name, USER() FROM shop.t").startswith("wheel\tshop@")
        assert mysql(port, "SELECT name FROM shop.t", f"--socket={server.socket}") == "wheel"
        assert mysql(port, "DELETE FROM shop.t; SELECT COUNT(*) FROM shop.t") == "0"
    assert server.child.status == 0
    with running(tmp_path, service, logs="again"):
        assert mysql(port, "SELECT name FROM shop.t") == "wheel", "a run must not see what an earlier one wrote"
    assert not list((tmp_path / "again").glob("prepare-*")), "it was loaded again"


def test_a_dump_of_mariadb_that_names_its_own_database(tmp_path: Path, port: int) -> None:
    dump = tmp_path / "all.sql"
    dump.write_text("CREATE DATABASE a; USE a; CREATE TABLE t (x INT); INSERT INTO t VALUES (7);")
    with running(tmp_path, Service("db", "mariadb", at(port), dump)):
        assert mysql(port, "SELECT x FROM a.t") == "7"


# ---- PostgreSQL ---------------------------------------------------------------------------------

SHOP = """CREATE TABLE public.t (name text);
ALTER TABLE public.t OWNER TO shop;
COPY public.t (name) FROM stdin;
wheel
\\.
CREATE TABLE public.secret (name text);
ALTER TABLE public.secret OWNER TO "Boss of all";
GRANT SELECT ON TABLE public.t TO reader;
"""


def psql(host: str, port: int, user: str, query: str, database: str = "shop") -> str:
    options = ("--no-psqlrc", "--tuples-only", "--no-align", f"--host={host}", f"--port={port}", f"--username={user}", database)
    return told(postgres_program("psql"), *options, "-c", query, PGPASSWORD="wrong", PGCONNECT_TIMEOUT="5")


@has_postgresql
def test_postgresql(tmp_path: Path, place: Path, port: int) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text(SHOP)
    sockets = place / f".s.PGSQL.{port}"
    service = Service("db", "postgresql", at(port, sockets), dump, "shop", users=("extra",))
    with running(tmp_path, service) as (server,):
        assert psql(ADDRESS, port, "shop", "SELECT name FROM t") == "wheel"
        assert psql(str(server.socket and server.socket.parent), port, "shop", "SELECT name FROM t") == "wheel"
        assert psql(ADDRESS, port, "reader", "SELECT name FROM t") == "wheel"
        assert "permission denied" in psql(ADDRESS, port, "reader", "DELETE FROM t"), "its rights are those of the dump"
        assert psql(ADDRESS, port, "Boss of all", "SELECT count(*) FROM secret") == "0"
        assert psql(ADDRESS, port, "shop", "CREATE TABLE more (x int)") == "CREATE TABLE"
        assert psql(ADDRESS, port, "extra", "SELECT count(*) FROM secret") == "0", "of whom the dump says nothing may do anything"
        assert psql(ADDRESS, port, "postgres", "SELECT 1", "postgres") == "1"
        assert server.complaints() == ()
        assert "does not exist" in psql(ADDRESS, port, "nobody here", "SELECT 1")
        assert "does not exist" in psql(ADDRESS, port, "shop", "SELECT 1", "other")
        assert server.complaints() == (
            'the app wants the role "nobody here" of service.db, which is not there; add it to users of service.db',
            'the app wants the database "other" of service.db, which is not there; let service.db have that database, or its dump make it',
        )
        assert server.let_all_in() == ("nobody here",)
        assert psql(ADDRESS, port, "nobody here", "SELECT count(*) FROM secret") == "0"
        assert [each.user for each in server.turned_away()] == [""], "the database alone is missing now"
        kept = socket.create_connection((ADDRESS, port))
        kept.sendall(postgresql.HELLO)
        assert kept.recv(9) == postgresql.LET_IN
    kept.close()
    assert server.child.status == 0, "a client that keeps its connection must not keep the server"
    with running(tmp_path, service, logs="again"):
        assert "does not exist" in psql(ADDRESS, port, "shop", "SELECT * FROM more"), "a run must not see what an earlier one wrote"
    assert not list((tmp_path / "again").glob("prepare-*")), "it was loaded again"


FORMS = {"plain": (), "custom": (), "tar": (), "create": ("--create", "--format=plain")}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Dumps of one server in every form, by its name."""
    place, port = tmp_path_factory.mktemp("dumps"), free_port()
    first = place / "first.sql"
    first.write_text(SHOP)
    made = {form: place / form for form in (*FORMS, "all")}
    where = (f"--host={ADDRESS}", f"--port={port}", "--username=postgres")
    with running(place, Service("db", "postgresql", at(port), first, "shop")):
        for form, words in FORMS.items():
            options = words or (f"--format={form}",)
            assert told(postgres_program("pg_dump"), *where, f"--file={made[form]}", *options, "shop") == ""
        assert told(postgres_program("pg_dumpall"), *where, f"--file={made['all']}") == ""
    lines = made["all"].read_text().splitlines(True)
    made["all"].write_text("".join(line for line in lines if " ROLE phpdyno" not in line))
    return made


@has_postgresql
@pytest.mark.parametrize("form", [*FORMS, "all"])
def test_what_pg_dump_and_pg_dumpall_write(tmp_path: Path, port: int, dumps: dict[str, Path], form: str) -> None:
    with running(tmp_path, Service("db", "postgresql", at(port), dumps[form], None if form == "create" else "shop")):
        assert psql(ADDRESS, port, "shop", "SELECT name FROM t") == "wheel"
        if form != "all":
            assert psql(ADDRESS, port, "reader", "SELECT name FROM t") == "wheel"


@has_postgresql
def test_a_dump_that_postgresql_refuses(tmp_path: Path) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text("SELECT 1;\nSELEKT 2;\n")
    refuses = r"shop\.sql: psql refuses the dump: .*:2: ERROR:  syntax error"
    with pytest.raises(DynoError, match=refuses), running(tmp_path, Service("db", "postgresql", at(free_port()), dump, "shop")):
        pass
    assert wait_for_no_traces() == []
