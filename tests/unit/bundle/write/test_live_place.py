"""Where the files of a running pool lie."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.bundle.write import live_place
from phpdyno.bundle.write.division import divide
from phpdyno.bundle.write.live_place import basis_of_live, place_of_live
from phpdyno.errors import DynoError
from phpdyno.servers.live.masters import LiveMaster
from phpdyno.servers.live.pool import LivePool
from phpdyno.servers.programs.php import IniFiles
from tests.support.made_up.bundles import FPM

CONFIG = Path("/etc/php/8.2/fpm/php-fpm.conf")
WWW = Path("/etc/php/8.2/fpm/pool.d/shop.conf")
ARGV = (FPM, "--nodaemonize", "--fpm-config", str(CONFIG))
FILES = IniFiles("/etc/php/8.2/fpm/php.ini", ("/etc/php/8.2/fpm/conf.d/10-opcache.ini",), "/usr/lib/php/20220829")


@pytest.fixture(autouse=True)
def _no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_place, "_unit", lambda pid: "")


def pool(*argv: str, opened: Path = WWW, **settings: str) -> LivePool:
    master = LiveMaster(1, FPM, CONFIG, Path("/"), 0.0, (*ARGV, *argv), {})
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return LivePool("shop", named, {}, (), master=master, files=(CONFIG, opened), section="shop", opened_in=opened, user="shop")


def test_debians_places() -> None:
    place = place_of_live(pool(), FILES, "8.2.29")
    assert (place.ini_dir, place.pool_dir, place.pool_file) == ("/etc/php/8.2/fpm/conf.d", str(WWW.parent), str(WWW))
    assert (place.unit, place.user, place.pool, place.live) == ("php8.2-fpm", "shop", "shop", "shop")
    assert place.options == ("-y", str(CONFIG))


def test_own_places_and_options() -> None:
    told = pool("-c", "own/php.ini", "-d", "opcache.jit=off", "-R", php__scan_dir=":/etc/own.d")
    place = place_of_live(told, FILES, "8.2.29")
    assert place.ini_dir == "/etc/own.d"
    assert place.scan_dir == ":/etc/own.d"
    assert place.defined == ("opcache.jit",)
    assert place.options == ("-y", str(CONFIG), "-c", "/own/php.ini")
    assert place_of_live(pool(php__scan_dir=":/etc/own.d/"), FILES, "8.2.29").ini_dir == "/etc/own.d"
    assert place_of_live(pool(php__scan_dir="none"), FILES, "8.2.29").ini_dir == ""


def test_a_pool_in_the_main_file_cannot_be_outdone() -> None:
    place = place_of_live(pool(opened=CONFIG), FILES, "8.2.29")
    assert set(divide({"pool.pm": "static"}, {}, place).by_hand) == {"pool.pm"}


def test_without_a_master() -> None:
    with pytest.raises(DynoError, match="is not known"):
        place_of_live(structs.replace(pool(), master=None), FILES, "8.2.29")


def test_the_files_that_were_read(tmp_path: Path) -> None:
    main, scanned, section = (tmp_path / name for name in ("php.ini", "10.ini", "shop.conf"))
    for path in (main, scanned, section):
        path.write_text(f"; {path.name}\n")
    told = structs.replace(pool(), files=(section, tmp_path / "gone.conf"))
    found = basis_of_live(told, IniFiles(str(main), (str(scanned), str(tmp_path / "gone.ini")), ""))
    assert found == {str(path): f"; {path.name}\n" for path in (section, main, scanned)}
