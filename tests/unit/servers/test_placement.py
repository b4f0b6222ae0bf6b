"""Which ini files an instance's PHP reads, and which of them have to be copied."""

import shutil
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.workload import Workload
from phpdyno.paths import ServiceUser
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.placement import ini_options, may_read, place_php, with_own_preload
from phpdyno.servers.programs.php import IniFiles

CALENDAR = Path("/usr/lib/php/20220829/calendar.so")
ME = ServiceUser("me", "me", 0, 0, switch=False)
NOBODY = ServiceUser("nobody", "nogroup", 65534, 65534, switch=True)
needs_php = pytest.mark.skipif(not CALENDAR.is_file(), reason="Debian's php8.2 is not installed")


def arm(**settings: str) -> Arm:
    return Arm("arm", PhpBuild("/usr/sbin/php-fpm8.2", "8.2"), {name.replace("__", "."): value for name, value in settings.items()})


@pytest.fixture
def files(tmp_path: Path) -> IniFiles:
    """A php.ini and two scanned files."""
    for name, text in {"php.ini": "a = 1\n", "10-a.ini": "extension=mysqlnd.so\n", "20-calendar.ini": "extension=calendar\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "instance").mkdir()
    return IniFiles(str(tmp_path / "php.ini"), (str(tmp_path / "10-a.ini"), str(tmp_path / "20-calendar.ini")), "/ext")


def test_as_a_rule_php_reads_its_own_files(tmp_path: Path, files: IniFiles) -> None:
    placed = place_php(arm(), files, tmp_path / "instance", Path("/f"), ME)
    assert (placed.options, placed.scan_dir, placed.lines, placed.originals) == ((), ":/f", (), {})


def test_other_places_of_ini_files_are_passed_on(tmp_path: Path) -> None:
    nothing = IniFiles("", (), "/ext")
    placed = place_php(arm(php__ini="/x/php.ini", php__scan_dir=":/more"), nothing, tmp_path, Path("/f"), ME)
    assert (placed.options, placed.scan_dir) == (("-c", "/x/php.ini"), ":/more:/f")
    none = place_php(arm(php__ini="none", php__scan_dir="none"), nothing, tmp_path, Path("/f"), ME)
    assert (none.options, none.scan_dir) == (("-c", "/dev/null"), "/f")
    assert ini_options({"php.scan_dir": "none"}) == ((), "")


def test_an_extension_is_left_out_by_a_scan_directory_with_all_else(tmp_path: Path, files: IniFiles) -> None:
    placed = place_php(arm(ext__calendar="off"), files, tmp_path / "instance", Path("/f"), ME)
    place = tmp_path / "instance" / "conf.d"
    assert placed.scan_dir == f"{place}:/f"
    assert [path.name for path in sorted(place.iterdir())] == ["000-10-a.ini", "001-20-calendar.ini"]
    assert (place / "000-10-a.ini").readlink() == tmp_path / "10-a.ini"
    assert (place / "001-20-calendar.ini").read_text().strip() == ""
    assert placed.originals[str(place / "001-20-calendar.ini")] == str(tmp_path / "20-calendar.ini")
    assert placed.lines == ()


@needs_php
def test_another_file_takes_the_place_of_the_line_that_loads_the_extension(tmp_path: Path, files: IniFiles) -> None:
    placed = place_php(arm(ext__calendar=str(CALENDAR)), files, tmp_path / "instance", Path("/f"), ME)
    assert (tmp_path / "instance" / "conf.d" / "001-20-calendar.ini").read_text() == f"extension = {CALENDAR}\n"
    assert placed.lines == ()
    new = place_php(arm(ext__new=str(CALENDAR)), files, tmp_path, Path("/f"), ME)
    assert (new.lines, new.scan_dir) == ((f"extension = {CALENDAR}",), ":/f")


@needs_php
def test_what_is_closed_to_the_servers_account_is_copied(tmp_path: Path, files: IniFiles) -> None:
    closed = tmp_path / "closed.so"
    shutil.copyfile(CALENDAR, closed)
    for path in (closed, Path(files.main), Path(files.scanned[0])):
        path.chmod(0o600)
    instance = tmp_path / "instance"
    placed = place_php(arm(ext__calendar=str(closed)), files, instance, Path("/f"), NOBODY)
    assert placed.options == ("-c", str(instance / "php.ini"))
    assert (instance / "conf.d" / "001-20-calendar.ini").read_text() == f"extension = {instance / 'closed.so'}\n"
    assert placed.originals[str(instance / "closed.so")] == str(closed)
    assert placed.originals[str(instance / "php.ini")] == files.main


def test_the_servers_account_needs_the_directories_above_too(tmp_path: Path) -> None:
    assert may_read(Path("/etc/passwd"), NOBODY)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").write_text("x")
    assert not may_read(closed / "file", NOBODY)
    assert may_read(closed / "file", ME)
    assert not may_read(tmp_path / "none", NOBODY)


def test_an_extension_that_vanished_is_the_arm_s_failure(tmp_path: Path, files: IniFiles) -> None:
    with pytest.raises(ArmFailed, match="no such extension"):
        place_php(arm(ext__new="/none.so"), files, tmp_path, Path("/f"), ME)


def test_a_script_to_preload_is_the_copy_s_or_none(tmp_path: Path) -> None:
    live, copy = tmp_path / "live", tmp_path / "copy"
    for place in (live, copy):
        place.mkdir()
        (place / "preload.php").write_text("<?php")
    app = PreparedApp("x", copy, Workload(()), root=copy, original=live)
    named, ours = str(live / "preload.php"), str(copy / "preload.php")

    def preloaded(ini: dict[str, str], php_ini: str) -> tuple[dict[str, str], dict[str, str]]:
        return with_own_preload(ini, structs.replace(arm(), php=structs.replace(arm().php, preload=php_ini)), app)

    assert preloaded({"a": "1"}, "") == ({"a": "1", "opcache.preload": ""}, {})
    assert preloaded({}, named) == ({"opcache.preload": ours}, {ours: named})
    assert preloaded({"opcache.preload": named}, "") == ({"opcache.preload": ours}, {ours: named})
    assert preloaded({}, "/srv/other.php") == ({"opcache.preload": ""}, {})
    assert preloaded({}, str(live / "none.php")) == ({"opcache.preload": ""}, {})
    assert preloaded({"opcache.preload": str(live / "none.php")}, "")[0] == {"opcache.preload": str(copy / "none.php")}  # php-fpm refuses
    assert preloaded({"opcache.preload": "/srv/other.php"}, named) == ({"opcache.preload": "/srv/other.php"}, {})


def test_of_a_directory_of_settings_nothing_is_loaded_and_ours_are_read_last(tmp_path: Path) -> None:
    theirs, fragment = tmp_path / "conf.d", tmp_path / "i1" / "ini"
    theirs.mkdir()
    fragment.parent.mkdir()
    own = "opcache.validate_timestamps=0\n; extension=commented\nextension_dir=/x\n"
    for name, text in {
        "99-own.ini": own,
        "20-mysqli.ini": "extension=mysqli.so\n",
        "10-opcache.ini": "; priority=10\r\nZend_Extension = opcache.so ; first\r\nopcache.jit=off\r\n",
        "00-latin.ini": "",
        "README": "extension=x\n",
    }.items():
        (theirs / name).write_text(text, newline="")
    (theirs / "00-latin.ini").write_bytes(b"user_agent = \xe9\n")
    (theirs / "99-own.ini").chmod(0o600)
    placed = place_php(
        arm(php__scan_dir="none", php__settings_dir=str(theirs)), IniFiles("", (), "/ext"), fragment.parent, fragment, NOBODY
    )
    assert (placed.scan_dir, placed.originals) == (str(fragment), {})
    copies = [path.name for path in sorted(fragment.iterdir())]
    assert copies == [f"carried-{name}" for name in ("000-00-latin.ini", "001-10-opcache.ini", "002-20-mysqli.ini", "003-99-own.ini")]
    assert sorted([*copies, "phpdyno.ini"])[-1] == "phpdyno.ini"
    assert (fragment / copies[0]).read_bytes() == b"user_agent = \xe9\n"
    assert (fragment / copies[1]).read_text() == "; priority=10\n\nopcache.jit=off\n"
    assert (fragment / copies[2]).read_text() == "\n"
    assert (fragment / copies[3]).read_text() == own
