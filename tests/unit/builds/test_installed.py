"""What dpkg says of the PHP that is there, and of builds that were made beside it."""

from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.build import installed as module
from phpdyno.build.installed import look_at, upgraded_to
from phpdyno.stack.supervise import Supervisor
from tests.support.builds import BUILD

MADE_FOR = structs.replace(BUILD, package="php8.4-fpm", package_version="8.4.11-1")


def answering(monkeypatch: pytest.MonkeyPatch, **answers: str) -> list[list[str]]:
    """Programs answer so, by the last part of their names; what they were asked."""
    asked: list[list[str]] = []

    def told(argv: Sequence[str]) -> CompletedProcess[bytes]:
        asked.append(list(argv))
        return CompletedProcess(argv, 0, answers[argv[0].replace("-", "_")].encode(), b"")

    monkeypatch.setattr(module, "told", told)
    return asked


def test_a_package_and_its_source_have_versions_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_fpm", lambda _: "/usr/sbin/php-fpm8.4")
    monkeypatch.setattr(module, "inspect_php", lambda _: SimpleNamespace(version="8.4.11"))
    configured: list[str] = []

    def php_config(_: str, __: str, package_version: str, *___: object) -> Path:
        configured.append(package_version)
        return Path("php-config8.4")

    monkeypatch.setattr(module, "_php_config", php_config)
    answering(monkeypatch, dpkg="php8.4-fpm: /usr/sbin/php-fpm8.4\n", dpkg_query="php8.4 8.4.11-1 8.4.11-1+b1", sh="'--enable-fpm'")
    found = look_at("php-fpm8.4", cast(Supervisor, SimpleNamespace()), tmp_path)
    assert (found.source, found.source_version, found.package, found.package_version) == ("php8.4", "8.4.11-1", "php8.4-fpm", "8.4.11-1+b1")
    assert configured == ["8.4.11-1+b1"]


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
