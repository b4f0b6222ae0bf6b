"""The package's texts; the start script is run, with php-fpm's own place taken by scripts that say
what they are."""

import os
import re
import stat
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs

from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.model.build import Build, Origin, Teaching
from phpdyno.php_build.package.debian import make_package
from phpdyno.php_build.package.naming import HOME, package_name, unit_name
from phpdyno.php_build.package.texts import Contents, package_texts
from phpdyno.php_build.rungs import RUNGS
from phpdyno.php_build.source.versions import is_below
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.made_up.builds import BUILD

AMD64 = Contents("amd64")
BOLTED = structs.replace(BUILD, recipe=parse_recipe("pgo+bolt"))
UNIT = re.compile(r"[A-Za-z0-9:_.-]+")
"""What systemd takes as the name of a service; it takes a backslash too, which nobody wants to
type."""
NEWER = structs.replace(BUILD, php_version="8.2.40", beside="8.2.36", origin=Origin("git", "deadbeef0123", "c0de"))
OF_LOG = structs.replace(BUILD, examined=(Teaching("shop", "1", (("/", 1.0),), 15.0, 500, 1, "shop", requests="/logs/access.log"),))
ALONE_8_2 = structs.replace(BUILD, alone=True, ini="/etc/php/8.2/fpm/php.ini")
ALONE = structs.replace(ALONE_8_2, options=("--enable-fpm",), php_version="8.4.24", origin=Origin("archive", "8.4.24", "c0de"))


def told_places(build: Build) -> Build:
    """One of another source than the distribution's."""
    return structs.replace(build, places={"session.save_path": "/var/lib/php/sessions", "include_path": ".:/usr/share/php"})


def test_a_package_is_named_after_php_and_recipe() -> None:
    assert package_name(BUILD) == "phpdyno-php8.2-pgo"
    assert package_name(structs.replace(BUILD, recipe=parse_recipe("o3+march=x86-64-v3+lto"))) == "phpdyno-php8.2-o3+march-x86-64-v3+lto"


@pytest.mark.parametrize("recipe", [*RUNGS, "o3+march=x86-64-v3+lto"])
def test_a_unit_has_a_name_that_systemd_takes_wherever_it_is_named(recipe: str) -> None:
    build = structs.replace(BUILD, recipe=parse_recipe(recipe))
    name, texts = unit_name(build), package_texts(build, AMD64)
    assert UNIT.fullmatch(name)
    assert [path for path in texts if path.endswith(".service")] == [f"usr/lib/systemd/system/{name}.service"]
    named = re.findall(r"(phpdyno-php\S+)\.service", texts["DEBIAN/postinst"] + texts["DEBIAN/prerm"])
    assert set(named) == {name}
    readme = texts[f"usr/share/doc/{package_name(build)}/README"]
    assert f"systemctl enable --now {name}\n" in readme
    assert f"apt remove {package_name(build)}\n" in readme


def test_a_package_says_which_step_of_its_recipe_did_not_come_off() -> None:
    texts = package_texts(structs.replace(BOLTED, skipped={"bolt": "BOLT is not installed"}), AMD64)
    assert "Package: phpdyno-php8.2-pgo+bolt-without-bolt\n" in texts["DEBIAN/control"]
    assert "rebuilt (pgo+bolt without bolt)\n" in texts["DEBIAN/control"]
    unit = texts["usr/lib/systemd/system/phpdyno-php8.2-pgo-bolt-without-bolt.service"]
    assert "(pgo+bolt without bolt)\n" in unit
    assert "(pgo+bolt without bolt)" in texts["usr/share/doc/phpdyno-php8.2-pgo+bolt-without-bolt/README"]


@pytest.mark.parametrize(
    ("build", "command"),
    [
        (BUILD, "/usr/lib/phpdyno/phpdyno-php8.2-pgo/php -d extension_dir=/usr/lib/phpdyno/phpdyno-php8.2-pgo/extensions -m\n"),
        (ALONE_8_2, "PHP_INI_SCAN_DIR={home}/ini {home}/php -m\n".format(home="/usr/lib/phpdyno/phpdyno-php8.2-pgo-standalone")),
    ],
)
def test_the_readme_says_how_the_command_line_of_a_build_is_run(build: Build, command: str) -> None:
    assert command in package_texts(build, AMD64)[f"usr/share/doc/{package_name(build)}/README"]


