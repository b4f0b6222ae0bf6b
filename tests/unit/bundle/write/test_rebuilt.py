"""A build among what was adopted: a package deploys it, and the bundle's files are for that one."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.commands import commands_after, follow_of
from phpdyno.bundle.apply.tree import TargetTree
from phpdyno.bundle.manifest import PhpPlace
from phpdyno.bundle.write.rebuilt import Rebuilt
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import UsageError
from phpdyno.model.build import Build
from tests.support.made_up.builds import BUILD
from tests.support.made_up.bundles import FPM, JIT, PHP, bundle

PGO = structs.replace(BUILD, name="pgo-1a2b3c4d", recipe=parse_recipe("pgo"))
RUN_BY = {"php": "/cache/pgo/php-fpm", "php.extension_dir": "/cache/pgo/extensions"}
VARIABLE = {"env.USE_ZEND_ALLOC_HUGE_PAGES": "1"}
CONFIGURATION = "/etc/php/8.2/fpm/php-fpm.conf"
HOME = "/usr/lib/phpdyno/phpdyno-php8.2-pgo"


def test_a_drop_in_is_packaged_installed_and_switched_to_before_the_files_are_placed(tmp_path: Path) -> None:
    made = bundle(tmp_path, settings={**JIT, **VARIABLE, **RUN_BY}, rebuilt=Rebuilt(PGO, RUN_BY))
    (todo,) = made.manifest.by_hand
    assert (todo.setting, todo.value) == ("build", "pgo-1a2b3c4d")
    order = [
        "`phpdyno build pgo-1a2b3c4d --package .`",
        "`apt install ./phpdyno-php8.2-pgo_8.2.36-1+phpdyno20260102030405_*.deb`",
        "`systemctl disable --now php8.2-fpm && systemctl enable --now phpdyno-php8.2-pgo`",
    ]
    assert [todo.todo.index(each) for each in order] == sorted(todo.todo.index(each) for each in order)
    readme = (made.directory / "README.md").read_text()
    assert readme.index("before all else, where it was measured") < readme.index("phpdyno bundle apply bundle")


def test_files_commands_and_proofs_are_those_of_the_package(tmp_path: Path) -> None:
    manifest = bundle(tmp_path, settings={**JIT, **VARIABLE, **RUN_BY}, rebuilt=Rebuilt(PGO, RUN_BY)).manifest
    assert manifest.settings == {"php": f"{HOME}/php-fpm", **JIT, **VARIABLE}
    assert {name for each in manifest.files for name in each.settings} == {*JIT, *VARIABLE}
    targets = {each.kind: each.target for each in manifest.files}
    assert targets["systemd"] == "/etc/systemd/system/phpdyno-php8.2-pgo.service.d/phpdyno.conf"
    assert targets["ini"] == "/etc/php/8.2/fpm/conf.d/99-phpdyno.ini"
    assert commands_after(follow_of(manifest)) == ("systemctl daemon-reload", "systemctl restart phpdyno-php8.2-pgo")
    assert manifest.php.executable == f"{HOME}/php-fpm"
    assert manifest.php.options == ("-d", f"extension_dir={HOME}/extensions", "-y", CONFIGURATION)
    assert manifest.before_all_else == manifest.by_hand[0].todo


def test_the_service_of_a_combined_recipe_has_a_name_that_systemd_takes(tmp_path: Path) -> None:
    bolted = structs.replace(PGO, name="pgo+bolt-1a2b3c4d", recipe=parse_recipe("pgo+bolt"))
    made = bundle(tmp_path, settings={**JIT, **VARIABLE, **RUN_BY}, rebuilt=Rebuilt(bolted, RUN_BY))
    assert made.manifest.php.unit == "phpdyno-php8.2-pgo-bolt"
    assert "/etc/systemd/system/phpdyno-php8.2-pgo-bolt.service.d/phpdyno.conf" in [each.target for each in made.manifest.files]
    assert commands_after(follow_of(made.manifest))[-1] == "systemctl restart phpdyno-php8.2-pgo-bolt"
    (todo,) = made.manifest.by_hand
    assert "systemctl enable --now phpdyno-php8.2-pgo-bolt`" in todo.todo
    assert "apt install ./phpdyno-php8.2-pgo+bolt_" in todo.todo


def test_one_that_stands_alone_reads_its_own_directory_of_ini_files(tmp_path: Path) -> None:
    alone = structs.replace(PGO, alone=True, ini="/etc/php/8.2/fpm/php.ini")
    run_by = {**RUN_BY, "php.ini": alone.ini, "php.scan_dir": "none", "ext.opcache": "/cache/pgo/extensions/opcache.so"}
    manifest = bundle(tmp_path, settings={**JIT, **run_by}, rebuilt=Rebuilt(alone, run_by)).manifest
    assert [each.target for each in manifest.files if each.kind == "ini"] == [f"{HOME}-standalone/ini/99-phpdyno.ini"]
    assert (manifest.php.scan_dir, manifest.php.options) == (f"{HOME}-standalone/ini", ("-c", alone.ini, "-y", CONFIGURATION))
    assert manifest.settings == {"php": f"{HOME}-standalone/php-fpm", **JIT}


def test_what_the_package_is_told_of_the_distribution_is_read_when_its_configuration_is_asked_for(tmp_path: Path) -> None:
    found = []
    for build in (PGO, structs.replace(PGO, alone=True)):
        told = structs.replace(build, places={"include_path": ".:/usr/share/php"})
        found.append(bundle(tmp_path / str(build.alone), settings={**JIT, **RUN_BY}, rebuilt=Rebuilt(told, RUN_BY)).manifest.php.scan_dir)
    assert found == [f"{HOME}/places:", f"{HOME}-standalone/places:{HOME}-standalone/ini"]


def test_what_is_for_measuring_only_is_left_and_the_rest_is_for_the_php_that_is_there(tmp_path: Path) -> None:
    older = structs.replace(PGO, measuring_only=True, php_version="8.2.30")
    manifest = bundle(tmp_path, settings={**JIT, **RUN_BY}, rebuilt=Rebuilt(older, RUN_BY)).manifest
    (todo,) = manifest.by_hand
    assert todo.todo.startswith("leave it, and what it brings is not to be had: PHP 8.2.30 is not the installed one")
    assert "package" not in todo.todo
    assert not manifest.before_all_else
    assert (manifest.settings, manifest.php.executable, manifest.php.unit) == (JIT, FPM, "php8.2-fpm")


@pytest.mark.parametrize(
    ("build", "php"),
    [
        (structs.replace(PGO, like="/opt/php/sbin/php-fpm"), PHP),
        (PGO, structs.replace(PHP, options=("-y", "/srv/fpm.conf"))),
        (PGO, structs.replace(PHP, config="/srv/fpm.conf")),
        (PGO, structs.replace(PHP, defined=("memory_limit",))),
        (PGO, structs.replace(PHP, scan_dir="/srv/conf.d")),
    ],
)
def test_where_no_package_serves_the_site_the_build_is_left_to_whoever_starts_php_fpm(tmp_path: Path, build: Build, php: PhpPlace) -> None:
    manifest = bundle(tmp_path, php=php, settings={**JIT, **RUN_BY}, rebuilt=Rebuilt(build, RUN_BY)).manifest
    assert (manifest.php, manifest.settings) == (php, JIT)
    assert "start this one" in manifest.by_hand[0].todo
    assert "php=/cache/pgo/php-fpm extension_dir=/cache/pgo/extensions" in manifest.by_hand[0].todo


def test_the_distributions_own_command_line_is_no_obstacle(tmp_path: Path) -> None:
    php = structs.replace(PHP, options=("--fpm-config", CONFIGURATION), live="php8.2/www")
    manifest = bundle(tmp_path, php=php, settings={**JIT, **RUN_BY}, rebuilt=Rebuilt(PGO, RUN_BY)).manifest
    assert manifest.php.unit == "phpdyno-php8.2-pgo"


def test_apply_says_that_the_package_comes_first(tmp_path: Path) -> None:
    made = bundle(tmp_path, settings={**JIT, **RUN_BY}, rebuilt=Rebuilt(PGO, RUN_BY))
    # A host may have this very package, so its program is looked for where nobody has one.
    absent, manifest = str(tmp_path / "php-fpm"), made.manifest
    manifest = structs.replace(
        manifest, php=structs.replace(manifest.php, executable=absent), settings={**manifest.settings, "php": absent}
    )
    with pytest.raises(UsageError, match="phpdyno build pgo-1a2b3c4d --package"):
        Checker(structs.replace(made, manifest=manifest), TargetTree(Path("/"))).refuse_other_php()
