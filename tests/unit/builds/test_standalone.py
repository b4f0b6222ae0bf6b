"""Options of a PHP that has its extensions compiled in; the text of an ELF program."""

import sys
from pathlib import Path

import pytest

from phpdyno.build.elf import libraries_of, text_kib
from phpdyno.build.standalone import not_in_source, packages_for, standalone_options
from phpdyno.errors import DynoError

LISTED = ("Core", "mbstring", "mysqli", "pdo_mysql", "Zend OPcache", "apcu", "SPL", "gd", "cgi-fcgi")


def test_what_the_control_has_is_compiled_in() -> None:
    options = standalone_options(LISTED)
    assert options[0] == "--disable-all"
    assert {"--enable-mbstring", "--with-mysqli", "--enable-pdo", "--with-pdo-mysql", "--with-webp", "--enable-fpm"} <= set(options)
    assert "--enable-zts" not in options
    assert "--enable-zts" in standalone_options(LISTED, zts=True)
    assert len(options) == len(set(options))


def test_headers_are_those_of_what_is_compiled_in() -> None:
    found = packages_for(standalone_options(LISTED))
    assert {"libonig-dev", "libgd-dev"} <= set(found)
    assert not {"libicu-dev", "libpq-dev", "libsqlite3-dev"} & set(found)


def test_what_no_php_source_has_is_named() -> None:
    assert not_in_source(LISTED) == ("apcu",)


def test_the_text_of_a_program_is_measured_and_anything_else_refused(tmp_path: Path) -> None:
    python = Path(sys.executable).resolve()
    assert 0 < text_kib(python) <= python.stat().st_size // 1024 + 1
    (tmp_path / "script").write_text("#!/bin/sh\n")
    with pytest.raises(DynoError, match="no 64-bit ELF program"):
        text_kib(tmp_path / "script")


def test_the_libraries_of_a_program_are_those_that_it_is_linked_with(tmp_path: Path) -> None:
    libraries = libraries_of(Path(sys.executable).resolve())
    assert any(each.startswith("libc.so") for each in libraries)
    assert all(".so" in each for each in libraries)
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert libraries_of(tmp_path / "script") == ()
