"""Apps are prepared for real: copies, private databases, installers; and every target answers."""

import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.answers.check import expect
from phpdyno.apps.data.databases import INI
from phpdyno.apps.registry import open_app
from phpdyno.apps.source import silent
from phpdyno.errors import DynoError, UsageError
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.apps import fetch, served

pytestmark = pytest.mark.integration

INDEX = """<?php
$db = new mysqli('localhost', 'someone', 'any password', getenv('PHPDYNO_DB_NAME'));
$rows = $db->query('SELECT name FROM item ORDER BY name')->fetch_all();
echo "<html><body><p>", implode(', ', array_column($rows, 0)), '</p>', file_get_contents(__DIR__ . '/../warm.txt'), '</body></html>';
"""
SETUP = """<?php
$db = new mysqli('localhost', 'root', '', 'store');
$db->query("INSERT INTO item (name) VALUES ('prepared')");
$same = getenv('PHPDYNO_DB_SOCKET') === ini_get('mysqli.default_socket');
file_put_contents('warm.txt', getenv('MODE') . ($same ? ' equal' : ' not equal'));
echo "set up\\n";
"""
DUMP = "CREATE TABLE item (name VARCHAR(40)); INSERT INTO item VALUES ('dumped'), ('größer; \\'quoted\\'');\n"
TOML = """
name = "store"
root = "."
docroot = "public"
sql = "dump.sql.gz"
database = "store"
prepare = ["php", "setup.php"]
[env]
MODE = "warm"
[ini]
memory_limit = "64M"
[[target]]
path = "/"
[[target]]
path = "/no/such/file?page=2"
weight = 0.5
"""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs") as started:
        yield started


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    site = tmp_path / "store"
    (site / "public").mkdir(parents=True)
    (site / ".git").mkdir()
    (site / "public" / "index.php").write_text(INDEX)
    (site / "setup.php").write_text(SETUP)
    (site / "app.toml").write_text(TOML)
    (site / "dump.sql.gz").write_bytes(gzip.compress(DUMP.encode()))
    return site


def test_hello(supervisor: Supervisor, cache: Path) -> None:
    app = open_app("hello").prepare(supervisor, cache=cache, progress=silent)

    with served(supervisor, app) as (port, database):
        assert database is None
        answers = fetch(port, app)
        expectation = expect(app.workload.targets, [[answer] for answer in answers])
        assert expectation.compare(fetch(port, app)).equal
    assert 1000 <= len(answers[0].body) <= 2048
    assert app.copy.is_relative_to(supervisor.live)
    assert len(app.version) == 16


def test_the_version_alone_is_that_of_what_is_served(tmp_path: Path, cache: Path, store: Path) -> None:
    app = open_app(str(store))
    with Supervisor(tmp_path / "logs") as supervisor:
        version = app.version(supervisor, cache=cache, progress=silent)
    with Supervisor(tmp_path / "logs") as supervisor:
        assert app.prepare(supervisor, cache=cache, progress=silent).version == version


def test_a_user_app_with_dump_and_prepare_command(supervisor: Supervisor, cache: Path, store: Path) -> None:
    told: list[str] = []
    app = open_app(str(store)).prepare(supervisor, cache=cache, progress=told.append)

    assert app.copy == supervisor.live / "app"
    assert app.docroot.name == "public"
    assert not (supervisor.live / "app" / ".git").exists()
    assert not (store / "warm.txt").exists()
    assert app.ini == {**INI, "memory_limit": "64M"}
    assert app.env["PHPDYNO_DB_SOCKET"] == INI["mysqli.default_socket"] == INI["pdo_mysql.default_socket"] == "{db_socket}"
    with served(supervisor, app) as (port, _):
        answers = fetch(port, app)
    assert [answer.status for answer in answers] == [200, 200]
    assert "dumped, größer; 'quoted', prepared</p>warm equal" in answers[0].body.decode()
    assert "set up" in (supervisor.logs / "prepare-app.log").read_text()
    assert told[1:] == ["loading dump.sql.gz", "running the app's prepare command: php setup.php"]


