"""Apps of Debian's archive that nobody tuned phpdyno for, from `init` over `check` and `compare` to
`tune`, with nothing done but what phpdyno itself says."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from phpdyno.apps.built_in.php_cli import php_on_path
from phpdyno.commands.check.found import CheckFound
from phpdyno.journal.tune import read_tune
from tests.support.real.command import FEWEST, phpdyno, the_run
from tests.support.real.debian import installed
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.alone]
SEARCHED = ("--margin", "10%", "--knob", "ini.opcache.jit", "--knob", "ini.output_buffering", "--knob", "ini.opcache.preload")
PSR = ("php-psr-http-factory", "php-psr-http-message", "php-symfony-deprecation-contracts", "php-getallheaders")


def dokuwiki(top: Path) -> None:
    """What debconf would have asked, and a page."""
    (top / "etc/dokuwiki/local.php").write_text("<?php\n$conf['title'] = 'Wiki';\n$conf['useacl'] = 0;\n")
    (top / "var/lib/dokuwiki/data/pages/start.txt").write_text("====== Welcome ======\n\nA **page** with a [[second:page]].\n")


def phpmyadmin(top: Path) -> None:
    """The secret and the database's name that its installation writes."""
    (top / "var/lib/phpmyadmin/blowfish_secret.inc.php").write_text(f"<?php $cfg['blowfish_secret'] = '{'ab' * 16}';\n")
    (top / "etc/phpmyadmin/config-db.php").write_text("<?php $dbuser=''; $dbpass=''; $dbname='phpmyadmin'; $dbserver='localhost';\n")


def roundcube(top: Path) -> None:
    """Its configuration, and its tables in a file of SQLite."""
    folder = top / "var/lib/dbconfig/sqlite3/roundcube"
    folder.mkdir(parents=True)
    sample = (top / "usr/share/roundcube/config.inc.php.sample").read_text()
    (top / "etc/roundcube/config.inc.php").write_text(sample.replace('"/etc/roundcube', f'"{top}/etc/roundcube'))
    (top / "etc/roundcube/debian-db.php").write_text(f"<?php $dbtype='sqlite3'; $basepath='{folder}'; $dbname='roundcube';\n")
    make = f"(new PDO('sqlite:{folder}/roundcube'))->exec(file_get_contents('{top}/usr/share/roundcube/SQL/sqlite.initial.sql'));"
    subprocess.run([php_on_path(), "-r", make], check=True, timeout=60)


class DebianApp(Struct, frozen=True):
    """An app: its packages, where it lies, what installing it writes, and the least bytes of its
    front page, beyond those of a page of errors."""

    packages: tuple[str, ...]
    place: str
    configure: Callable[[Path], None]
    least_bytes: int


APPS = {
    "dokuwiki": DebianApp(
        ("dokuwiki", "libphp-simplepie", "php-constant-time", "php-geshi", "php-phpseclib", "php-random-compat"),
        "usr/share/dokuwiki",
        dokuwiki,
        6_000,
    ),
    "phpmyadmin": DebianApp(
        (
            *("phpmyadmin", "php-composer-ca-bundle", "php-fig-http-message-util", "php-google-recaptcha", "php-mariadb-mysql-kbs"),
            *("php-nikic-fast-route", "php-phpmyadmin-motranslator", "php-phpmyadmin-shapefile", "php-phpmyadmin-sql-parser"),
            *("php-psr-cache", "php-psr-container", "php-psr-log", "php-slim-psr7", "php-symfony-cache", "php-symfony-cache-contracts"),
            *("php-symfony-config", "php-symfony-dependency-injection", "php-symfony-expression-language", "php-symfony-filesystem"),
            *("php-symfony-polyfill-php80", "php-symfony-service-contracts", "php-symfony-var-exporter", "php-twig"),
            *("php-twig-i18n-extension", "php-webmozart-assert", *PSR),
        ),
        "usr/share/phpmyadmin",
        phpmyadmin,
        12_000,
    ),
    "roundcube": DebianApp(
        (
            *("roundcube-core", "roundcube-sqlite3", "php-auth-sasl", "php-guzzlehttp-guzzle", "php-guzzlehttp-promises"),
            *("php-guzzlehttp-psr7", "php-mail-mime", "php-masterminds-html5", "php-net-sieve", "php-net-smtp", "php-net-socket"),
            *("php-pear", "php-psr-http-client", *PSR),
        ),
        "var/lib/roundcube",
        roundcube,
        4_000,
    ),
}


@pytest.mark.parametrize("name", APPS)
def test_an_app_that_nobody_tuned_for(name: str, tmp_path: Path) -> None:
    app = APPS[name]
    top = tmp_path / name
    own = ("/usr/share/php/", f"/usr/share/{name}", f"/etc/{name}", f"/var/lib/{name}")
    app.configure(installed(app.packages, top, own=own))
    answer = phpdyno("init", top / app.place, "--no-check")
    assert answer.returncode == 0, answer.stderr
    file = Path(answer.stdout.partition(": ")[0])
    # On a system where its packages are installed PHP's own include_path leads to its libraries.
    file.write_text(f'{file.read_text()}\n[ini]\ninclude_path = ".:{top}/usr/share/php"\n')
    found = with_what_is_missed(file)
    assert found.measurable, found
    assert (found.targets[0].body_bytes or 0) >= app.least_bytes, found
    answer = phpdyno("compare", file, "--aa", *FEWEST, "--budget", "40s", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stderr
    assert "A/A" in answer.stdout
    answer = phpdyno("tune", file, *SEARCHED, "--budget", "400s", "--runs", tmp_path / "tunes", timeout_s=700.0)
    assert answer.returncode == 0, answer.stderr
    assert any(line.startswith("RESULT") for line in answer.stdout.splitlines())
    assert read_tune(the_run(tmp_path / "tunes")).outcome == "finished"
    assert wait_for_no_traces() == []


def with_what_is_missed(file: Path) -> CheckFound:
    """The check of an app.toml, once all that the app is said to miss was written into it, and the
    page that its front page redirects to."""
    also: list[str] = []
    for _ in range(6):
        answer = phpdyno("check", file, "--json")
        assert answer.stdout, answer.stderr
        found = msgspec.json.decode(answer.stdout, type=CheckFound)
        missed = [each.path for each in found.reached.missed] if found.reached else []
        led = re.search(r"it redirects to '(/[^']*)'", found.targets[0].problem)
        if not missed and led is None:
            return found
        if led is not None:
            file.write_text(file.read_text().replace('path = "/"', f'path = "{led[1]}"'))
        also += missed
        text = re.sub(r"^also = .*\n", "", file.read_text(), flags=re.MULTILINE)
        named = ", ".join(f'"{each}"' for each in also)
        file.write_text(text.replace("\ndocroot", f"\nalso = [{named}]\ndocroot", 1))
    raise AssertionError(f"it misses more and more: {also}")