@pytest.mark.parametrize(
    ("build", "step"),
    [
        (BUILD, "phpdyno build --refresh --like php-fpm8.2"),
        (OF_LOG, "phpdyno build --refresh --like php-fpm8.2"),
        (ALONE_8_2, "Build it anew with phpdyno build."),
    ],
)
def test_what_makes_it_anew_names_the_php_fpm_that_it_stands_in_for(build: Build, step: str) -> None:
    texts = package_texts(build, AMD64)
    assert step in texts[f"{HOME}/{package_name(build)}/start"]
    assert step in texts[f"usr/share/doc/{package_name(build)}/README"]


def test_what_is_for_measuring_only_is_never_packaged() -> None:
    with pytest.raises(DynoError, match="for measuring only"):
        package_texts(structs.replace(BUILD, measuring_only=True), AMD64)


def test_what_stands_beside_a_php_fpm_of_nobody_is_not_packaged() -> None:
    with pytest.raises(DynoError, match="/opt/php/sbin/php-fpm: only a build that stands beside"):
        package_texts(structs.replace(BUILD, like="/opt/php/sbin/php-fpm"), AMD64)


@pytest.mark.parametrize(
    ("origin", "version"),
    [
        (Origin("debian", "8.2.36-1~deb12u1", "c0de", "php8.2"), "8.2.36-1~deb12u1+phpdyno20260102030405"),
        # A commit may begin with a letter, which no version of a package does.
        (Origin("git", "deadbeef0123", "c0de"), "8.2.36+phpdyno20260102030405"),
    ],
)
def test_the_version_of_a_package_begins_with_that_of_its_source_package_or_else_of_php(origin: Origin, version: str) -> None:
    assert f"Version: {version}\n" in package_texts(structs.replace(BUILD, origin=origin), AMD64)["DEBIAN/control"]


def test_the_time_in_a_version_is_that_of_no_place() -> None:
    build = structs.replace(BUILD, made="2026-01-02T00:04:05-0300")
    assert "Version: 8.2.36-1+phpdyno20260102030405\n" in package_texts(build, AMD64)["DEBIAN/control"]


@pytest.mark.parametrize(("version", "other"), [("8.4.24-", "8.4.25"), ("8.4.24", "8.4.25 of mine")])
def test_what_dpkg_does_not_take_for_a_version_is_neither_below_nor_above(version: str, other: str) -> None:
    with pytest.raises(DynoError, match=rf"^{version}: dpkg does not compare this version with {other}: .*bad syntax") as caught:
        is_below(version, other)
    assert "\n" not in str(caught.value)


def test_a_package_tells_its_php_fpm_what_the_distributions_knows_by_itself() -> None:
    texts, name = package_texts(told_places(BUILD), AMD64), package_name(BUILD)
    place = f"{HOME}/{name}/places/places.ini"
    assert texts[place].splitlines()[1:] == ["include_path='.:/usr/share/php'", "session.save_path='/var/lib/php/sessions'"]
    said = "The distribution's php-fpm knows by itself: include_path, session.save_path. This one is told in"
    readme = f"usr/share/doc/{name}/README"
    assert f"{said} /{HOME}/{name}/places, where php.ini does not say.\n" in texts[readme]
    assert f"\nPHP_INI_SCAN_DIR=/{HOME}/{name}/places: /{HOME}/{name}/php -d extension_dir=" in texts[readme]
    assert f"RuntimeDirectory={name}\n" in texts[f"usr/lib/systemd/system/{name}.service"]
    # One of the distribution's own source knows all of it.
    untold = package_texts(BUILD, AMD64)
    assert place not in untold
    assert "knows by itself" not in untold[readme]


class FakePackager:
    """A supervisor whose dpkg-deb writes half of a package, and all of it where it does not
    fail."""

    def __init__(self, live: Path, *, fails: bool) -> None:
        self.live = live
        self._fails = fails

    def run(self, _: str, argv: list[str], **__: object) -> SimpleNamespace:
        failed = self._fails and argv[0] == "dpkg-deb"
        if argv[0] == "dpkg-deb":
            Path(argv[-1]).write_text("half" if failed else "whole")
        return SimpleNamespace(status=int(failed), tail=lambda _: "no space left", said=lambda: "shlibs:Depends=libc6", log="log")


