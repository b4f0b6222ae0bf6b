"""Builds as SPECs name them, and those that a tune tries."""

import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.build.builder import Trainee, parse_trainee
from phpdyno.commands.tune.builds import build_candidates, fitting_builds, rebuilt_in
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.build import Build, Lesson, Teaching
from phpdyno.php_build.source import installed
from phpdyno.php_build.workshop import Workshop, write_build
from phpdyno.session.builds import place_of_build, without_build
from tests.support.made_up.builds import BUILD
from tests.unit.php_build.test_workshop import silent

CONTROL = Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36"))
PGO = structs.replace(BUILD, name="pgo-old", made="2026-01-01")
NEWER = structs.replace(BUILD, name="pgo-new", made="2026-01-02")
O3 = structs.replace(BUILD, name="o3-1", recipe=parse_recipe("o3"))
PAIR = structs.replace(
    BUILD, name="pgo-pair", like="/cache/pair/php-fpm8.2", stock={"php": "/cache/pair/php-fpm8.2", "php.extension_dir": "/x"}
)
ALONE = structs.replace(BUILD, name="pgo-alone", alone=True)
OTHER_VERSION = structs.replace(BUILD, name="lto-1", recipe=parse_recipe("lto"), php_version="8.2.30")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHPDYNO_CACHE", str(tmp_path))
    return tmp_path


def keep(cache: Path, *builds: Build) -> None:
    for build in builds:
        place = Workshop(cache, silent).home / "finished" / build.name
        place.mkdir(parents=True)
        write_build(place, build)
        (place / "php-fpm").touch()


def test_a_build_is_named_by_itself_or_by_its_recipe_for_the_newest(cache: Path) -> None:
    keep(cache, NEWER, PGO, PAIR)
    home = cache / "builds" / "finished"
    assert place_of_build("pgo-old")["php"] == f"{home}/pgo-old/php-fpm"
    assert place_of_build("pgo")["php"] == f"{home}/pgo-pair/php-fpm"
    assert place_of_build("pgo-pair/stock") == {"php": "/cache/pair/php-fpm8.2", "php.extension_dir": "/x"}
    assert place_of_build("pgo-new/stock") == {"php": "/usr/sbin/php-fpm8.2"}
    with pytest.raises(UsageError, match="there is no build 'pgo-odl'") as caught:
        place_of_build("pgo-odl")
    assert "pgo-old" in str(caught.value)


def test_a_drop_in_of_a_newer_source_stands_in_for_the_php_whose_extensions_it_loads(cache: Path) -> None:
    keep(cache, structs.replace(BUILD, name="pgo-newer", php_version="8.2.40", beside="8.2.36"))
    assert fitting_builds(CONTROL, "wordpress") == ("pgo-newer",)


def test_an_older_php_that_stands_alone_is_nothing_to_adopt(cache: Path) -> None:
    keep(cache, structs.replace(BUILD, name="pgo-alone", alone=True, measuring_only=True, php_version="8.2.30"), O3)
    assert fitting_builds(CONTROL, "wordpress") == ("o3-1",)


