"""An app whose own configuration names production's servers, unchanged: private ones stand at their
addresses in the bottle."""

import shutil
import subprocess
from pathlib import Path

import pytest

from phpdyno.servers.programs.finding import program_path
from tests.support.optional import needs
from tests.support.real.command import FEWEST, fault_of, phpdyno
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, needs(shutil.which("redis-server", path=program_path()), "redis-server is not installed")]

TOML = """name = "shop"
root = "."
docroot = "public"
prepare = ["php", "migrate.php"]
[service.database]
kind = "mariadb"
at = ["db.internal:3306", "/run/mysqld/mysqld.sock"]
dump = "dump.sql"
database = "shop"
[service.cache]
kind = "redis"
at = "10.20.30.40:6379"
[service.mail]
kind = "smtp-sink"
at = "mail.internal:25"
[[target]]
path = "/"
"""
PAGE = """<?php
$db = new mysqli('db.internal', 'production', 'its password', 'shop');
$local = new mysqli('localhost', 'another', 'password', 'shop');
$words = $db->query('SELECT word FROM words ORDER BY id')->fetch_all();
$same = $local->query('SELECT count(*) FROM words')->fetch_row()[0];
$cache = stream_socket_client('tcp://10.20.30.40:6379');
fwrite($cache, "SET a 1\\r\\nGET a\\r\\n");
$said = trim(fgets($cache)) . trim(fgets($cache)) . trim(fgets($cache));
$mail = stream_socket_client('tcp://mail.internal:25');
$greeting = substr(fgets($mail), 0, 3);
$elsewhere = @stream_socket_client('tcp://127.0.0.1:3307', $number, $why, 1) ? 'open' : 'closed';
echo str_repeat(implode(' ', array_column($words, 0)) . " $same $said $greeting $elsewhere\\n", 20);
"""
MIGRATE = "<?php (new mysqli('db.internal', 'root', 'x', 'shop'))->query(\"INSERT INTO words VALUES (2, 'migrated')\") or exit(1);"
DUMP = "CREATE TABLE words (id INT PRIMARY KEY, word VARCHAR(20)); INSERT INTO words VALUES (1, 'dumped');\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop/public").mkdir(parents=True)
    for name, text in (("app.toml", TOML), ("public/index.php", PAGE), ("migrate.php", MIGRATE), ("dump.sql", DUMP)):
        (tmp_path / "shop" / name).write_text(text)
    return tmp_path / "shop"


def test_the_app_s_own_configuration_works_as_it_is(shop: Path) -> None:
    answer = phpdyno("check", shop, "--verbose")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    page = "dumped migrated 2 +OK$11 220 closed\n"
    assert f" {20 * len(page)} " in answer.stdout
    assert "once a request 127.0.0.1:3307, refused" in answer.stdout
    assert "db.internal" not in answer.stdout
    assert wait_for_no_traces() == []


def test_it_is_measured_with_them_and_nothing_is_left(shop: Path, tmp_path: Path) -> None:
    answer = phpdyno("compare", shop, "--aa", *FEWEST, "--budget", "15s", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert wait_for_no_traces() == []


def test_what_the_prepare_command_of_another_commit_writes_is_kept_too(shop: Path, tmp_path: Path) -> None:
    """The arms share the services' data, which has what each of the two commands wrote."""
    (shop / "public/index.php").write_text(PAGE.replace("$cache =", "count($words) === 3 or http_response_code(500); $cache ="))
    (shop / "migrate.php").write_text(MIGRATE.replace("2, 'migrated'", "3, 'earlier'"))
    git = ["git", "-C", str(shop), "-c", "user.name=x", "-c", "user.email=x@localhost"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "earlier"]):
        subprocess.run([*git, *command], check=True)
    (shop / "migrate.php").write_text(MIGRATE)
    answer = phpdyno("compare", shop, "--treatment", "source=HEAD", *FEWEST, "--budget", "15s", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "cannot be timed" not in answer.stdout


def test_services_need_a_bottle(shop: Path) -> None:
    answer = phpdyno("check", shop, "--no-bottle")
    assert answer.returncode == 2
    assert "services stand at production's addresses in a bottle only" in fault_of(answer.stderr)
