"""Extensions by their sources: what is accepted, and what phpize makes of them."""

import tarfile
from pathlib import Path

import pytest

from phpdyno.errors import DynoError, UsageError
from phpdyno.php_build.compile.dropin import settings_of
from phpdyno.php_build.source.added_extensions import Added, packages_of, parse_added, read_added
from phpdyno.php_build.source.phpize import flag_words, php_config, phpize, refuse_without
from phpdyno.php_build.workshop import Workshop
from tests.support.real.extension import extension_source
from tests.unit.php_build.compile.test_leftovers import commands_in


def silent(_: str) -> None:
    """Says nothing."""


def fake_tree(place: Path) -> Path:
    """What phpize looks at of a source of PHP."""
    for name, text in (
        ("build/php.m4", "dnl macros\n"),
        ("build/libtool.m4", "dnl libtool\n"),
        ("scripts/phpize.m4", "m4_include([build/libtool.m4])\nm4_include([build/ltoptions.m4])\nAC_PREFIX_DEFAULT([@prefix@])\n"),
        ("main/php_version.h", '#define PHP_VERSION "8.4.2"\n#define PHP_VERSION_ID 80402\n'),
        ("run-tests.php", "<?php\n"),
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("apcu",), "this is not NAME=PATH"),
        (("=apcu.tgz",), "this is not NAME=PATH"),
        (("apcu=",), "this is not NAME=PATH"),
        (("../x=apcu.tgz",), "this is not NAME=PATH"),
        (("apcu=~nobody-of-that-name/apcu.tgz",), "home directory"),
        (("apcu=a", "apcu=b"), "apcu is given twice"),
        (("mbstring=a",), "PHP's own source has mbstring"),
        (("json=a",), "PHP's own source has json"),
        (("opcache=a",), "PHP's own source has opcache"),
    ],
)
def test_what_names_no_extension_is_refused(texts: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_added(texts)


def test_a_directory_and_a_tarball_are_known_by_their_contents(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    source = extension_source(tmp_path / "answers-1.0")
    found = read_added("answers", source, shop)
    assert (found.name, found.place) == ("answers", source)
    archive = tmp_path / "answers-1.0.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(source, "answers-1.0")
    packed = read_added("answers", archive, shop)
    assert (packed.place / "answers.c").read_text() == (source / "answers.c").read_text()
    (source / "answers.c").write_text("changed")
    assert read_added("answers", source, shop).digest != found.digest


def test_what_is_no_source_of_an_extension_is_refused(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "cache", silent)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.so").touch()
    for name, why in (("none", "no such source"), ("empty", "it has no config.m4"), ("a.so", "neither a directory nor a tarball")):
        with pytest.raises(UsageError, match=why):
            read_added("answers", tmp_path / name, shop)


def test_phpize_takes_what_the_tree_has(tmp_path: Path) -> None:
    tree, source = fake_tree(tmp_path / "tree"), extension_source(tmp_path / "answers")
    config = phpize(commands_in(tree), source)
    header = (tree / "main/php_version.h").read_text()
    assert (source / "configure.ac").read_text() == f"m4_include([build/libtool.m4])\nAC_PREFIX_DEFAULT([{tree}])\n"
    assert (source / "build" / "php.m4").is_file()
    assert config.read_text() == php_config(tree, header)
    assert f"-I{tree}/Zend" in php_config(tree, header)
    assert "80402" in php_config(tree, header)


def test_a_build_that_stands_alone_loads_what_lies_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "extensions").mkdir()
    for name in ("opcache.so", "answers.so"):
        (tmp_path / "extensions" / name).touch()
    settings = settings_of(tmp_path, alone=True)
    assert settings["ext.answers"] == str(tmp_path / "extensions" / "answers.so")
    assert settings["ext.opcache"] == str(tmp_path / "extensions" / "opcache.so")


def test_what_is_written_in_cxx_wants_its_compiler(tmp_path: Path) -> None:
    plain = Added("answers", extension_source(tmp_path / "answers"), "1")
    assert packages_of((plain,)) == ()
    source = extension_source(tmp_path / "swoole")
    (source / "src").mkdir()
    (source / "src" / "core.cc").touch()
    assert packages_of((plain, Added("swoole", source, "2"))) == ("g++",)


def test_what_was_moved_to_pecl_may_be_given_by_its_source() -> None:
    assert parse_added(("imap=/src/imap.tgz",)) == (("imap", Path("/src/imap.tgz")),)


def test_flags_come_behind_those_of_the_extension_itself() -> None:
    makefile = "CFLAGS = -O2\nEXTRA_CFLAGS = -std=gnu11 -O0\nEXTRA_LDFLAGS =\nEXTRA_LIBS = -lm\n"
    assert flag_words(makefile, ("-O3", "-flto"), ("-Wl,-q",)) == (
        "EXTRA_CFLAGS=-std=gnu11 -O0 -O3 -flto",
        "EXTRA_CXXFLAGS=-O3 -flto",
        "EXTRA_LDFLAGS=-Wl,-q",
    )


def test_lines_that_compile_must_have_the_flags() -> None:
    said = "libtool --mode=compile cc -O2 -O3 -flto -c a.c\nlibtool --mode=link cc a.lo\n"
    refuse_without(("-O3", "-flto"), said, where="answers")
    refuse_without(("-O3",), "make: nothing is said of how\n", where="answers")
    with pytest.raises(DynoError, match="answers: this extension was compiled without -O3 -march=native"):
        refuse_without(("-O3", "-march=native"), said, where="answers")
