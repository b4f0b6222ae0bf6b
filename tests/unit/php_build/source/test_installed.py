"""What dpkg says of the PHP that is there, and of builds that were made beside it."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.errors import DynoError
from phpdyno.php_build.source import installed as module
from phpdyno.php_build.source.installed import Installed, configured, find_fpm, look_at, modules_besides, modules_of, upgraded_to
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.made_up.builds import BUILD

MADE_FOR = structs.replace(BUILD, package="php8.4-fpm", package_version="8.4.11-1")
INSTALLED = Installed("/usr/sbin/php-fpm8.4", "8.4.11", "php8.4-fpm", "php8.4", "8.4.11-1+b1", "8.4.11-1", "/usr/lib/php/20240924")


def answering(monkeypatch: pytest.MonkeyPatch, **answers: str) -> list[list[str]]:
    """Programs answer so, by the last part of their names; what they were asked."""
    asked: list[list[str]] = []

    def told(argv: Sequence[str], env: Mapping[str, str] | None = None) -> CompletedProcess[bytes]:
        asked.append(list(argv))
        name = argv[0].rpartition("/")[2].replace("-", "_").replace(".", "__")
        return CompletedProcess(argv, 0, answers[name].encode(), b"")

    monkeypatch.setattr(module, "told", told)
    return asked


def test_a_package_and_its_source_have_versions_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_fpm", lambda _: "/usr/sbin/php-fpm8.4")
    monkeypatch.setattr(module, "inspect_php", lambda _: SimpleNamespace(version="8.4.11"))
    monkeypatch.setattr(module, "ini_files", lambda *_: SimpleNamespace(extension_dir="/usr/lib/php/20240924"))
    answering(monkeypatch, dpkg="php8.4-fpm: /usr/sbin/php-fpm8.4\n", dpkg_query="php8.4 8.4.11-1 8.4.11-1+b1")
    found = look_at("php-fpm8.4")
    assert found == INSTALLED


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is fetched of an archive that has no other packages; none at first."""
    held: dict[str, str] = {}

    def fetch(_: object, versions: dict[str, str], into: Path) -> None:
        if not versions.items() <= held.items():
            raise DynoError("the packages cannot be downloaded: not found")
        script = into / "usr" / "bin" / "php-config8.4"
        script.parent.mkdir(parents=True)
        script.touch()

    monkeypatch.setattr(module, "fetch_packages", fetch)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    return held


def options_of(php: Installed, cache: Path) -> tuple[str, ...]:
    return configured(php, cast(Supervisor, SimpleNamespace()), cache)


def test_how_it_was_configured_is_told_by_the_development_package_of_its_binaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: dict[str, str]
) -> None:
    asked = answering(monkeypatch, sh="'--enable-fpm' '--with-openssl'")
    with pytest.raises(DynoError, match="the packages cannot be downloaded"):
        options_of(INSTALLED, tmp_path)
    assert asked == []
    archive["php8.4-dev"] = "8.4.11-1+b1"
    assert options_of(INSTALLED, tmp_path) == ("--enable-fpm", "--with-openssl")
    assert asked == [["sh", f"{tmp_path}/builds/php-config/8.4.11-1+b1/usr/bin/php-config8.4", "--configure-options"]]


def test_an_installed_php_config_of_another_version_will_do_where_its_own_is_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: dict[str, str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    asked = answering(monkeypatch, php_config8__4="8.4.16", sh="'--enable-fpm'")
    assert options_of(INSTALLED, tmp_path) == ("--enable-fpm",)
    assert asked[-1] == ["sh", "/usr/bin/php-config8.4", "--configure-options"]


def test_without_a_name_it_is_the_newest_one_as_a_comparison_s_control_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "default_fpm", lambda: "/usr/sbin/php-fpm8.4")
    monkeypatch.setattr(module, "find_program", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr(module, "named_php", lambda name: name)
    assert find_fpm("") == "/usr/sbin/php-fpm8.4"
    assert find_fpm("php-fpm0.1") == "/usr/sbin/php-fpm0.1"


def test_what_php_says_of_an_extension_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Warning: PHP Startup: Unable to load dynamic library 'gone'\n[PHP Modules]\nCore\n\n[Zend Modules]\nZend OPcache\n"
    asked = answering(monkeypatch, php_fpm8__4=said)
    assert modules_of("/cache/php-fpm8.4", "/cache/20240924") == ("Core", "Zend OPcache")
    assert "extension_dir=/cache/20240924" in asked[0]


def test_modules_of_other_packages_and_of_nobody_are_told_from_those_of_php_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("apcu.so", "mine.so", "opcache.so"):
        (tmp_path / name).touch()
    answering(monkeypatch, dpkg_query=f"/.\n{tmp_path}/opcache.so\n")
    assert [path.name for path in modules_besides(("php8.4-opcache",), tmp_path)] == ["apcu.so", "mine.so"]


@pytest.mark.parametrize(
    ("now", "upgraded"),
    [("8.4.11-1", ""), ("8.4.11-1+deb13u1", "8.4.11-1+deb13u1"), ("8.4.11-1~bpo12+1", ""), ("", "")],
)
def test_a_package_is_upgraded_where_dpkg_says_so(monkeypatch: pytest.MonkeyPatch, now: str, upgraded: str) -> None:
    asked = answering(monkeypatch, dpkg_query=now)
    assert upgraded_to(MADE_FOR) == upgraded
    assert asked == [["dpkg-query", "-W", "-f", "${Version}", "php8.4-fpm"]]


def test_nothing_is_known_of_a_build_that_does_not_record_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not answering(monkeypatch)
    assert upgraded_to(BUILD) == ""
