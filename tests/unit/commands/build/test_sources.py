"""Which source a build is of: what serves a site afterwards is never older than what is
installed."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.commands.build import sources as build_sources
from phpdyno.commands.build.sources import SourceRequest, find_source
from phpdyno.errors import DynoError, UsageError
from phpdyno.php_build.order import BuildSource
from phpdyno.php_build.source.given import PARSER
from phpdyno.php_build.source.installed import Installed
from phpdyno.php_build.workshop import Workshop
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.fakes.fake_study import FakeProgress
from tests.support.real.extension import extension_source

INSTALLED = Installed("/usr/sbin/php-fpm8.2", "8.2.36", "php8.2-fpm", "php8.2", "8.2.36-1+b1", "8.2.36-1", "/usr/lib/php/20220829")
Ask = Callable[[SourceRequest], BuildSource]
PAIR = build_sources._Search._pair


class FakeArchive:
    """Lists two versions and has the source of the older one, or `held`."""

    held = "8.2.32-1"
    listed: tuple[str, ...] = ("8.2.36-1", "8.2.32-1")

    def __init__(self, place: Path, supervisor: Supervisor) -> None:
        self.asked: list[str] = []

    def refresh(self) -> None: ...

    def versions(self, package: str) -> tuple[str, ...]:
        return self.listed

    def unpack(self, package: str, version: str, into: Path) -> None:
        if version != self.held:
            raise DynoError(f"apt cannot fetch it: 404 for {version}")


@pytest.fixture
def progress() -> FakeProgress:
    return FakeProgress()


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, progress: FakeProgress) -> Ask:
    nobody = cast(Supervisor, SimpleNamespace())
    monkeypatch.setattr(build_sources, "SourceArchive", FakeArchive)
    monkeypatch.setattr(build_sources, "look_at", lambda *_: INSTALLED)
    monkeypatch.setattr(build_sources, "libraries_of", lambda _: ("libapparmor.so.1", "libc.so.6"))
    monkeypatch.setattr(build_sources, "find_fpm", lambda _: INSTALLED.fpm)
    monkeypatch.setattr(build_sources, "inspect_php", lambda _: SimpleNamespace(version=INSTALLED.version))
    monkeypatch.setattr(build_sources, "ini_files", lambda _: SimpleNamespace(main="/etc/php/8.2/fpm/php.ini"))
    monkeypatch.setattr(build_sources, "require_packages", lambda _: None)
    monkeypatch.setattr(build_sources, "configured", lambda *_: ("--enable-fpm", "--with-openssl"))
    monkeypatch.setattr(build_sources, "modules_of", lambda *_: ("Core",))
    monkeypatch.setattr(build_sources._Search, "_pair", lambda _, installed, version: installed)
    return lambda wanted: find_source(wanted, Workshop(tmp_path / "cache", progress.note), nobody, progress)


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
    build_source = ask(SourceRequest(alone=alone, extensions=() if alone else None, to_be_kept=True))
    assert (build_source.origin.version, build_source.measuring_only) == ("8.2.36-1", False)
    assert (build_source.package, build_source.package_version) == ("php8.2-fpm", "8.2.36-1+b1")


@pytest.mark.parametrize("alone", [False, True])
def test_where_the_exact_source_is_missing_an_older_one_is_for_measuring_only(ask: Ask, progress: FakeProgress, *, alone: bool) -> None:
    build_source = ask(SourceRequest(alone=alone, extensions=() if alone else None))
    assert (build_source.measuring_only, build_source.version, build_source.package, build_source.package_version) == (
        True,
        "8.2.32",
        "",
        "",
    )
    assert "older than what is installed, for measuring only" in progress.notes[0]


@pytest.mark.parametrize("to_be_kept", [False, True])
def test_what_was_fetched_before_does_without_the_archive(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, progress: FakeProgress, *, to_be_kept: bool
) -> None:
    def offline(*_: object) -> None:
        raise DynoError("apt cannot fetch it: no network")

    fetched = ask(SourceRequest())
    monkeypatch.setattr(FakeArchive, "refresh", offline)
    monkeypatch.setattr(FakeArchive, "unpack", offline)
    progress.notes.clear()
    if to_be_kept:
        with pytest.raises(DynoError, match=r"8.2.36-1 cannot be had, .*: apt cannot fetch it: no network"):
            ask(SourceRequest(to_be_kept=True))
    else:
        assert ask(SourceRequest()) == fetched
        assert progress.notes == ["apt cannot fetch it: no network; so what was fetched before has to do", fetched.origin.notice]


def only_newer(monkeypatch: pytest.MonkeyPatch, fetched: list[dict[str, str]], others: tuple[Path, ...] = ()) -> None:
    """An archive that has 8.2.40 and not the installed version, neither its source nor its
    binaries."""
    monkeypatch.setattr(FakeArchive, "held", "8.2.40-1")
    monkeypatch.setattr(FakeArchive, "listed", ("8.2.40-1",))

    def asked(php: Installed, *_: object) -> tuple[str, ...]:
        if php.version != "8.2.40":
            raise DynoError(f"the packages cannot be downloaded: no {php.package_version}")
        return ("--enable-fpm", "--with-libxml")

    def fetch(_: object, versions: dict[str, str], into: Path) -> None:
        fetched.append(versions)
        for path in ("usr/sbin/php-fpm8.2", "usr/lib/php/20220829/opcache.so"):
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            (into / path).touch()

    monkeypatch.setattr(build_sources, "configured", asked)
    monkeypatch.setattr(build_sources, "built_in_source", lambda _: ("php8.2-fpm", "php8.2-xml"))
    versions = {"php8.2-fpm": "8.2.40-1+b1", "php8.2-xml": "8.2.40-1"}
    monkeypatch.setattr(build_sources, "versions_built_of", lambda packages, version: {name: versions[name] for name in packages})
    monkeypatch.setattr(build_sources, "modules_besides", lambda *_: others)
    monkeypatch.setattr(build_sources, "fetch_packages", fetch)
    monkeypatch.setattr(build_sources._Search, "_pair", PAIR)


def test_where_there_is_a_newer_version_only_it_is_for_measuring_beside_its_own_binaries(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, progress: FakeProgress
) -> None:
    fetched: list[dict[str, str]] = []
    only_newer(monkeypatch, fetched)
    build_source = ask(SourceRequest())
    assert fetched == [{"php8.2-fpm": "8.2.40-1+b1", "php8.2-xml": "8.2.40-1"}]
    assert (build_source.version, build_source.beside, build_source.measuring_only, build_source.package) == ("8.2.40", "8.2.40", True, "")
    # They are configured as those binaries are.
    assert "--with-libxml" in build_source.options
    assert build_source.stock["php"].endswith("/usr/sbin/php-fpm8.2")
    assert build_source.stock["php.extension_dir"] == str(build_source.theirs)
    notice = (
        "8.2.40-1 is built and compared with its own binaries: newer than what is installed, for measuring only; it is better to upgrade"
    )
    assert notice in progress.notes[0]
    assert progress.notes == [build_source.origin.notice]


def test_packages_that_compiling_beside_a_newer_version_needs_are_named_and_not_called_a_missing_source(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require(packages: tuple[str, ...]) -> None:
        if "libxml2-dev" in packages:
            raise DynoError("compiling PHP needs libxml2-dev")

    only_newer(monkeypatch, [])
    monkeypatch.setattr(build_sources, "require_packages", require)
    with pytest.raises(DynoError, match=r"^compiling PHP needs libxml2-dev$"):
        ask(SourceRequest())


@pytest.mark.parametrize("more", [{"to_be_kept": True}, {"source": Path("/src")}])
def test_what_nobody_says_any_more_how_it_was_configured_is_to_be_upgraded(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    only_newer(monkeypatch, [])
    said = r"nobody says how php8.2-fpm 8.2.36-1\+b1 was configured: .*no 8.2.36-1\+b1; upgrade it: sudo apt-get update && sudo apt-get up"
    with pytest.raises(DynoError, match=said):
        ask(structs.replace(SourceRequest(), **more))


def test_a_pair_has_the_extensions_of_other_packages_too_and_those_that_it_cannot_load_are_named(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, progress: FakeProgress
) -> None:
    theirs = tmp_path / "usr" / "lib" / "php" / "20220829"
    theirs.mkdir(parents=True)
    (theirs / "apcu.so").touch()
    only_newer(monkeypatch, [], others=(theirs / "apcu.so",))
    monkeypatch.setattr(build_sources, "look_at", lambda *_: structs.replace(INSTALLED, extension_dir=str(theirs)))
    monkeypatch.setattr(
        build_sources, "modules_of", lambda _, place="": ("Core", "apcu") if place else ("Core", "apcu", "memcached", "redis")
    )

    def fetch(_: object, __: dict[str, str], into: Path) -> None:
        (into / "usr" / "sbin").mkdir(parents=True, exist_ok=True)
        (into / "usr" / "sbin" / "php-fpm8.2").touch()

    monkeypatch.setattr(build_sources, "fetch_packages", fetch)
    build_source = ask(SourceRequest())
    assert build_source.modules == ("apcu.so",)
    assert build_source.theirs is not None
    assert (build_source.theirs / "apcu.so").readlink() == theirs / "apcu.so"
    assert progress.notes[0].endswith("; without memcached, redis, which it cannot load")


def test_what_is_to_be_kept_is_not_made_of_an_older_source(ask: Ask) -> None:
    with pytest.raises(DynoError, match=r"the source of php8.2 8.2.36-1 cannot be had, and an older one is for measuring only: .*404"):
        ask(SourceRequest(to_be_kept=True))


def test_an_older_source_of_ones_own_is_for_measuring_only_too(ask: Ask, progress: FakeProgress, tmp_path: Path) -> None:
    older = SourceRequest(alone=True, extensions=(), source=source(tmp_path, "8.2.30"))
    build_source = ask(older)
    assert (build_source.measuring_only, build_source.version) == (True, "8.2.30")
    assert progress.notes == ["this source is PHP 8.2.30, older than the installed 8.2.36: for measuring only"]
    kept = SourceRequest(alone=True, extensions=(), source=older.source, to_be_kept=True)
    with pytest.raises(UsageError, match=r"older than the installed 8.2.36.*leave --package out"):
        ask(kept)


def test_a_drop_in_of_a_newer_source_is_of_that_version_and_beside_the_installed_one(ask: Ask, tmp_path: Path) -> None:
    build_source = ask(SourceRequest(source=source(tmp_path, "8.2.40"), to_be_kept=True))
    assert (build_source.version, build_source.beside, build_source.measuring_only) == ("8.2.40", "8.2.36", False)
    assert (build_source.package, build_source.package_version) == ("php8.2-fpm", "8.2.36-1+b1")


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
        ask(SourceRequest(source=source(tmp_path, version, api=api)))


def test_extensions_that_a_drop_in_links_are_those_that_are_there_now(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    theirs = tmp_path / "20220829"
    theirs.mkdir()
    for name in ("redis.so", "mysqli.so", "README"):
        (theirs / name).touch()
    monkeypatch.setattr(build_sources, "look_at", lambda *_: structs.replace(INSTALLED, extension_dir=str(theirs)))
    newer = source(tmp_path / "source", "8.2.40")
    assert ask(SourceRequest(source=newer)).modules == ("mysqli.so", "redis.so")
    assert ask(SourceRequest(source=newer, alone=True, extensions=())).modules == ()


def test_what_the_installed_php_fpm_is_linked_with_is_wanted_of_a_drop_in_too(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted: list[str] = []
    monkeypatch.setattr(build_sources, "require_packages", wanted.extend)
    assert "--with-fpm-apparmor" in ask(SourceRequest(source=source(tmp_path, "8.2.40"))).options
    assert "libapparmor-dev" in wanted


def test_all_that_is_missing_is_asked_for_at_once(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wanted: list[str] = []
    monkeypatch.setattr(build_sources, "require_packages", wanted.extend)
    monkeypatch.setattr(build_sources, "bolt_version", lambda: "")
    extension = extension_source(tmp_path / "answers")
    (extension / "answers.cpp").touch()
    unreleased = source(tmp_path / "source", "8.4.24", api="20240924")
    foundation = SourceRequest(alone=True, extensions=("mbstring",), added=(("answers", extension),), source=unreleased, laid_out=True)
    assert ask(foundation).extensions == ("mbstring", "answers")
    assert {"gcc", "libc6-dev", "libonig-dev", "g++", "bison", "re2c", "bolt-19"} <= set(wanted)
    assert len(wanted) == len(set(wanted))
    (unreleased / PARSER).touch()
    monkeypatch.setattr(build_sources, "bolt_version", lambda: "llvm-19")
    wanted.clear()
    ask(structs.replace(foundation, added=()))
    assert not {"g++", "bison", "re2c", "bolt-19"} & set(wanted)


def test_what_the_source_does_not_have_is_refused_by_name_and_left_out_of_the_controls(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, progress: FakeProgress, tmp_path: Path
) -> None:
    newer = source(tmp_path, "8.4.24", api="20240924")
    with pytest.raises(UsageError, match=r"--extension: PHP 8.4's own source has no imap; give its source with --with-extension"):
        ask(SourceRequest(alone=True, extensions=("imap",), source=newer))
    monkeypatch.setattr(build_sources, "modules_of", lambda _: ("imap", "snmp", "Zend OPcache"))
    assert ask(SourceRequest(alone=True, source=newer)).extensions == ("snmp",)
    assert progress.notes == ["imap: not of PHP 8.4's own source, so this build is without; give the source with --with-extension"]


def test_a_newer_series_of_its_own_may_be_kept(ask: Ask, tmp_path: Path) -> None:
    wanted = SourceRequest(alone=True, extensions=(), source=source(tmp_path, "8.4.24", api="20240924"), to_be_kept=True)
    build_source = ask(wanted)
    assert (build_source.version, build_source.beside, build_source.measuring_only, build_source.package) == ("8.4.24", "", False, "")
