"""Apache with mod_php: which module, and which ini files."""

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.servers import apache
from phpdyno.servers.apache import ApacheInstance, find_mod_php, main_ini, module_version, require_apache, with_scanned
from phpdyno.servers.placement import Placement
from phpdyno.servers.programs.php import IniFiles

ARM = Arm("mine", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36"), {"web.server": "apache-mod_php"})
FILES = IniFiles("/etc/php/8.2/fpm/php.ini", ("/etc/php/8.2/fpm/conf.d/10-opcache.ini",), "/usr/lib/php/20220829")


def module(text: bytes, version: bytes = b"8.2.36") -> bytes:
    return b"\x7fELF...\0" + text + version + b"\0more"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "apache2").write_text("#!/bin/sh\n")
    (tmp_path / "apache2").chmod(0o755)
    monkeypatch.setattr(apache, "MODULES", tmp_path)
    monkeypatch.setattr(apache, "program_path", lambda: str(tmp_path))
    return tmp_path


def test_the_module_tells_its_version() -> None:
    assert module_version(module(b"X-Powered-By: PHP/")) == "8.2.36"
    assert module_version(module(b"Server: PHP/")) == ""


def test_the_module_for_the_arms_php(modules: Path) -> None:
    with pytest.raises(DynoError, match=r"a module for PHP 8\.2 is not installed.*apache2-bin libapache2-mod-php8\.2"):
        find_mod_php(ARM)
    place = modules / "libphp8.2.so"
    place.write_bytes(module(b"X-Powered-By: PHP/", b"8.2.1"))
    with pytest.raises(DynoError, match=r"this module is PHP 8\.2\.1, the arm's php-fpm is 8\.2\.36"):
        find_mod_php(ARM)
    place.write_bytes(module(b"X-Powered-By: PHP/"))
    found = find_mod_php(ARM)
    assert (found.binary, found.module) == (str(modules / "apache2"), place)
    (modules / "apache2").unlink()
    with pytest.raises(DynoError, match="is not installed"):
        find_mod_php(ARM)


def test_apache_speaks_no_fastcgi(modules: Path) -> None:
    (modules / "libphp8.2.so").write_bytes(module(b"X-Powered-By: PHP/"))
    require_apache("http", ARM)
    with pytest.raises(UsageError, match="HTTP only, not fastcgi"):
        require_apache("fastcgi", ARM)


def test_another_php_in_apache_is_refused_since_nothing_would_prove_it(modules: Path) -> None:
    (modules / "libphp8.2.so").write_bytes(module(b"X-Powered-By: PHP/"))
    given = {**ARM.settings, "php": ARM.php.fpm}
    require_apache("http", structs.replace(ARM, settings=given))
    with pytest.raises(UsageError, match="never be proved"):
        require_apache("http", structs.replace(ARM, settings=given, changed=given))


def test_connections_are_kept_only_where_each_has_a_process() -> None:
    """One that finds none waits for another's to be given up: 5 s at the end of every slot."""
    arm = structs.replace(ARM, settings={**ARM.settings, "pool.pm.max_children": "4"})
    unused = cast(Any, None)
    instance = ApacheInstance(
        arm,
        1,
        Path("/live/i1"),
        fpm=unused,
        fastcgi="tcp:127.0.0.1:8080",
        php_meter=unused,
        probe=Path("/live/probe.php"),
        app=unused,
        originals={},
        real={},
        probe_path="/.phpdyno/t0ken.php",
    )
    assert (instance.http, instance.status) == ("tcp:127.0.0.1:8080", "")
    assert instance.keeps(4)
    assert not instance.keeps(5)


def test_php_reads_what_php_fpm_would() -> None:
    assert main_ini(Placement((), ""), FILES) == "/etc/php/8.2/fpm/php.ini"
    assert main_ini(Placement(("-c", "/live/i1/php.ini"), ""), FILES) == "/live/i1/php.ini"
    assert main_ini(Placement(("-c", "/dev/null"), ""), FILES) == "/dev/null"
    assert main_ini(Placement((), ""), IniFiles("", (), "")) == "/dev/null"


def test_a_directory_of_ini_files_is_one_with_a_php_ini(tmp_path: Path) -> None:
    assert main_ini(Placement(("-c", str(tmp_path)), ""), FILES) == str(tmp_path / "php.ini")


@pytest.mark.parametrize(
    ("scan_dir", "files", "expected"),
    [
        (":/live/i1/ini", FILES, "/etc/php/8.2/fpm/conf.d:/live/i1/ini"),
        ("/live/i1/conf.d:/live/i1/ini", FILES, "/live/i1/conf.d:/live/i1/ini"),
        ("/live/i1/ini", FILES, "/live/i1/ini"),
        (":/live/i1/ini", IniFiles("", (), ""), "/live/i1/ini"),
        ("/x::/live/i1/ini", IniFiles("", ("/x/a.ini", "/etc/php/conf.d/b.ini"), ""), "/x:/etc/php/conf.d:/live/i1/ini"),
    ],
)
def test_the_compiled_in_directory_is_php_fpms_and_not_the_modules(scan_dir: str, files: IniFiles, expected: str) -> None:
    assert with_scanned(Placement((), scan_dir), files).scan_dir == expected
