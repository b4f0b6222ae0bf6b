"""The package of a build, made by the real dpkg-deb and unpacked again; its programs are small fakes, named so."""

import shutil
import subprocess
from pathlib import Path

import pytest

from phpdyno.build.package import HOME, make_package, package_name
from phpdyno.build.workshop import write_build
from phpdyno.stack.supervise import Supervisor
from tests.support.builds import BUILD

pytestmark = [pytest.mark.integration, pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb here")]


def fake_build(place: Path) -> Path:
    """A directory like that of a drop-in: one program, an opcache of its own, an extension of the distribution."""
    (place / "extensions").mkdir(parents=True)
    (place / "php-fpm").write_text("#!/bin/sh\necho fake php-fpm\n")
    (place / "php-fpm").chmod(0o755)
    (place / "extensions" / "opcache.so").write_bytes(b"fake opcache")
    (place / "extensions" / "mbstring.so").symlink_to("/usr/lib/php/20220829/mbstring.so")
    (place / "done.json").write_text("{}")
    write_build(place, BUILD)
    return place


def asked(*argv: str | Path) -> str:
    return subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=True).stdout


def test_the_package_holds_the_build_its_unit_and_a_way_back(tmp_path: Path) -> None:
    place = fake_build(tmp_path / "build")
    (tmp_path / "out").mkdir()
    with Supervisor(tmp_path / "logs") as supervisor:
        package = make_package(place, BUILD, tmp_path / "out", supervisor, architecture="amd64")
    assert asked("dpkg-deb", "--field", package, "Package", "Depends").splitlines() == [
        "Package: phpdyno-php8.2-pgo",
        "Depends: php8.2-fpm, php8.2-opcache",
    ]
    name = package_name(BUILD)
    listed = asked("dpkg-deb", "--contents", package)
    assert all(line.split()[1] == "root/root" for line in listed.splitlines())
    root = tmp_path / "root"
    asked("dpkg-deb", "--extract", package, root)
    home = root / HOME / name
    assert asked(home / "php-fpm") == "fake php-fpm\n"
    assert (home / "extensions" / "mbstring.so").readlink() == Path("/usr/lib/php/20220829/mbstring.so")
    assert (home / "build.json").is_file()
    assert not (home / "done.json").exists()
    assert (home / "start").stat().st_mode & 0o111
    assert (root / f"usr/lib/systemd/system/{name}.service").is_file()
    asked("dpkg-deb", "--control", package, tmp_path / "control")
    for script in ("postinst", "prerm", "postrm"):
        asked("sh", "-n", tmp_path / "control" / script)
        assert (tmp_path / "control" / script).stat().st_mode & 0o111