def test_a_dump_is_loaded_once_per_content(tmp_path: Path, cache: Path, store: Path) -> None:
    seen = []
    for text in (DUMP, DUMP, DUMP + "SELECT 1;"):
        (store / "dump.sql.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        told: list[str] = []
        with Supervisor(tmp_path / "logs") as supervisor:
            app = open_app(str(store)).prepare(supervisor, cache=tmp_path / "cache", progress=told.append)
            assert app.datadir is not None
        seen.append("loading dump.sql.gz" in told)
    assert seen == [True, False, True]
    folders = [path / "datadir" for path in (tmp_path / "cache" / "apps").iterdir() if path.is_dir()]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700]
    assert {folder.stat().st_uid for folder in folders} == {os.geteuid()}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"setup.php": b"<?php echo 'no config'; exit(3);"}, "the prepare command ended with exit code 3: no config; see "),
        ({"app.toml": TOML.replace('"php", "setup.php"', '"./nothing"').encode()}, "cannot start prepare-app"),
        ({"dump.sql.gz": gzip.compress(b"SELECT 1;\nCREATE TABEL x;")}, "MariaDB refuses the SQL: ERROR 1064 (42000) at line 2"),
        ({"dump.sql.gz": gzip.compress(DUMP.encode() * 100)[:-30]}, "the SQL dump is not a whole gzip file"),
        ({"dump.sql.gz": b"SELECT 1;"}, "the SQL dump is not a whole gzip file"),
    ],
)
def test_preparations_that_fail(store: Path, supervisor: Supervisor, cache: Path, changed: dict[str, bytes], says: str) -> None:
    for name, content in changed.items():
        (store / name).write_bytes(content)

    with pytest.raises(DynoError) as caught:
        open_app(str(store)).prepare(supervisor, cache=cache, progress=silent)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dump_runs_no_program(store: Path, supervisor: Supervisor, cache: Path) -> None:
    place = supervisor.directory("reachable")  # for the account that loads it
    (store / "dump.sql.gz").write_bytes(gzip.compress(f"\\! touch {place}/owned\n;".encode()))

    with pytest.raises(DynoError, match="Unknown command"):
        open_app(str(store)).prepare(supervisor, cache=cache, progress=silent)
    assert not (place / "owned").exists()


def test_a_live_directory_inside_the_root_is_refused(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.php").write_text("<?php echo 'hi';")
    monkeypatch.setenv("PHPDYNO_LIVE", str(site))
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(UsageError, match="the live directory lies in the app's root"):
        open_app(docroot=site).prepare(supervisor, cache=cache, progress=silent)


def test_our_own_run_directory_is_not_copied(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "index.php").write_text("<?php echo 'hi';")
    with Supervisor(tmp_path / "runs" / "1" / "logs") as supervisor:
        app = open_app(docroot=tmp_path).prepare(supervisor, cache=cache, progress=silent)
        assert [path.name for path in app.copy.iterdir()] == ["index.php"]


def test_the_copy_of_a_shared_directory_is_written_never_the_original(tmp_path: Path, supervisor: Supervisor, cache: Path) -> None:
    site, shared = tmp_path / "site", tmp_path / "shared" / "storage"
    site.mkdir()
    shared.mkdir(parents=True)
    (shared / "hits.txt").write_text("0")
    (site / "index.php").write_text("<?php file_put_contents(__DIR__ . '/storage/hits.txt', 'x', FILE_APPEND); echo 'hit';")
    (site / "storage").symlink_to(shared)
    tmp_path.chmod(0o755)
    shared.chmod(0o777)
    (shared / "hits.txt").chmod(0o666)

    app = open_app(docroot=site).prepare(supervisor, cache=cache, progress=silent)
    with served(supervisor, app) as (port, _):
        assert fetch(port, app)[0].body == b"hit"

    assert (shared / "hits.txt").read_text() == "0"
    assert (app.copy / "storage" / "hits.txt").read_text() == "0x"


def test_a_dump_of_newer_mariadb_tools_loads(supervisor: Supervisor, cache: Path, store: Path) -> None:
    sandboxed = "/*M!999999\\- enable the sandbox mode */ \n" + DUMP
    (store / "dump.sql.gz").write_bytes(gzip.compress(sandboxed.encode()))

    app = open_app(str(store)).prepare(supervisor, cache=cache, progress=silent)

    with served(supervisor, app) as (port, _):
        assert b"dumped" in fetch(port, app)[0].body