@pytest.mark.parametrize(("fails", "left"), [(True, "older"), (False, "whole")])
def test_a_package_appears_whole_or_not_at_all(tmp_path: Path, left: str, *, fails: bool) -> None:
    for name in ("live", "build", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "build" / "php-fpm").touch()
    package = tmp_path / "out" / "phpdyno-php8.2-pgo_8.2.36-1+phpdyno20260102030405_amd64.deb"
    package.write_text("older")
    supervisor = cast(Supervisor, FakePackager(tmp_path / "live", fails=fails))
    with pytest.raises(DynoError, match="cannot be made: no space left") if fails else nullcontext():
        make_package(tmp_path / "build", BUILD, tmp_path / "out", supervisor, architecture="amd64")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {package.name: left}


def test_the_unit_excludes_the_distributions_and_the_readme_leads_back() -> None:
    texts = package_texts(BUILD, Contents("amd64", libraries="libc6 (>= 2.36)"))
    unit = texts["usr/lib/systemd/system/phpdyno-php8.2-pgo.service"]
    assert "Conflicts=php8.2-fpm.service" in unit
    assert "Type=notify\n" in unit
    assert "/etc/php/8.2/fpm/php-fpm.conf" in unit
    assert "systemctl enable --now php8.2-fpm" in texts["usr/share/doc/phpdyno-php8.2-pgo/README"]
    assert "Depends: php8.2-fpm, php8.2-opcache, libc6 (>= 2.36)\n" in texts["DEBIAN/control"]


def test_of_builds_that_would_listen_where_the_same_pools_say_one_is_installed() -> None:
    found = []
    for build in (BUILD, ALONE, structs.replace(BUILD, recipe=parse_recipe("pgo+bolt"))):
        control = package_texts(build, Contents("amd64"))["DEBIAN/control"]
        found.append([line for line in control.splitlines() if line.partition(":")[0] in {"Provides", "Conflicts", "Replaces"}])
    assert found == [[f"{word}: phpdyno-php8.2-fpm" for word in ("Provides", "Conflicts", "Replaces")]] * 3


def test_one_that_stands_alone_loads_its_own_modules_and_lies_beside_a_php_of_another_series() -> None:
    name = "phpdyno-php8.4-pgo-standalone"
    texts = package_texts(ALONE, Contents("amd64", loads={"opcache.so": "zend_extension", "apcu.so": "extension"}))
    assert "Depends: php8.2-fpm\n" in texts["DEBIAN/control"]
    ini = texts[f"{HOME}/{name}/ini/phpdyno.ini"]
    assert f"zend_extension=/{HOME}/{name}/extensions/opcache.so\nextension=/{HOME}/{name}/extensions/apcu.so\n" in ini
    assert "Conflicts=php8.2-fpm.service" in texts[f"usr/lib/systemd/system/{name}.service"]
    unit = f"usr/lib/systemd/system/{name}.service"
    assert "Type=exec\n" in texts[unit]
    ready = structs.replace(ALONE, options=BUILD.options)
    assert "Type=notify\n" in package_texts(ready, AMD64)[unit]
    readme = texts[f"usr/share/doc/{name}/README"]
    assert "reads /etc/php/8.2/fpm/php.ini. Of files in conf.d the settings\ncount" in readme
    assert "Nobody mends its holes but you" in readme


def test_what_is_not_released_yet_has_a_version_below_the_release() -> None:
    build = structs.replace(BUILD, php_version="8.5.0RC1", origin=Origin("folder", "8.5.0RC1", "c0de"))
    assert "Version: 8.5.0~RC1+phpdyno20260102030405\n" in package_texts(build, AMD64)["DEBIAN/control"]
    assert [is_below(version, "8.5.0") for version in ("8.5.0RC1", "8.5.0-dev", "8.4.9", "8.5.0", "8.5.1-dev")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("argv", "in_use", "asked"),
    [
        (("prerm", "upgrade", "2"), True, []),
        (
            ("prerm", "remove"),
            True,
            [
                "is-enabled --quiet OWN",
                "is-active --quiet OWN",
                "disable --now OWN",
                "enable php8.2-fpm.service",
                "start php8.2-fpm.service",
            ],
        ),
        (("prerm", "remove"), False, ["is-enabled --quiet OWN", "is-active --quiet OWN", "disable --now OWN"]),
        (("postinst", "configure", ""), True, ["daemon-reload"]),
        (("postinst", "configure", "1"), True, ["daemon-reload", "try-restart OWN"]),
    ],
)
def test_an_upgrade_goes_on_with_it_and_a_removal_leaves_the_distributions(
    tmp_path: Path, argv: tuple[str, ...], asked: list[str], *, in_use: bool
) -> None:
    text = package_texts(BOLTED, AMD64)[f"DEBIAN/{argv[0]}"].replace("/run/systemd/system", str(tmp_path))
    fake(tmp_path / "bin" / "systemctl", f'echo "$*" >> {tmp_path}/asked; case "$1" in is-*) {"true" if in_use else "false"};; esac')
    path = f"{tmp_path / 'bin'}:{os.defpath}"
    subprocess.run(["sh", "-c", text, *argv], check=True, env={"PATH": path})
    log = tmp_path / "asked"
    told = log.read_text().splitlines() if log.is_file() else []
    assert told == [each.replace("OWN", "phpdyno-php8.2-pgo-bolt.service") for each in asked]


