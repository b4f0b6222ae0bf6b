"""Options of `phpdyno build`: what they come to, and what cannot be."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import json, structs
from rich.console import Console

from phpdyno.commands.build import command
from phpdyno.commands.build import run as workflow
from phpdyno.commands.build.command import foundation_of, run, wanted_of
from phpdyno.commands.build.listed import Listed, started
from phpdyno.commands.build.options import BuildOptions
from phpdyno.commands.common.options import RECIPE, BuildSourceOptions, RequestOptions
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError, UsageError
from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import Build, BuildCheck, Lesson, Teaching
from tests.support.made_up.builds import BUILD

WORKLOAD = '[[target]]\npath = "/asked"\nweight = 3\n\n[[target]]\npath = "/seldom"\nweight = 1\n'


def options(*train: str, requests: RequestOptions | None = None, build_source: BuildSourceOptions | None = None) -> BuildOptions:
    return BuildOptions(train=train, build_source=build_source or BuildSourceOptions(), requests=requests or RequestOptions())


@pytest.mark.parametrize("other", [{"recipe": "o3"}, {"train": ("hello",)}, {"package": None}])
def test_a_finished_build_is_packaged_as_it_is(tmp_path: Path, other: dict[str, Any]) -> None:
    given = replace(BuildOptions(finished="pgo-1a2b3c4d", package=tmp_path), **other)
    with pytest.raises(UsageError, match=r"packaged as it is; write: phpdyno build pgo-1a2b3c4d --package DIR"):
        run(given)


def test_what_is_packaged_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match=r"there is no build 'pgo-1a2b3c4d'; see which there are with: phpdyno build --list"):
        run(BuildOptions(finished="pgo-1a2b3c4d", package=tmp_path / "debs"))
    with pytest.raises(UsageError, match=r"there is no build 'pgo'; make it with: phpdyno build --train APP --recipe pgo"):
        run(BuildOptions(finished="pgo", package=tmp_path / "debs"))
    assert not (tmp_path / "debs").exists()


def test_a_finished_build_is_held_against_what_is_installed_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "named_build", lambda _: (tmp_path, BUILD))
    monkeypatch.setattr(workflow, "inspect_php", lambda fpm: PhpBuild(fpm, "8.2.37"))
    with pytest.raises(DynoError, match=r"made beside PHP 8.2.36, and now 8.2.37 is installed"):
        run(BuildOptions(finished="pgo-1", package=tmp_path / "debs"))
    assert not (tmp_path / "debs").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"train": ("hello",)},
        {"run_tests": True},
        {"recipe": RECIPE},
        {"training": "3s"},
        {"seed": 2},
        {"build_source": BuildSourceOptions(standalone=True)},
        {"build_source": BuildSourceOptions(source=Path("/src"))},
        {"build_source": BuildSourceOptions(zts=True)},
        {"requests": RequestOptions(workload=Path("asked.toml"))},
    ],
)
def test_what_is_made_anew_is_made_as_it_was(other: dict[str, Any]) -> None:
    given = replace(BuildOptions(refresh=True, build_source=BuildSourceOptions(like="php-fpm8.4")), **other)
    with pytest.raises(UsageError, match=r"--refresh: builds are made anew as they were made.*--like, --package"):
        run(given)


def test_a_build_that_is_made_anew_has_its_own_php_fpm() -> None:
    with pytest.raises(UsageError, match=r"--like php-fpm8.4: a build has its own php-fpm; leave it out, or pgo-1"):
        run(BuildOptions(finished="pgo-1", refresh=True, build_source=BuildSourceOptions(like="php-fpm8.4")))


@pytest.mark.parametrize("other", [{"refresh": True}, {"finished": "pgo-1"}, {"train": ("hello",)}, {"package": Path("/debs")}])
def test_a_list_does_nothing_else(other: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"--list: --list shows what is there, and does nothing else"):
        run(replace(BuildOptions(listed=True), **other))


def test_a_list_shows_the_builds_and_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "finished_builds", lambda: ((tmp_path, BUILD),))
    assert run(BuildOptions(listed=True)) == 0
    said = capsys.readouterr().out
    assert "  php-fpm8.2  " in said
    assert "use it: build=pgo-1\n" in said
    assert f"it is in: {tmp_path}\n" in said.replace("\n" + str(tmp_path), f" {tmp_path}")
    assert run(BuildOptions(listed=True, json=True)) == 0
    assert json.decode(capsys.readouterr().out)[0]["directory"] == str(tmp_path)


def test_a_list_names_no_place_in_the_cache_for_a_php_that_was_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = structs.replace(BUILD, like="/cache/pairs/1a2b/usr/sbin/php-fpm8.2", measuring_only=True)
    monkeypatch.setattr(command, "finished_builds", lambda: ((tmp_path, pair),))
    assert run(BuildOptions(listed=True)) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "php-fpm8.2* " in said
    assert "* for measuring only" in said
    assert "/cache/pairs" not in said


@pytest.mark.parametrize(
    ("build", "command_line"),
    [
        (BUILD, "{place}/php-fpm -d extension_dir={place}/extensions"),
        (
            structs.replace(BUILD, places={"include_path": ".:/usr/share/my php"}),
            "{place}/php-fpm -d extension_dir={place}/extensions -d 'include_path=.:/usr/share/my php'",
        ),
        (
            structs.replace(BUILD, alone=True, ini="/etc/php/8.2/fpm/php.ini"),
            "PHP_INI_SCAN_DIR= {place}/php-fpm -d extension_dir={place}/extensions -c /etc/php/8.2/fpm/php.ini",
        ),
    ],
)
def test_a_build_is_started_with_all_that_it_must_be_told(tmp_path: Path, build: Build, command_line: str) -> None:
    (tmp_path / "php-fpm").touch()
    (tmp_path / "extensions").mkdir()
    assert started(tmp_path, build) == command_line.format(place=tmp_path)


def test_a_refresh_takes_the_php_fpm_and_where_packages_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fake_refresh(like: str, **_: object) -> tuple[list[object], list[str]]:
        asked.append(like)
        return [], []

    monkeypatch.setattr(command, "refresh", fake_refresh)
    assert (
        run(BuildOptions(refresh=True, build_source=BuildSourceOptions(like="php-fpm8.4"), package=tmp_path, runs=tmp_path, json=True)) == 0
    )
    assert asked == ["php-fpm8.4"]


def test_a_build_that_could_not_be_made_anew_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "refresh", lambda *_, **__: ([(tmp_path, BUILD)], ["o2 is not made anew: its app is gone"]))
    assert run(BuildOptions(refresh=True, runs=tmp_path, json=True)) == 1
    answer = capsys.readouterr()
    assert '"name": "pgo-1"' in answer.out
    assert answer.err == "o2 is not made anew: its app is gone\n"


def test_an_app_is_named_so_that_it_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "app.toml").touch()
    trainees = wanted_of(options("shop/app.toml=3", "hello"), Console(quiet=True)).trainees
    assert [(each.reference, each.weight) for each in trainees] == [(str(tmp_path / "shop" / "app.toml"), 3.0), ("hello", 1.0)]


@pytest.mark.parametrize(("ok", "status"), [(True, 0), (False, 1)])
def test_what_the_tests_of_php_find_wrong_is_named_and_not_packaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: int, *, ok: bool
) -> None:
    seen = "300 passed, 1 failed (Zend/tests/bug1.phpt), 4 skipped"
    made = structs.replace(BUILD, checks=(BuildCheck("PHP's own tests", ok=ok, seen=seen),))
    packaged: list[str] = []

    def fake_package(each: tuple[Path, Build], into: Path, **_: object) -> Path:
        packaged.append(each[1].name)
        return into / "made.deb"

    monkeypatch.setattr(command, "build", lambda *_, **__: (tmp_path, made))
    monkeypatch.setattr(command, "package", fake_package)
    assert run(BuildOptions(train=("hello",), package=tmp_path / "debs", runs=tmp_path, run_tests=True)) == status
    answer = capsys.readouterr()
    words = " ".join(answer.out.split())
    assert packaged == (["pgo-1"] if ok else [])
    assert "It is compiled without the distribution's -fstack-protector-strong" in words
    assert (f"PHP's own tests: {seen}" in words) is not ok
    assert ("not packaged: pgo-1" in answer.err) is not ok


def test_a_build_that_is_not_packaged_anyway_is_no_namesake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = structs.replace(BUILD, name="pgo-2", checks=(BuildCheck("PHP's own tests", ok=False, seen="1 failed"),))
    both = [(tmp_path / "1", BUILD), (tmp_path / "2", failed)]
    monkeypatch.setattr(command, "refresh", lambda *_, **__: (both, []))
    monkeypatch.setattr(command, "package", lambda each, into, **_: into / f"{each[1].name}.deb")
    given = BuildOptions(refresh=True, package=tmp_path / "debs", runs=tmp_path, json=True)
    assert run(given) == 1
    answer = capsys.readouterr()
    assert [each["package"] for each in json.decode(answer.out)] == [str(tmp_path / "debs" / "pgo-1.deb"), ""]
    assert answer.err == "not packaged: pgo-2\n"
    both[1] = (tmp_path / "2", structs.replace(BUILD, name="pgo-2"))
    assert run(given) == 1
    answer = capsys.readouterr()
    assert [each["package"] for each in json.decode(answer.out)] == ["", ""]
    assert "not packaged: pgo-1 and pgo-2 would be one package, phpdyno-php8.2-pgo: package one by its name" in answer.err.replace(
        "\n", " "
    )


def test_a_package_that_cannot_be_written_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fake_package(each: tuple[Path, Build], into: Path, **_: object) -> Path:
        if each[1].name == "o3-1":
            raise DynoError("no space left on device", where=str(into))
        return into / "made.deb"

    both = [(tmp_path / "1", structs.replace(BUILD, name="o3-1", recipe=parse_recipe("o3"))), (tmp_path / "2", BUILD)]
    monkeypatch.setattr(command, "refresh", lambda *_, **__: (both, []))
    monkeypatch.setattr(command, "package", fake_package)
    assert run(BuildOptions(refresh=True, package=tmp_path / "debs", runs=tmp_path, json=True)) == 1
    answer = capsys.readouterr()
    assert [each["package"] for each in json.decode(answer.out)] == ["", str(tmp_path / "debs" / "made.deb")]
    assert answer.err.replace("\n", " ") == f"o3-1 is not packaged: {tmp_path}/debs: no space left on device "


def test_what_the_tests_of_php_found_wrong_before_is_not_packaged_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, kept = tmp_path / "finished" / "c0de", tmp_path / "tested" / "c0de"
    kept.mkdir(parents=True)
    (kept / "done.json").touch()
    (kept / "tested.json").write_bytes(json.encode(BuildCheck("PHP's own tests", ok=False, seen="299 passed, 1 failed")))
    monkeypatch.setattr(command, "named_build", lambda _: (place, BUILD))
    monkeypatch.setattr(command, "refuse_outdated", lambda _: None)
    with pytest.raises(DynoError, match="pgo-1: this build is not packaged: PHP's own tests: 299 passed, 1 failed"):
        run(BuildOptions(finished="pgo-1", package=tmp_path / "debs"))
    assert not (tmp_path / "debs").exists()


def test_requests_of_a_file_train_instead_of_the_app_s_own(tmp_path: Path) -> None:
    file = tmp_path / "asked.toml"
    file.write_text(WORKLOAD)
    (trainee,) = wanted_of(options("hello=2", requests=RequestOptions(workload=file)), Console(quiet=True)).trainees
    assert (trainee.reference, trainee.weight, trainee.requests) == ("hello", 2.0, str(file))
    assert trainee.workload is not None
    assert [target.path for target in trainee.workload.targets] == ["/asked", "/seldom"]


def test_requests_of_a_file_are_those_of_one_app(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="requests of a file are those of one app"):
        wanted_of(options("hello", "wordpress", requests=RequestOptions(from_log=tmp_path / "access.log")), Console(quiet=True))


def test_without_a_name_builds_stand_in_for_the_newest_php_fpm() -> None:
    assert foundation_of(BuildSourceOptions()).like == ""
    assert foundation_of(BuildSourceOptions(like="php-fpm8.2")).like == "php-fpm8.2"


def test_a_build_without_a_recipe_is_by_a_profile() -> None:
    assert wanted_of(options("hello"), Console(quiet=True)).recipe.name == RECIPE


def test_extensions_are_given_by_their_places() -> None:
    build_source = BuildSourceOptions(standalone=True, with_extension=("apcu=apcu-5.1.24.tgz",))
    assert foundation_of(build_source).added == (("apcu", Path("apcu-5.1.24.tgz").absolute()),)
    with pytest.raises(UsageError, match="this is not NAME=PATH"):
        foundation_of(BuildSourceOptions(standalone=True, with_extension=("apcu",)))


@pytest.mark.parametrize("listed", [True, False])
def test_names_from_outside_are_no_markup_and_obeyed_by_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, listed: bool
) -> None:
    teaching = Teaching("shop", "1", (), 15.0, 1, 1, "shop", requests="/var/log/[red]access\x1b[2J.log")
    wrong = (BuildCheck("a", ok=False, seen="\x1b"),)
    made = structs.replace(BUILD, lessons=(Lesson(teaching, 7, {}, 1),), skipped={"bolt": "\x1b[2J"}, checks=wrong)
    command._show([Listed(str(tmp_path / "\x1b[2J"), made)], as_json=False, listed=listed)
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[red]access�[2J.log" in "".join(said.split())
    assert "a: �\n" in said.replace(" \n", "\n")


@pytest.mark.parametrize("refused", [lambda path: foundation_of(BuildSourceOptions(source=path)), workflow.directory_for])
def test_a_home_directory_that_is_not_known_is_said(refused: Callable[[Path], object]) -> None:
    with pytest.raises(UsageError, match="the home directory in '~nobodyhere/x' is not known"):
        refused(Path("~nobodyhere/x"))
