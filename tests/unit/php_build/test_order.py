"""What each step of a build is kept by: all that it depends on, and nothing else."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.config.recipe import parse_recipe
from phpdyno.model.build import Origin, Teaching
from phpdyno.php_build.order import BuildOrder, BuildSource, Expected
from phpdyno.php_build.source.added_extensions import Added
from phpdyno.php_build.workshop import digest_of

WORDPRESS = Teaching("wordpress", "6.1", (("/", 3.0), ("/feed/", 1.0)), 15.0, 500, 1, "wordpress")
HELLO = Teaching("hello", "1", (("/", 1.0),), 15.0, 500, 1, "hello", weight=2.0)
STEPS = ("tree", "trainee", "profiles", "compiled", "finished")
GROUND = BuildSource(
    origin=Origin("debian", "8.2.36-1", "c0de", "php8.2"),
    source=Path("/cache/source"),
    version="8.2.36",
    options=("--enable-fpm",),
    like="/usr/sbin/php-fpm8.2",
    stock={"php": "/usr/sbin/php-fpm8.2"},
    theirs=Path("/usr/lib/php/20220829"),
)

UPGRADED = structs.replace(GROUND, package="php8.2-fpm", package_version="8.2.36-1+deb12u2")


def order(recipe: str, *teachings: Teaching, build_source: BuildSource = GROUND) -> BuildOrder:
    return BuildOrder(parse_recipe(recipe), build_source, "12.2.0", teachings or (WORDPRESS,))


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        # The profile is taken before link-time optimisation and BOLT, so all three have one.
        (order("pgo"), order("pgo+lto+bolt"), {"tree", "trainee", "profiles"}),
        (order("pgo"), order("pgo+o3"), {"tree"}),
        # It is examined on the app's own stack, whatever trained it.
        (order("o2"), order("o2", HELLO), {"tree", "trainee", "compiled"}),
        (order("pgo+bolt"), structs.replace(order("pgo+bolt"), bolt="llvm-20"), {"tree", "trainee", "profiles", "compiled"}),
        (order("pgo"), order("pgo", HELLO), {"tree", "trainee"}),
        (order("bolt"), order("bolt", HELLO), {"tree", "trainee", "compiled"}),
        (order("pgo", WORDPRESS, HELLO), order("pgo", WORDPRESS, structs.replace(HELLO, weight=3.0)), {"tree", "trainee"}),
        (order("pgo"), structs.replace(order("pgo"), compiler="13.1.0"), set()),
        # The same march=native on another processor.
        (order("march=native+pgo"), structs.replace(order("march=native+pgo"), machine="znver3, 1a2b3c4d"), {"tree"}),
        (order("pgo"), order("pgo", build_source=structs.replace(GROUND, theirs=None)), {"tree", "trainee", "profiles", "compiled"}),
        (order("pgo"), order("pgo", build_source=structs.replace(GROUND, added=(Added("apcu", Path("/apcu"), "1"),))), set()),
        # Which file the targets are from is no matter to the profile, and is in the record.
        (
            order("pgo"),
            order("pgo", structs.replace(WORDPRESS, requests="/var/log/access.log")),
            {"tree", "trainee", "profiles", "compiled"},
        ),
        # What is not trained is examined with other targets, and says so.
        (order("o2"), order("o2", structs.replace(WORDPRESS, targets=(("/", 1.0),))), {"tree", "trainee", "compiled"}),
        (order("o2"), order("o2", structs.replace(WORDPRESS, version="6.2")), {"tree", "trainee", "compiled"}),
        (order("o2"), order("o2", structs.replace(WORDPRESS, seconds=3.0)), {"tree", "trainee", "compiled", "finished"}),
        # An extension that was installed since is linked, and nothing is compiled for it.
        (
            order("pgo"),
            order("pgo", build_source=structs.replace(GROUND, modules=("redis.so",))),
            {"tree", "trainee", "profiles", "compiled"},
        ),
        # The same targets by name, and other cookies.
        (order("pgo"), order("pgo", structs.replace(WORDPRESS, traffic="1a2b")), {"tree", "trainee"}),
        # It lies beside another revision of the package, and is compiled as it was.
        (order("pgo"), order("pgo", build_source=UPGRADED), {"tree", "trainee", "profiles", "compiled"}),
        (order("pgo+bolt"), order("pgo+bolt").without({"bolt": "it failed"}), {"tree", "trainee", "profiles", "compiled"}),
        (order("pgo+bolt").without({"bolt": "it failed"}), order("pgo+bolt").without({"bolt": "it crashed"}), set(STEPS)),
    ],
)
def test_a_step_is_made_anew_when_what_it_depends_on_changes(one: BuildOrder, other: BuildOrder, shared: set[str]) -> None:
    assert {name for name in STEPS if digest_of(getattr(one, name)) == digest_of(getattr(other, name))} == shared


def test_one_app_is_trained_once_whatever_it_weighs_beside_others() -> None:
    made = order("pgo", WORDPRESS, HELLO)
    alone = order("pgo", structs.replace(HELLO, weight=1.0))
    assert digest_of(made.profile(HELLO)) == digest_of(alone.profile(alone.teachings[0]))
    assert digest_of(made.profile(HELLO)) != digest_of(made.profile(WORDPRESS))


def test_a_build_is_named_after_its_recipe_and_all_it_is_made_of() -> None:
    assert order("pgo+bolt").name.startswith("pgo+bolt-")
    assert order("pgo").name != order("pgo", HELLO).name
    assert order("o2").name != order("o2", HELLO).name
    assert order("pgo+bolt").without({"bolt": "it failed"}).name.endswith("-without-bolt")


def test_a_drop_in_reads_the_distributions_ini_files_and_one_that_stands_alone_none_but_its_own(tmp_path: Path) -> None:
    assert GROUND.settings(tmp_path) == {"php": f"{tmp_path}/php-fpm", "php.extension_dir": f"{tmp_path}/extensions"}
    (tmp_path / "extensions").mkdir()
    (tmp_path / "conf.d").mkdir()
    alone = structs.replace(GROUND, theirs=None, ini=f"{tmp_path}/php.ini")
    settings = {
        "php": f"{tmp_path}/php-fpm",
        "php.extension_dir": f"{tmp_path}/extensions",
        "php.ini": f"{tmp_path}/php.ini",
        "php.scan_dir": "none",
    }
    assert alone.settings(tmp_path) == settings
    (tmp_path / "conf.d" / "99-own.ini").touch()
    assert alone.settings(tmp_path) == {**settings, "php.settings_dir": f"{tmp_path}/conf.d"}
    (tmp_path / "extensions" / "opcache.so").touch()
    assert alone.settings(tmp_path)["ext.opcache"] == f"{tmp_path}/extensions/opcache.so"
    assert structs.replace(alone, ini="").settings(tmp_path)["php.ini"] == "none"


def test_what_a_build_must_show_is_what_its_ground_says() -> None:
    assert GROUND.expected == Expected(None, threads=False, as_packaged=True)
    alone = structs.replace(GROUND, theirs=None, extensions=("mbstring",), options=("--enable-fpm", "--enable-zts"))
    assert alone.expected == Expected(("mbstring",), threads=True, as_packaged=False)
    given = structs.replace(GROUND, origin=Origin("archive", "8.2.36", "c0de"))
    assert not given.expected.as_packaged
