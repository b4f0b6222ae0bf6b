"""What the apps ask of the host's own programs, with stand-ins in their place."""

from pathlib import Path

import pytest

from phpdyno.apps.built_in.packages import candidate_versions
from phpdyno.apps.built_in.php_cli import PhpCli, find_php_cli
from phpdyno.errors import DynoError

POLICY = """wordpress:
  Installed: (none)
  Candidate: 6.1.9+dfsg1-0+deb12u1
  Version table:
     6.1.9+dfsg1-0+deb12u1 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
theme:
  Installed: (none)
  Candidate: (none)
  Version table:
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    return tmp_path


def script(place: Path, name: str, output: str, code: int = 0) -> None:
    (place / name).write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {code}\n")
    (place / name).chmod(0o755)


def test_candidates(programs: Path) -> None:
    script(programs, "apt-cache", POLICY)
    script(programs, "dpkg", "")

    assert candidate_versions(["wordpress"]) == {"wordpress": "6.1.9+dfsg1-0+deb12u1"}
    with pytest.raises(DynoError, match="apt knows no package theme, php-getid3; run: sudo apt-get update"):
        candidate_versions(["wordpress", "theme", "php-getid3"])


def test_no_package_lists(programs: Path) -> None:
    script(programs, "apt-cache", "N: Unable to locate package wordpress")
    script(programs, "dpkg", "")
    with pytest.raises(DynoError, match="apt-get update"):
        candidate_versions(["wordpress"])


@pytest.mark.usefixtures("programs")
def test_no_apt() -> None:
    with pytest.raises(DynoError, match=r"this host has no apt; measure your own copy with an app\.toml"):
        candidate_versions(["wordpress"])


def test_php_of_the_path(programs: Path) -> None:
    script(programs, "php", "8.2 core mysqli zend opcache")
    assert find_php_cli(["mysqli"]) == PhpCli(str(programs / "php"), "8.2")


def test_newest_php_where_none_is_called_php(programs: Path) -> None:
    script(programs, "php8.2", "8.2 core mysqli zend opcache")
    script(programs, "php8.10", "8.10 core mysqli")
    assert find_php_cli(["mysqli"]) == PhpCli(str(programs / "php8.10"), "8.10")


def test_the_php_that_is_measured_installs_whatever_php_stands_for(programs: Path) -> None:
    """Debian's alternatives let `php` be any of several, and the newest php-fpm is measured."""
    script(programs, "php", "8.3 core mysqli")
    script(programs, "php8.3", "8.3 core mysqli")
    script(programs, "php8.4", "8.4 core mysqli")
    assert find_php_cli(["mysqli"]) == PhpCli(str(programs / "php8.4"), "8.4")


def test_php_without_extensions(programs: Path) -> None:
    script(programs, "php", "8.4 core mysqlnd intl")
    with pytest.raises(DynoError) as caught:
        find_php_cli(["mysqli", "intl", "dom", "pdo_sqlite", "xml", "apcu"])
    assert str(caught.value) == (
        f"{programs / 'php'}: this PHP has no mysqli, dom, pdo_sqlite, xml, apcu; install it with: "
        "sudo sh scripts/setup.sh --packages-only php8.4-mysql php8.4-xml php8.4-sqlite3 php8.4-apcu"
    )


def test_php_that_does_not_run(programs: Path) -> None:
    script(programs, "php", "Segmentation fault", 139)
    with pytest.raises(DynoError, match="does not run: Segmentation fault"):
        find_php_cli(["mysqli"])


@pytest.mark.usefixtures("programs")
def test_no_php() -> None:
    with pytest.raises(DynoError, match=r"install it with: sudo sh scripts/setup\.sh --packages-only php8\.2-cli"):
        find_php_cli(["mysqli"])
