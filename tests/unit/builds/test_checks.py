"""What a worker of a build must show before the build may be used."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.model.arm import PhpBuild
from phpdyno.workflows.build_school import checks_of
from tests.support.facts import PLAIN

CONTROL = structs.replace(PLAIN, extensions=("Core", "mbstring", "mysqli"), php_version="8.2.36")


def built(tmp_path: Path, *, opcache: bool = True) -> PhpBuild:
    (tmp_path / "extensions").mkdir()
    (tmp_path / "php-fpm").write_bytes(b"fake")
    if opcache:
        (tmp_path / "extensions" / "opcache.so").touch()
    return PhpBuild(str(tmp_path / "php-fpm"), "8.2.36", str(tmp_path / "extensions"))


def wrong(php: PhpBuild, compiled_in: tuple[str, ...] | None = None, **seen: object) -> set[str]:
    """Names of the checks that fail for a worker that shows what a right one shows, but for `seen`."""
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
    assert wrong(built(tmp_path, opcache=False), opcache_so="") == set()


@pytest.mark.parametrize(("compiled_in", "fails"), [((), set()), (("mbstring",), set()), (("mbstring", "intl"), {"extensions"})])
def test_one_that_stands_alone_has_what_was_compiled_in(tmp_path: Path, compiled_in: tuple[str, ...], fails: set[str]) -> None:
    assert wrong(built(tmp_path), compiled_in, extensions=("Core", "mbstring")) == fails