def test_one_that_stands_alone_is_nothing_to_adopt_once_a_newer_php_is_installed(cache: Path) -> None:
    alone = structs.replace(BUILD, name="pgo-alone", alone=True, php_version="8.2.36")
    keep(cache, alone, structs.replace(O3, php_version="8.2.37", beside="8.2.37"))
    assert fitting_builds(CONTROL, "wordpress") == ("pgo-alone",)
    assert fitting_builds(Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.37")), "wordpress") == ("o3-1",)


def test_one_whose_package_was_upgraded_since_is_nothing_to_adopt_though_php_kept_its_version(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = structs.replace(O3, package="php8.2-fpm", package_version="8.2.36-1~deb12u2")
    keep(cache, kept, *(structs.replace(each, package="php8.2-fpm", package_version="8.2.36-1~deb12u1") for each in (NEWER, ALONE)))
    answer = subprocess.CompletedProcess([], 0, b"8.2.36-1~deb12u2", b"")
    monkeypatch.setattr(installed, "told", lambda _: answer)
    assert fitting_builds(CONTROL, "wordpress") == ("o3-1",)


def test_one_that_was_made_before_an_extension_was_installed_has_less_to_start(cache: Path) -> None:
    keep(cache, NEWER, O3)
    theirs = cache / "theirs"
    for name in ("mbstring.so", "redis.so"):
        (theirs / name).parent.mkdir(exist_ok=True)
        (theirs / name).touch()
    for build, names in ((NEWER, ("mbstring.so",)), (O3, ("mbstring.so", "redis.so"))):
        own = Workshop(cache, silent).home / "finished" / build.name / "extensions"
        own.mkdir()
        for name in names:
            (own / name).symlink_to(theirs / name)
    assert fitting_builds(CONTROL, "wordpress") == ("o3-1",)


def test_the_newest_is_so_wherever_the_clock_stood(cache: Path) -> None:
    first, second = (structs.replace(BUILD, name=made, made=made) for made in ("2026-10-25T02:50:00+0200", "2026-10-25T02:10:00+0100"))
    keep(cache, first, second)
    assert Path(place_of_build("pgo")["php"]).parent.name == second.name


def test_a_recipe_names_what_is_without_one_of_its_steps_only_where_nothing_else_is_there(cache: Path) -> None:
    whole = structs.replace(BUILD, name="bolt-1", recipe=parse_recipe("bolt"), made="2026-01-01")
    less = structs.replace(whole, name="bolt-2-without-bolt", made="2026-01-02", skipped={"bolt": "it crashed"})
    keep(cache, less)
    assert Path(place_of_build("bolt")["php"]).parent.name == less.name
    assert fitting_builds(CONTROL, "wordpress") == (less.name,)
    keep(cache, whole)
    assert Path(place_of_build("bolt")["php"]).parent.name == "bolt-1"
    assert fitting_builds(CONTROL, "wordpress") == ("bolt-1",)


def test_of_builds_without_a_profile_that_is_tried_which_was_examined_on_the_app(cache: Path) -> None:
    examined = [Teaching(app, "1", (("/", 1.0),), 15.0, 500, 1, app) for app in ("wordpress", "hello")]
    of_wordpress, of_hello = (structs.replace(O3, name=f"o3-{each.app}", made=each.app, examined=(each,)) for each in examined)
    keep(cache, of_wordpress, of_hello, structs.replace(O3, made="z"))
    assert fitting_builds(CONTROL, "wordpress") == ("o3-wordpress",)
    assert fitting_builds(CONTROL, "hello") == ("o3-hello",)
    assert fitting_builds(CONTROL, "mediawiki") == ("o3-1",)


def test_the_build_that_settings_run_is_found_again(cache: Path) -> None:
    keep(cache, PGO, NEWER)
    settings = {"ini.opcache.jit": "tracing", **place_of_build("pgo-old")}
    found = rebuilt_in(settings)
    assert found is not None
    assert (found.build.name, found.settings) == ("pgo-old", place_of_build("pgo-old"))
    assert rebuilt_in({"php": "/usr/sbin/php-fpm8.2"}) is None


def test_a_tune_tries_the_newest_of_each_recipe_that_stands_in_for_its_control(cache: Path) -> None:
    keep(cache, PGO, NEWER, O3, PAIR, OTHER_VERSION)
    assert set(fitting_builds(CONTROL, "wordpress")) == {"o3-1", "pgo-new"}
    found = build_candidates(("pgo-new", "o3-1"))
    assert [each.name for each in found] == ["build=pgo-new", "build=o3-1"]
    assert all(each.settings["php"].endswith("/php-fpm") for each in found)


def test_what_has_learnt_most_is_tried_first_and_what_lost_its_program_not_at_all(cache: Path) -> None:
    less = structs.replace(BUILD, name="bolt-1-without-bolt", recipe=parse_recipe("bolt"), skipped={"bolt": "it crashed"})
    bolted, lost = (structs.replace(BUILD, name=f"{text}-1", recipe=parse_recipe(text)) for text in ("pgo+bolt", "lto"))
    keep(cache, less, O3, NEWER, bolted, lost)
    (cache / "builds" / "finished" / lost.name / "php-fpm").unlink()
    assert fitting_builds(CONTROL, "wordpress") == (bolted.name, NEWER.name, O3.name, less.name)


@pytest.mark.parametrize("control", ["pgo-new", "pgo-alone", "pgo-pair/stock"])
def test_another_php_has_nothing_of_the_build_that_the_control_is(cache: Path, control: str) -> None:
    keep(cache, NEWER, structs.replace(ALONE, ini="/etc/php.ini"), PAIR)
    base = {**place_of_build(control), "ini.opcache.jit": "tracing", "ext.apcu": "/mine/apcu.so"}
    own = {"ini.opcache.jit": "tracing", "ext.apcu": "/mine/apcu.so"}
    assert without_build(base, {"php": "/usr/sbin/php-fpm8.2"}) == own
    assert without_build(base, {"ini.opcache.jit": "off"}) == base
    assert without_build(base, {"php": base["php"]}) == base
    assert without_build({**own, "php": "/mine/php-fpm", "php.ini": "/mine.ini"}, {"php": "/usr/sbin/php-fpm8.2"})["php.ini"] == "/mine.ini"


def test_a_drop_in_and_one_that_stands_alone_are_both_tried(cache: Path) -> None:
    alone = structs.replace(BUILD, name="pgo-alone", alone=True, php_version="8.2.36", made="2026-02-01")
    keep(cache, NEWER, alone)
    assert set(fitting_builds(CONTROL, "wordpress")) == {"pgo-new", "pgo-alone"}


def test_a_tune_prefers_what_its_own_app_has_trained(cache: Path) -> None:
    def taught(name: str, made: str, *apps: str) -> Build:
        lessons = tuple(Lesson(Teaching(app, "1", (("/", 1.0),), 15.0, 500, 1, app), 500, {"/": 500}, 400) for app in apps)
        return structs.replace(BUILD, name=name, made=made, lessons=lessons)

    keep(
        cache,
        taught("own", "2026-01-01", "wordpress"),
        taught("both", "2026-01-02", "wordpress", "hello"),
        taught("other", "2026-01-03", "hello"),
    )
    assert fitting_builds(CONTROL, "wordpress") == ("own",)
    assert fitting_builds(CONTROL, "hello") == ("other",)
    assert fitting_builds(CONTROL, "mediawiki") == ("other",)


def test_a_tune_without_a_fitting_build_says_how_to_make_one_or_what_control_those_have_that_are_there(cache: Path) -> None:
    keep(cache, OTHER_VERSION)
    with pytest.raises(UsageError, match=r"no build that stands in for /usr/sbin/php-fpm8.2; make one with: phpdyno build"):
        fitting_builds(CONTROL, "wordpress")
    keep(cache, structs.replace(PAIR, measuring_only=True))
    with pytest.raises(UsageError, match=r"pgo-pair stands beside .* own version; begin with those: --control build=pgo-pair/stock"):
        fitting_builds(CONTROL, "wordpress")


@pytest.mark.parametrize(
    ("text", "trainee"),
    [("wordpress", Trainee("wordpress")), ("wordpress=3", Trainee("wordpress", 3.0)), ("apps/a=b/app.toml", Trainee("apps/a=b/app.toml"))],
)
def test_an_app_that_trains_may_have_a_weight(text: str, trainee: Trainee) -> None:
    assert parse_trainee(text) == trainee


@pytest.mark.parametrize("weight", ["0", "-1", "0.5", "2.5", "1001", "inf", "nan"])
def test_a_weight_is_a_whole_number_as_profiles_are_added_up_so_many_times(weight: str) -> None:
    with pytest.raises(UsageError, match=rf"hello={weight}: an app weighs a whole number from 1 to 1000, and this is {weight}"):
        parse_trainee(f"hello={weight}")
