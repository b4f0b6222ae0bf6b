"""What kind of extension a file is, and ini files in which others are loaded."""

from pathlib import Path

import pytest

from phpdyno.errors import UsageError
from phpdyno.servers.programs.extensions import extension_kind, loaded_name, loads, with_other_extensions

DEBIAN = Path("/usr/lib/php/20220829")


@pytest.mark.skipif(not (DEBIAN / "opcache.so").is_file(), reason="Debian's php8.2 is not installed")
def test_the_kind_is_what_the_file_exports() -> None:
    assert extension_kind(DEBIAN / "opcache.so", where="ext.opcache") == "zend_extension"
    assert extension_kind(DEBIAN / "calendar.so", where="ext.calendar") == "extension"


def test_what_is_no_extension_is_refused(tmp_path: Path) -> None:
    text, cut = tmp_path / "text.so", tmp_path / "cut.so"
    text.write_text("not a library")
    cut.write_bytes(b"\x7fELF\x02\x01" + bytes(10) + b"\x03\x00")
    library = next(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1*"), None)
    cases = [(tmp_path / "none.so", "no such extension"), (text, "no ELF shared object"), (cut, "no ELF shared object")]
    if library:
        cases.append((library, "no extension of PHP"))
    for path, says in cases:
        with pytest.raises(UsageError, match=says) as caught:
            extension_kind(path, where="ext.x")
        assert str(caught.value).startswith(f"ext.x: {path}: ")


def test_names_of_what_an_ini_file_loads() -> None:
    assert loaded_name("/x/php_redis.so") == "redis"
    text = '; extension=no\nextension=calendar.so ; c\n zend_extension = "/usr/lib/opcache.so"\nextension_dir=/x\nextension=Redis\n'
    assert loads(text) == ["calendar", "opcache", "redis"]


def test_a_line_is_replaced_where_it_stands_and_the_rest_stays() -> None:
    text = "a=1\nextension=mysqlnd.so\nextension=mysqli.so\n"
    assert with_other_extensions(text, {"mysqlnd": "extension = /x/mysqlnd.so"}) == "a=1\nextension = /x/mysqlnd.so\nextension=mysqli.so\n"
    assert with_other_extensions(text, {"mysqli": ""}) == "a=1\nextension=mysqlnd.so\n\n"
