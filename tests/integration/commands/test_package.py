"""The package of a build, made by the real dpkg and unpacked again. What is packed is a copy of the
distribution's own php-fpm."""

import functools
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.model.build import Build
from phpdyno.php_build.compile.dropin import EXTENSIONS, assemble
from phpdyno.php_build.compile.tree import Built
from phpdyno.php_build.package.debian import make_package
from phpdyno.php_build.package.naming import HOME, package_name
from phpdyno.php_build.package.texts import INI
from phpdyno.php_build.workshop import write_build
from phpdyno.servers.programs.php import ini_files, inspect_php
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.made_up.builds import BUILD
from tests.support.optional import needs

FPM = Path(BUILD.like)
Packed = Callable[[bool], tuple[Path, Path]]
"""Gives a package and where it was unpacked: of a drop-in, or of a build that stands alone."""
pytestmark = [
    pytest.mark.integration,
    needs(shutil.which("dpkg-shlibdeps"), "there is no dpkg-shlibdeps here"),
    pytest.mark.skipif(not FPM.is_file(), reason=f"there is no {FPM} here"),
]


@pytest.fixture(scope="module")
def installed() -> Build:
    version = inspect_php(str(FPM)).version
    return structs.replace(BUILD, php_version=version, beside=version)


@pytest.fixture(scope="module")
def packed(installed: Build, tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """Packs a drop-in, or a build that stands alone, once."""

    @functools.cache
    def one(alone: bool) -> tuple[Path, Path]:
        build = structs.replace(installed, alone=True, beside="", ini=ini_files(str(FPM)).main) if alone else installed
        return pack(build, tmp_path_factory.mktemp("packed"))

    return one


def pack(build: Build, tmp_path: Path) -> tuple[Path, Path]:
    """The package of a build that consists of the distribution's files, and its directory where it
    was unpacked, for which its texts are written anew."""
    theirs, place = Path(ini_files(str(FPM)).extension_dir), tmp_path / "build"
    added = (theirs / "ctype.so",) if build.alone else ()
    assemble(Built({"php-fpm": FPM}, theirs / "opcache.so", added), place, None if build.alone else theirs)
    (place / "done.json").write_text("{}")
    write_build(place, build)
    (tmp_path / "out").mkdir()
    with Supervisor(tmp_path / "logs") as supervisor:
        package = make_package(place, build, tmp_path / "out", supervisor, architecture="amd64")
    asked("dpkg-deb", "--extract", package, tmp_path / "root")
    home = tmp_path / "root" / HOME / package_name(build)
    for path in (home / "start", *(home / INI).glob("*.ini")):
        path.write_text(path.read_text().replace(f"/{HOME}/{home.name}", str(home)))
    return package, home


def unit_of(home: Path) -> Path:
    """The unit file of the package that was unpacked there."""
    return home.parents[len(Path(HOME).parts)] / f"usr/lib/systemd/system/{home.name}.service"


def asked(*argv: str | Path) -> str:
    return subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=True).stdout


