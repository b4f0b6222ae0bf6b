"""What is not packaged any more, and what is not done while something is."""

import contextlib
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.build import run as workflow
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import Build, BuildCheck, Origin
from phpdyno.php_build.source import installed
from tests.support.fakes.locks import noting_lock
from tests.support.made_up.builds import BUILD

LOOKED = (BuildCheck("places, wordpress", ok=True, seen="as in the control"),)
O2 = structs.replace(BUILD, name="o2-1", recipe=parse_recipe("o2"))
ALONE = structs.replace(BUILD, alone=True, checks=LOOKED)
MADE_FOR = structs.replace(BUILD, package="php8.2-fpm", package_version="8.2.36-1~deb12u1")


@pytest.mark.parametrize(("alone", "step"), [(False, r"build it anew \(.*--refresh --like php-fpm8.2\)"), (True, "build it anew")])
def test_a_build_whose_package_was_upgraded_since_is_not_packaged_though_php_kept_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str, *, alone: bool
) -> None:
    made = structs.replace(MADE_FOR, alone=alone, checks=LOOKED)
    monkeypatch.setattr(workflow, "inspect_php", lambda fpm: PhpBuild(fpm, "8.2.36"))
    monkeypatch.setattr(installed, "upgraded_to", lambda _: "")
    workflow.refuse_outdated((tmp_path, made))
    monkeypatch.setattr(installed, "upgraded_to", lambda build: "8.2.36-1~deb12u2" if build == made else "")
    what = "this build was made for php8.2-fpm 8.2.36-1~deb12u1, and now 8.2.36-1~deb12u2 is installed: it would step aside"
    with pytest.raises(DynoError, match=f"pgo-1: {what}; {step}$"):
        workflow.refuse_outdated((tmp_path, made))


def test_one_that_was_made_before_an_extension_was_installed_is_not_packaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place, theirs = tmp_path / "build", tmp_path / "theirs"
    (place / "extensions").mkdir(parents=True)
    theirs.mkdir()
    (theirs / "mbstring.so").touch()
    (place / "extensions" / "mbstring.so").symlink_to(theirs / "mbstring.so")
    monkeypatch.setattr(workflow, "inspect_php", lambda fpm: PhpBuild(fpm, "8.2.36"))
    workflow.refuse_outdated((place, BUILD))
    (theirs / "redis.so").touch()
    with pytest.raises(DynoError, match=r"pgo-1: this build was made before redis was installed.*; build it anew"):
        workflow.refuse_outdated((place, BUILD))


def test_nothing_is_measured_while_a_build_is_packaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[str] = []

    def fake_package(*_: object, **__: object) -> Path:
        seen.append("packaged")
        return tmp_path / "made.deb"

    monkeypatch.setattr(workflow, "MeasuringLock", noting_lock(seen))
    monkeypatch.setattr(workflow, "Supervisor", contextlib.nullcontext)
    monkeypatch.setattr(workflow, "make_package", fake_package)
    workflow.package((tmp_path, BUILD), tmp_path, logs=tmp_path)
    assert seen == ["held", "packaged", "free"]


def test_two_builds_may_be_one_package() -> None:
    other = structs.replace(BUILD, name="pgo-2")
    assert workflow.of_one_package([O2, BUILD, other]) == {"phpdyno-php8.2-pgo": [BUILD.name, "pgo-2"]}
    assert not workflow.of_one_package([O2, BUILD])


@pytest.mark.parametrize(
    ("build", "installed", "reason"),
    [
        (BUILD, "8.2.36", ""),
        (BUILD, "8.2.37", r"made beside PHP 8.2.36, and now 8.2.37 is installed.*--refresh --like php-fpm8.2"),
        (structs.replace(BUILD, php_version="8.2.40", beside="8.2.36"), "8.2.36", ""),
        (ALONE, "8.2.36", ""),
        (ALONE, "8.2.37", r"PHP 8.2.36, older than the installed 8.2.37"),
        (structs.replace(ALONE, php_version="8.4.1"), "8.2.37", ""),
        (structs.replace(ALONE, checks=()), "8.2.36", "pgo-1: this build was made before places were looked for.*; build it anew"),
        (structs.replace(BUILD, origin=Origin("git", "deadbeef0123", "c0de")), "8.2.36", "before places were looked for"),
        (structs.replace(BUILD, measuring_only=True), "8.2.36", "for measuring only"),
    ],
)
def test_what_was_made_for_a_php_that_was_upgraded_since_is_not_packaged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, build: Build, installed: str, reason: str
) -> None:
    monkeypatch.setattr(workflow, "inspect_php", lambda fpm: PhpBuild(fpm, installed))
    with pytest.raises(DynoError, match=reason) if reason else contextlib.nullcontext():
        workflow.refuse_outdated((tmp_path, build))
