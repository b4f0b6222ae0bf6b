"""What a worker of a build must show before the build may be used."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.build.training_stack import check_of_places, check_of_programs, checks_of, checks_of_traits, places_of
from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import BuildCheck
from phpdyno.php_build.compile.dropin import interpreter
from phpdyno.php_build.order import Expected
from phpdyno.servers.programs.php import Traits, traits_in
from tests.support.made_up.facts import PLAIN

CONTROL = structs.replace(PLAIN, extensions=("Core", "mbstring", "mysqli"), php_version="8.2.36")
DEBIAN, UPSTREAM = Traits(threads=False, timezones="0.system"), Traits(threads=False, timezones="2024.2")


def built(tmp_path: Path, *, opcache: bool = True) -> PhpBuild:
    (tmp_path / "extensions").mkdir()
    (tmp_path / "php-fpm").write_bytes(b"fake")
    if opcache:
        (tmp_path / "extensions" / "opcache.so").touch()
    return PhpBuild(str(tmp_path / "php-fpm"), "8.2.36", str(tmp_path / "extensions"))


def wrong(php: PhpBuild, compiled_in: tuple[str, ...] | None = None, **seen: object) -> set[str]:
    """Names of the checks that fail for a worker that shows what a right one shows, but for
    `seen`."""
    right = structs.replace(CONTROL, exe=php.fpm, opcache_so=f"{php.extension_dir}/opcache.so")
    return {each.name for each in checks_of(php, structs.replace(right, **seen), CONTROL, compiled_in=compiled_in) if not each.ok}


def test_a_drop_in_shows_what_its_control_shows(tmp_path: Path) -> None:
    php = built(tmp_path)
    assert wrong(php) == set()
    assert wrong(php, exe="/usr/bin/env") == {"program"}
    assert wrong(php, opcache_so="/usr/lib/php/20220829/opcache.so") == {"opcache"}
    assert wrong(php, php_version="8.2.32") == {"version"}
    assert wrong(php, extensions=("Core", "mbstring")) == {"extensions"}
    assert wrong(php, extensions=("Core", "mbstring", "mysqli", "xdebug")) == {"extensions"}


def test_opcache_may_be_compiled_in(tmp_path: Path) -> None:
    php = built(tmp_path, opcache=False)
    assert wrong(php, opcache_so="") == set()
    assert (
        checks_of(php, structs.replace(CONTROL, exe=php.fpm, opcache_so=""), CONTROL, compiled_in=None)[2].seen == "compiled in is mapped"
    )


def test_a_control_without_opcache_has_nothing_to_map_it_beside(tmp_path: Path) -> None:
    php = built(tmp_path)
    without = structs.replace(CONTROL, opcache_so="")
    for own, control, ok in (("", without, True), ("", CONTROL, False), ("/usr/lib/php/opcache.so", without, False)):
        facts = structs.replace(CONTROL, exe=php.fpm, opcache_so=own)
        found = next(each for each in checks_of(php, facts, control, compiled_in=None) if each.name == "opcache")
        assert found.ok is ok
    assert checks_of(php, structs.replace(without, exe=php.fpm), without, compiled_in=None)[2].seen == "none, as in the control, is mapped"


@pytest.mark.parametrize(("compiled_in", "fails"), [((), set()), (("mbstring",), set()), (("mbstring", "intl"), {"extensions"})])
def test_one_that_stands_alone_has_what_was_compiled_in(tmp_path: Path, compiled_in: tuple[str, ...], fails: set[str]) -> None:
    assert wrong(built(tmp_path), compiled_in, extensions=("Core", "mbstring")) == fails


def test_the_other_programs_load_the_same(tmp_path: Path) -> None:
    settings = {"php": built(tmp_path).fpm, "php.extension_dir": str(tmp_path / "extensions"), "php.ini": "none", "php.scan_dir": "none"}

    def program(name: str, *modules: str) -> None:
        listed = "\\n".join(("[PHP Modules]", *modules, "", "[Zend Modules]", "Zend OPcache"))
        given = '[ "$*" = "-d opcache.preload= -d extension_dir=' + str(tmp_path / "extensions") + ' -c /dev/null -m" ]'
        (tmp_path / name).write_text(f'#!/bin/sh\n{given} && [ "$PHP_INI_SCAN_DIR" = "" ] && printf "{listed}\\n"\n')
        (tmp_path / name).chmod(0o755)

    loaded = ("Core", "mbstring", "cgi-fcgi", "Zend OPcache")
    program("php", "Core", "mbstring", "pcntl")
    program("php-cgi", "Core", "mbstring", "cgi-fcgi")
    assert check_of_programs(settings, loaded) == BuildCheck("other programs", ok=True, seen="php and php-cgi load the same")
    program("php-cgi", "Core", "cgi-fcgi")
    assert check_of_programs(settings, loaded).seen == "php-cgi without mbstring"
    (tmp_path / "php").write_text("#!/bin/sh\nexit 127\n")
    found = check_of_programs(settings, loaded)
    assert not found.ok
    assert "php: this is not a working php: it names no extensions; php-cgi without mbstring" in found.seen


@pytest.mark.parametrize(
    ("php", "expected", "fails"),
    [
        (DEBIAN, Expected(as_packaged=True), set()),
        # Configured without what the distribution patches in, it differs by more than how it is
        # compiled.
        (UPSTREAM, Expected(as_packaged=True), {"time zones"}),
        (UPSTREAM, Expected(), set()),
        (structs.replace(UPSTREAM, threads=True), Expected((), threads=True), set()),
        (UPSTREAM, Expected((), threads=True), {"threads"}),
        (structs.replace(DEBIAN, threads=True), Expected(as_packaged=True), {"threads"}),
    ],
)
def test_what_a_build_says_that_it_is_is_what_was_ordered(php: Traits, expected: Expected, fails: set[str]) -> None:
    assert {each.name for each in checks_of_traits(php, DEBIAN, expected) if not each.ok} == fails


def test_which_database_of_time_zones_a_build_has_is_said_beside_the_controls() -> None:
    _, zones = checks_of_traits(UPSTREAM, DEBIAN, Expected())
    assert zones.seen == "a database of its own (2024.2); the system's database in the control"
    assert checks_of_traits(DEBIAN, DEBIAN, Expected())[1].seen == "the system's database"


def test_a_place_that_only_the_control_knows_is_told_by_a_package() -> None:
    values = {
        "session.save_path": "/var/lib/php/sessions",
        "include_path": ".:/usr/share/php",
        "mysqli.default_socket": "/run/mysqld.sock",
        "extension_dir": "/usr/lib/php/20220829",
        "apc.serializer": "php",
        "precision": "14",
        "zip.of_the_control": "/only/there",
        "highlight.html": '<font style="color: #000000">#000000</font>',
        "redis.session.save_path": "tcp://127.0.0.1:6379",
    }
    control = structs.replace(DEBIAN, values=values)
    own = {
        "session.save_path": "",
        "include_path": ".:/usr/local/lib/php",
        "mysqli.default_socket": "",
        "precision": "17",
        "highlight.html": "#000000",
        "redis.session.save_path": "",
    }
    php = structs.replace(UPSTREAM, values={**own, "extension_dir": "/build/extensions", "apc.serializer": ""})
    found = places_of(
        php, control, set_in=["session.save_path =\n; mysqli.default_socket is\n  mysqli.default_socket = /run/mysqld.sock\n"]
    )
    assert found == {"session.save_path": "/var/lib/php/sessions", "include_path": ".:/usr/share/php"}
    assert check_of_places(found) == BuildCheck(
        "places",
        ok=True,
        seen="compiled into the control alone, told by a package: "
        "session.save_path is /var/lib/php/sessions, include_path is .:/usr/share/php",
    )
    assert check_of_places(places_of(control, control)).seen == "as in the control"


def test_traits_are_read_from_what_php_prints() -> None:
    printed = "session.save_path => no value => no value\ninclude_path => .:/a => b => .:/a => b\n"
    assert traits_in(printed).values == {"session.save_path": "", "include_path": ".:/a"}
    said = 'PHP Version => 8.2.36\nThread Safety => enabled\nThread API => POSIX Threads\n"Olson" Timezone Database Version => 2025.2\n'
    assert traits_in(said) == Traits(threads=True, timezones="2025.2")
    assert traits_in("Thread Safety => disabled\n") == Traits(threads=False, timezones="")


def test_the_interpreter_is_the_one_that_gcc_makes_where_it_is_known() -> None:
    assert [interpreter(kind, "x86_64").ok for kind in ("HYBRID", "TAILCALL", "CALL")] == [True, True, False]
    assert interpreter("CALL", "riscv64").ok
