"""Which source a build is of: what serves a site afterwards is never older than what is installed."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.build.installed import Installed
from phpdyno.build.order import Ground
from phpdyno.build.workshop import Workshop
from phpdyno.errors import DynoError, UsageError
from phpdyno.stack.supervise import Supervisor
from phpdyno.workflows import build_ground
from phpdyno.workflows.build_ground import Foundation, find_ground
from tests.support.fake_study import FakeProgress

INSTALLED = Installed("/usr/sbin/php-fpm8.2", "8.2.36", "php8.2-fpm", "php8.2", "8.2.36-1+b1", "8.2.36-1", "/usr/lib/php/20220829", ())
Ask = Callable[[Foundation], Ground]


class FakeArchive:
    """Lists two versions and has the source of the older one, or `held`."""

    held = "8.2.32-1"

    def __init__(self, place: Path, supervisor: Supervisor) -> None:
        self.asked: list[str] = []

    def refresh(self) -> None: ...

    def versions(self, package: str) -> tuple[str, ...]:
        return ("8.2.36-1", "8.2.32-1")

    def unpack(self, package: str, version: str, into: Path) -> None:
        if version != self.held:
            raise DynoError(f"apt cannot fetch it: 404 for {version}")


@pytest.fixture
def progress() -> FakeProgress:
    return FakeProgress()


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, progress: FakeProgress) -> Ask:
    nobody = cast(Supervisor, SimpleNamespace())
    monkeypatch.setattr(build_ground, "SourceArchive", FakeArchive)
    monkeypatch.setattr(build_ground, "look_at", lambda *_: INSTALLED)
    monkeypatch.setattr(build_ground, "libraries_of", lambda _: ("libapparmor.so.1", "libc.so.6"))
    monkeypatch.setattr(build_ground, "find_fpm", lambda _: INSTALLED.fpm)
    monkeypatch.setattr(build_ground, "inspect_php", lambda _: SimpleNamespace(version=INSTALLED.version))
    monkeypatch.setattr(build_ground, "ini_files", lambda _: SimpleNamespace(main="/etc/php/8.2/fpm/php.ini"))
    monkeypatch.setattr(build_ground, "require_packages", lambda _: None)
    monkeypatch.setattr(build_ground._Search, "_pair", lambda _, installed, version: installed)
    return lambda wanted: find_ground(wanted, Workshop(tmp_path / "cache", progress.note), nobody, progress)


def source(place: Path, version: str, *, api: str = "20220829") -> Path:
    """A directory that says what it is, and no more."""
    for file, text in {
        "main/php_version.h": f'#define PHP_VERSION "{version}"\n',
        "Zend/zend_modules.h": f"#define ZEND_MODULE_API_NO {api}\n",
        "configure": "",
    }.items():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text)
    return place


@pytest.mark.parametrize("alone", [False, True])
def test_binaries_that_were_only_compiled_again_are_of_the_source_that_they_were_of(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, *, alone: bool
) -> None:
    monkeypatch.setattr(FakeArchive, "held", "8.2.36-1")
    ground = ask(Foundation(alone=alone, extensions=() if alone else None, to_be_kept=True))
    assert (ground.origin.version, ground.measuring_only) == ("8.2.36-1", False)
    assert (ground.package, ground.package_version) == ("php8.2-fpm", "8.2.36-1+b1")


@pytest.mark.parametrize("alone", [False, True])
def test_where_the_exact_source_is_missing_an_older_one_is_for_measuring_only(ask: Ask, progress: FakeProgress, *, alone: bool) -> None:
    ground = ask(Foundation(alone=alone, extensions=() if alone else None))
    assert (ground.measuring_only, ground.version, ground.package, ground.package_version) == (True, "8.2.32", "", "")
    assert "older than what is installed, for measuring only" in progress.notes[0]


def test_what_is_to_be_kept_is_not_made_of_an_older_source(ask: Ask) -> None:
    with pytest.raises(DynoError, match=r"the source of php8.2 8.2.36-1 cannot be had, and an older one is for measuring only: .*404"):
        ask(Foundation(to_be_kept=True))


def test_an_older_source_of_ones_own_is_for_measuring_only_too(ask: Ask, progress: FakeProgress, tmp_path: Path) -> None:
    older = Foundation(alone=True, extensions=(), source=source(tmp_path, "8.2.30"))
    ground = ask(older)
    assert (ground.measuring_only, ground.version) == (True, "8.2.30")
    assert progress.notes == ["this source is PHP 8.2.30, older than the installed 8.2.36: for measuring only"]
    kept = Foundation(alone=True, extensions=(), source=older.source, to_be_kept=True)
    with pytest.raises(UsageError, match=r"older than the installed 8.2.36.*leave --package out"):
        ask(kept)


def test_a_drop_in_of_a_newer_source_is_of_that_version_and_beside_the_installed_one(ask: Ask, tmp_path: Path) -> None:
    ground = ask(Foundation(source=source(tmp_path, "8.2.40"), to_be_kept=True))
    assert (ground.version, ground.beside, ground.measuring_only) == ("8.2.40", "8.2.36", False)
    assert (ground.package, ground.package_version) == ("php8.2-fpm", "8.2.36-1+b1")


@pytest.mark.parametrize(
    ("version", "api", "reason"),
    [
        ("8.4.24", "20240924", r"PHP 8.4.24 \(extension API 20240924\), and the installed extensions are for API 20220829"),
        ("8.2.30", "20220829", r"PHP 8.2.30, older than the installed extensions, which are of 8.2.36"),
    ],
)
def test_a_drop_in_of_a_source_that_the_installed_extensions_do_not_fit_is_refused(
    ask: Ask, tmp_path: Path, version: str, api: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=rf"--source: this source is {reason}; compile its extensions in with --standalone"):
        ask(Foundation(source=source(tmp_path, version, api=api)))


def test_extensions_that_a_drop_in_links_are_those_that_are_there_now(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    theirs = tmp_path / "20220829"
    theirs.mkdir()
    for name in ("redis.so", "mysqli.so", "README"):
        (theirs / name).touch()
    monkeypatch.setattr(build_ground, "look_at", lambda *_: structs.replace(INSTALLED, extension_dir=str(theirs)))
    newer = source(tmp_path / "source", "8.2.40")
    assert ask(Foundation(source=newer)).modules == ("mysqli.so", "redis.so")
    assert ask(Foundation(source=newer, alone=True, extensions=())).modules == ()


def test_what_the_installed_php_fpm_is_linked_with_is_wanted_of_a_drop_in_too(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted: list[str] = []
    monkeypatch.setattr(build_ground, "require_packages", wanted.extend)
    assert "--with-fpm-apparmor" in ask(Foundation(source=source(tmp_path, "8.2.40"))).options
    assert "libapparmor-dev" in wanted


def test_a_newer_series_of_its_own_may_be_kept(ask: Ask, tmp_path: Path) -> None:
    wanted = Foundation(alone=True, extensions=(), source=source(tmp_path, "8.4.24", api="20240924"), to_be_kept=True)
    ground = ask(wanted)
    assert (ground.version, ground.beside, ground.measuring_only, ground.package) == ("8.4.24", "", False, "")