def started(home: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """What its start script does where it was unpacked."""
    return subprocess.run([home / "start", *argv], capture_output=True, text=True, check=True, env=environment(home))


def environment(home: Path) -> dict[str, str]:
    """What systemd would tell it."""
    return {"PATH": os.defpath, "RUNTIME_DIRECTORY": str(home.parent / "run")}


def test_the_package_holds_the_build_its_unit_and_a_way_back(tmp_path: Path, packed: Packed) -> None:
    package, home = packed(False)
    named, depends = asked("dpkg-deb", "--field", package, "Package", "Depends").splitlines()
    assert named == "Package: phpdyno-php8.2-pgo"
    wanted = depends.removeprefix("Depends: ").split(", ")
    assert wanted[:2] == ["php8.2-fpm", "php8.2-opcache"]
    assert {"libc6", "libpcre2-8-0", "libxml2"} <= {each.split()[0] for each in wanted[2:]}
    listed = asked("dpkg-deb", "--contents", package)
    assert all(line.split()[1] == "root/root" for line in listed.splitlines())
    assert (home / EXTENSIONS / "mbstring.so").is_symlink()
    assert (home / "build.json").is_file()
    assert not (home / "done.json").exists()
    assert unit_of(home).is_file()
    asked("dpkg-deb", "--control", package, tmp_path / "control")
    for script in ("postinst", "prerm", "postrm"):
        asked("sh", "-n", tmp_path / "control" / script)
        assert (tmp_path / "control" / script).stat().st_mode & 0o111


def test_a_drop_in_starts_with_its_own_opcache_and_the_distributions_extensions(packed: Packed) -> None:
    _, home = packed(False)
    answer = started(home, "-i")
    assert not answer.stderr
    assert f"extension_dir => {home / EXTENSIONS} =>" in answer.stdout
    assert "with Zend OPcache" in started(home, "-v").stdout


def test_after_an_upgrade_the_distributions_starts_instead(tmp_path: Path, installed: Build) -> None:
    _, home = pack(structs.replace(installed, beside="8.2.1", php_version="8.2.1"), tmp_path)
    answer = started(home, "-i")
    assert f"the distribution has PHP {installed.php_version}, and this build is of 8.2.1; starting {FPM} instead" in answer.stderr
    assert str(home) not in answer.stdout


def test_one_that_stands_alone_starts_with_the_php_ini_and_its_own_modules(packed: Packed) -> None:
    ini = ini_files(str(FPM)).main
    _, home = packed(True)
    answer = started(home, "-i")
    assert not answer.stderr
    theirs = [path.name for path in sorted(Path(ini).with_name("conf.d").glob("*.ini"))]
    read, scanned = ini_files_in(answer.stdout)
    assert read == ini
    assert scanned == [*(f"{home.parent}/run/conf.d/{name}" for name in theirs), f"{home / INI}/phpdyno.ini"]
    modules = started(home, "-m").stdout.split("\n")
    assert {"ctype", "Zend OPcache"} <= set(modules)
    assert "mysqli" not in modules


@pytest.mark.parametrize("alone", [False, True])
def test_it_serves_the_pools_it_is_given(tmp_path: Path, packed: Packed, *, alone: bool) -> None:
    _, home = packed(alone)
    socket, settings = tmp_path / "pool.sock", tmp_path / "php-fpm.conf"
    user = "user = nobody\n" if os.geteuid() == 0 else ""
    pool = f"[www]\nlisten = {socket}\n{user}pm = static\npm.max_children = 1\n"
    settings.write_text(f"[global]\nerror_log = {tmp_path / 'log'}\n{pool}")
    argv: list[str | Path] = [home / "start", "--nodaemonize", "--fpm-config", settings]
    with subprocess.Popen(argv, env=environment(home), stderr=subprocess.PIPE, text=True) as master:
        try:
            deadline = time.monotonic() + 30.0
            while not socket.is_socket() and master.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            served = socket.is_socket() and Path(f"/proc/{master.pid}/exe").readlink()
        finally:
            master.terminate()
        _, errors = master.communicate(timeout=30.0)
    assert served == home / "php-fpm", errors
    # What the distribution's does not take either is said by both.
    settings.write_text(f"[global]\n{pool}no_such_entry = 1\n")
    refused = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment(home))
    assert refused.returncode != 0
    (notice,) = [line for line in refused.stderr.splitlines() if line.startswith("phpdyno: ")]
    assert "this build does not take this configuration: " in notice
    assert "no_such_entry" in notice
    assert f"starting {FPM} instead" in refused.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
@pytest.mark.parametrize("alone", [False, True])
def test_systemd_takes_its_unit(tmp_path: Path, packed: Packed, *, alone: bool) -> None:
    _, home = packed(alone)
    unit = tmp_path / unit_of(home).name
    unit.write_text(unit_of(home).read_text().replace(f"/{HOME}/{home.name}", str(home)))
    answer = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", unit], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


def ini_files_in(text: str) -> tuple[str, list[str]]:
    """The php.ini and the scanned files of `-i`, which names one a line."""
    lines = dict(line.split(" => ", 1) for line in text.replace(",\n", ",").splitlines() if line.count(" => ") == 1)
    return lines["Loaded Configuration File"], lines["Additional .ini files parsed"].split(",")