def fake(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run_start(
    tmp_path: Path,
    build: Build,
    *argv: str,
    installed: str = "8.2.36",
    modules: str = "echo Core",
    theirs: str = "echo Core",
    running: str = "home/php-fpm",
    package: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run the start script beside a fake of the build's php-fpm, which does `modules` when it is
    asked, and one of the distribution's, which does `theirs`; `running` is the one that a reload is
    about. dpkg knows a `package` of this version, or none."""
    home, stock, name = tmp_path / "home", tmp_path / "stock", package_name(build)
    if build.places:
        (home / "places").mkdir(parents=True)
        (home / "places" / "places.ini").write_text(package_texts(build, AMD64)[f"{HOME}/{name}/places/places.ini"])
    text = package_texts(build, AMD64)[f"{HOME}/{name}/start"].replace("/proc/$MAINPID/exe", str(tmp_path / "running"))
    text = text.replace(f"/{HOME}/{name}", str(home)).replace("/usr/sbin/php-fpm8.2", str(stock))
    text = text.replace("/etc/php/8.2/fpm/conf.d", str(tmp_path / "conf.d")).replace(" /etc/php/8.2/fpm/php.ini ", f" {tmp_path}/php.ini ")
    fake(home / "php-fpm", f'case "$*" in *"-m"|*"-t --nodaemonize") {modules};; *) echo "own $*" $PHP_INI_SCAN_DIR;; esac')
    said = f'*-v) [ -z "{installed}" ] || echo "PHP {installed} (fpm-fcgi)";; *-m) {theirs};;'
    fake(stock, f'case "$*" in {said} *) echo "stock $*";; esac')
    fake(tmp_path / "bin" / "dpkg-query", f'[ "$*" = "-W -f=\\${{Version}} php8.2-fpm" ] && [ -n "{package}" ] && printf "{package}"')
    (tmp_path / "running").symlink_to(tmp_path / running)
    script = tmp_path / "start"
    script.write_text(text)
    script.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.defpath}"
    env = {"PATH": path, "RUNTIME_DIRECTORY": str(tmp_path / "run")}
    return subprocess.run([str(script), *argv, "--nodaemonize"], capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize(
    ("build", "installed", "modules", "started", "notice"),
    [
        (BUILD, "8.2.36", "echo Core", "own -d extension_dir={home}/extensions --nodaemonize", ""),
        (BUILD, "8.2.37", "echo Core", "stock --nodaemonize", "the distribution has PHP 8.2.37, and this build is of 8.2.36"),
        (BUILD, "8.2.36", "echo 'Unable to load dynamic library' >&2", "stock --nodaemonize", "an installed extension does not fit"),
        (BUILD, "8.2.36", "exit 1", "stock --nodaemonize", "this build does not run here"),
        (
            BUILD,
            "8.2.36",
            "case $* in *-m) echo Core;; *) echo one; echo ERROR: unknown entry x; echo ERROR: FPM initialization failed; exit 78;; esac",
            "stock --nodaemonize",
            "this build does not take this configuration: ERROR: unknown entry x; starting",
        ),
        (BUILD, "", "echo Core", "stock --nodaemonize", "the distribution has PHP , and"),
        # Of a newer source, beside extensions that it can load as long as they are what they were.
        (NEWER, "8.2.36", "echo Core", "own -d extension_dir={home}/extensions --nodaemonize", ""),
        (NEWER, "8.2.37", "echo Core", "stock --nodaemonize", "has PHP 8.2.37, and this build was made beside 8.2.36"),
        # Alone it needs no extension of theirs, but must not lack what a newer one mended.
        (ALONE, "8.2.37", "echo Core", "own -c /etc/php/8.2/fpm/php.ini --nodaemonize {run}/conf.d:{home}/ini", ""),
        (ALONE_8_2, "8.2.9", "echo Core", "own -c /etc/php/8.2/fpm/php.ini --nodaemonize {run}/conf.d:{home}/ini", ""),
        (ALONE_8_2, "", "echo Core", "own -c /etc/php/8.2/fpm/php.ini --nodaemonize {run}/conf.d:{home}/ini", ""),
        (ALONE_8_2, "8.2.37", "echo Core", "stock --nodaemonize", "the distribution has PHP 8.2.37, and this build is of 8.2.36"),
        (ALONE, "8.2.36", "exit 1", "stock --nodaemonize", "this build does not run here"),
        # Behind the colon is what PHP scans by itself: conf.d counts above what only the
        # distribution's php-fpm knows.
        (told_places(BUILD), "8.2.36", "echo Core", "own -d extension_dir={home}/extensions --nodaemonize {run}/places:", ""),
        (
            told_places(ALONE),
            "8.2.36",
            "echo Core",
            "own -c /etc/php/8.2/fpm/php.ini --nodaemonize {run}/places:{run}/conf.d:{home}/ini",
            "",
        ),
    ],
)
def test_it_steps_aside_where_it_does_not_fit(  # noqa: PLR0917 (a table of cases)
    tmp_path: Path, build: Build, installed: str, modules: str, started: str, notice: str
) -> None:
    answer = run_start(tmp_path, build, installed=installed, modules=modules)
    assert answer.returncode == 0
    assert answer.stdout.strip() == started.format(home=tmp_path / "home", run=tmp_path / "run")
    assert notice in answer.stderr
    assert bool(answer.stderr) == bool(notice)


@pytest.mark.parametrize("build", [BUILD, ALONE_8_2])
@pytest.mark.parametrize(
    ("package", "aside"),
    [("8.2.36-1~deb12u1", False), ("8.2.36-1~deb12u2", True), ("8.2.36-1~deb12u1+b1", True), ("8.2.36-1~deb11u9", False), ("", False)],
)
def test_it_steps_aside_for_a_revision_that_keeps_the_version_of_its_php(
    tmp_path: Path, build: Build, package: str, *, aside: bool
) -> None:
    made = structs.replace(build, package="php8.2-fpm", package_version="8.2.36-1~deb12u1")
    answer = run_start(tmp_path, made, package=package)
    assert answer.stdout.startswith("stock" if aside else "own")
    notice = f"phpdyno: php8.2-fpm was upgraded since: {package} is installed, and this build was made for 8.2.36-1~deb12u1; starting"
    assert answer.stderr.startswith(notice) if aside else not answer.stderr
    # Builds of earlier versions know nothing of it.
    (tmp_path / "earlier").mkdir()
    assert run_start(tmp_path / "earlier", build, package=package).stdout.startswith("own")


def test_one_that_stands_alone_has_the_settings_of_conf_d_and_loads_nothing_of_it(tmp_path: Path) -> None:
    theirs, copies = tmp_path / "conf.d", tmp_path / "run" / "conf.d"
    theirs.mkdir()
    (theirs / "10-opcache.ini").write_text("; priority=10\n  Zend_Extension = opcache.so\nopcache.jit=off\n")
    (theirs / "99-own.ini").write_text("opcache.validate_timestamps=0\n; extension=commented\nextension_dir=/x\n")
    (theirs / "20-mysqli.ini").write_text("extension=mysqli.so\n")
    (theirs / "25-gone.ini").symlink_to(tmp_path / "nowhere")
    copies.mkdir(parents=True)
    (copies / "98-gone.ini").touch()
    answer = run_start(tmp_path, ALONE_8_2)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert {path.name: path.read_text() for path in copies.iterdir()} == {
        "10-opcache.ini": "; priority=10\nopcache.jit=off\n",
        "20-mysqli.ini": "",
        "99-own.ini": "opcache.validate_timestamps=0\n; extension=commented\nextension_dir=/x\n",
    }
    # A password in it is for nobody else.
    assert not copies.stat().st_mode & 0o077
    unit = package_texts(ALONE_8_2, AMD64)["usr/lib/systemd/system/phpdyno-php8.2-pgo-standalone.service"]
    assert "\nRuntimeDirectory=phpdyno-php8.2-pgo-standalone\n" in unit
    drop_in = package_texts(BUILD, AMD64)
    assert not [path for path, text in drop_in.items() if "RuntimeDirectory" in text or "RUNTIME_DIRECTORY" in text]


@pytest.mark.parametrize(
    ("ini", "told"),
    [
        ("", {"include_path", "session.save_path"}),
        ("; session.save_path = /x\nsession.save_path =\ninclude_path= ; none\n", {"include_path", "session.save_path"}),
        ("session.save_handler = redis\n  session.save_path= tcp://127.0.0.1\n", {"include_path"}),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_what_php_ini_sets_counts_above_what_a_package_tells(tmp_path: Path, ini: str, told: set[str], *, alone: bool) -> None:
    (tmp_path / "php.ini").write_text(ini)
    answer = run_start(tmp_path, told_places(ALONE_8_2 if alone else BUILD))
    assert (answer.returncode, answer.stderr) == (0, "")
    written = (tmp_path / "run" / "places" / "places.ini").read_text()
    assert {line.partition("=")[0] for line in written.splitlines() if not line.startswith(";")} == told


@pytest.mark.parametrize(
    ("build", "lost"),
    [
        (BUILD, "-fstack-protector-strong, -D_FORTIFY_SOURCE, -fno-strict-aliasing and -Wl,-z,now."),
        (BOLTED, "-fstack-protector-strong, -D_FORTIFY_SOURCE and -fno-strict-aliasing."),
    ],
)
def test_a_package_says_which_of_the_distributions_flags_it_lacks(build: Build, lost: str) -> None:
    texts = package_texts(build, AMD64)
    said = f"It is compiled without the distribution's {lost}\n"
    assert f"\n {said}" in texts["DEBIAN/control"]
    assert f"\n{said}" in texts[f"usr/share/doc/{package_name(build)}/README"]


def unloadable(name: str, place: str, *, at: str = "03:04:05") -> str:
    """What a fake php-fpm does that finds no such extension where it looks."""
    path = f"{place}/{name}.so"
    tried = f"(tried: {path} ({path}: cannot open shared object file), {path}.so (the same)) in Unknown on line 0"
    return f"echo \"[02-Jan-2026 {at}] NOTICE: PHP message: PHP Warning:  Unable to load dynamic library '{name}' {tried}\" >&2"


def test_what_the_distributions_php_cannot_load_either_is_no_reason_to_step_aside(tmp_path: Path) -> None:
    theirs = unloadable("gone", "/usr/lib/php/20220829", at="03:04:06")
    answer = run_start(tmp_path, BUILD, modules=unloadable("gone", "/home/extensions"), theirs=theirs)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("own ")


def test_what_only_the_build_cannot_load_is_named(tmp_path: Path) -> None:
    own = "; ".join(unloadable(name, "/home/extensions") for name in ("gone", "redis"))
    answer = run_start(tmp_path, BUILD, modules=own, theirs=unloadable("gone", "/usr/lib/php/20220829"))
    assert answer.stdout == "stock --nodaemonize\n"
    assert "does not fit this build: NOTICE: PHP message: PHP Warning:  Unable to load dynamic library 'redis'; starting" in answer.stderr


def test_a_reload_is_checked_first_because_php_fpm_executes_itself_and_not_the_start_script() -> None:
    unit = package_texts(BOLTED, AMD64)["usr/lib/systemd/system/phpdyno-php8.2-pgo-bolt.service"]
    started, *reloaded = re.findall(r"^Exec(?:Start|Reload)=(.*)$", unit, re.MULTILINE)
    assert reloaded == [started.replace("/start ", "/start --check "), "/bin/kill -USR2 $MAINPID"]


def test_a_reload_goes_on_where_the_build_fits_or_has_stepped_aside_before(tmp_path: Path) -> None:
    for name, running, installed in (
        ("fits", "home/php-fpm", "8.2.36"),
        ("aside", "stock", "8.2.37"),
        ("upgraded", "stock (deleted)", "8.2.37"),
    ):
        (tmp_path / name).mkdir()
        answer = run_start(tmp_path / name, BOLTED, "--check", installed=installed, running=running)
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", ""), name


@pytest.mark.parametrize(
    ("installed", "modules", "reason"),
    [
        ("8.2.37", "echo Core", "the distribution has PHP 8.2.37, and this build is of 8.2.36"),
        ("8.2.36", unloadable("redis", "/home/extensions"), "an installed extension does not fit this build"),
    ],
)
def test_a_reload_that_would_end_the_service_fails_and_says_to_restart_it(
    tmp_path: Path, installed: str, modules: str, reason: str
) -> None:
    answer = run_start(tmp_path, BOLTED, "--check", installed=installed, modules=modules)
    assert (answer.returncode, answer.stdout) == (1, "")
    (line,) = answer.stderr.splitlines()
    assert line.startswith(f"phpdyno: {reason}")
    assert line.endswith("systemctl restart phpdyno-php8.2-pgo-bolt")
