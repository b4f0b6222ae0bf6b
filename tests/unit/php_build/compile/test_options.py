"""Configure options of a drop-in, and apt's private lists."""

from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.php_build.compile.options import drop_in_options, options_in, unknown_options
from phpdyno.php_build.source.apt_lists import private_options, source_lists

# As Debian's php-config8.2 prints them, shortened.
DEBIAN = (
    "'--includedir=/usr/include' '--prefix=/usr' '--enable-cli' '--disable-cgi' '--disable-phpdbg' "
    "'--with-config-file-path=/etc/php/8.2/cli' '--with-config-file-scan-dir=/etc/php/8.2/cli/conf.d' '--disable-debug' '--with-pic' "
    "'--with-layout=GNU' '--with-libxml' '--enable-dtrace' '--config-cache' '--enable-opcache=shared' '--enable-mbstring=shared' "
    "'--with-mysqli=shared,mysqlnd' "
    "'--enable-pdo=shared' '--enable-pcntl' "
    "'--with-zlib' '--with-zlib-dir=/usr' 'build_alias=x86_64-linux-gnu' 'CFLAGS=-g -O2 -fstack-protector-strong'"
)


def test_the_static_core_stays_and_shared_extensions_are_left_to_the_distribution() -> None:
    made = drop_in_options(options_in(DEBIAN), server="fpm", extensions="/opt/x", fpm=("--with-fpm-systemd",))
    assert {"--with-libxml", "--with-zlib", "--with-zlib-dir=/usr", "--with-layout=GNU", "--prefix=/usr"} <= set(made)
    assert {"--disable-mbstring", "--without-mysqli", "--disable-pdo", "--enable-opcache"} <= set(made)
    assert not {"--with-pic", "--enable-dtrace", "--disable-cgi", "--enable-pcntl", "--config-cache", "--enable-opcache=shared"} & set(made)
    assert "--enable-pcntl" in drop_in_options(options_in(DEBIAN), server="cli", extensions="/opt/x")
    assert {"--enable-fpm", "--enable-cgi", "--enable-cli", "--with-fpm-systemd", "EXTENSION_DIR=/opt/x"} <= set(made)
    assert not any(option.startswith(("CFLAGS", "build_alias")) for option in made)
    assert len(made) == len(set(made))


def test_ini_files_are_those_of_the_server() -> None:
    made = drop_in_options(options_in(DEBIAN), server="fpm", extensions="/opt/x")
    assert "--with-config-file-path=/etc/php/8.2/fpm" in made
    assert "--with-config-file-scan-dir=/etc/php/8.2/fpm/conf.d" in made


@pytest.mark.parametrize(("told", "why"), [("", "names no configure options"), ("'--a", "no configure options"), ("Usage", "names no")])
def test_what_names_no_options_is_refused(told: str, why: str) -> None:
    with pytest.raises(DynoError, match=why):
        options_in(told)


STANZAS = """# a comment
Types: deb
URIs: mirror:/a
Suites: stable
Signed-By: /usr/share/keyrings/a.gpg

Types: deb
URIs: mirror:/b
Enabled: no
"""


def test_the_same_archives_for_sources_and_the_same_trust() -> None:
    lists = source_lists(
        {
            "debian.sources": STANZAS,
            "old.list": "# deb mirror:/c stable main\ndeb [signed-by=/k.gpg] mirror:/d stable main\ndeb-src mirror:/d stable main\n",
            "empty.list": "# nothing\n",
            "off.sources": "Types: deb\nURIs: mirror:/e\nEnabled: no\n",
        }
    )
    assert lists == {
        "debian.sources": "Types: deb-src\nURIs: mirror:/a\nSuites: stable\nSigned-By: /usr/share/keyrings/a.gpg\n",
        "old.list": "deb-src [signed-by=/k.gpg] mirror:/d stable main\ndeb-src mirror:/d stable main\n",
    }


def test_nothing_of_the_systems_state_is_named() -> None:
    options = private_options(Path("/cache/apt"))
    values = [option.partition("=")[2] for option in options if "=" in option]
    assert all(value in {"/dev/null", "root", "false"} or value.startswith("/cache/apt/") for value in values)


HELP = """\
  --enable-FEATURE[=ARG]  include FEATURE [ARG=yes]
  --disable-rpath         Disable passing additional runtime library search paths
  --with-libxml           Include LIBXML support
  --without-sqlite3[=DIR] Do not include SQLite3 support
  --with-unixODBC[=DIR]   Include unixODBC support
"""


@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        (("--with-libxml", "--with-sqlite3=/usr", "--enable-rpath", "--with-unixODBC", "--prefix=/usr", "CFLAGS=-O2"), ()),
        (("--with-system-tzdata", "--enable-libxml"), ("--with-system-tzdata", "--enable-libxml")),
        # What Debian gives to every configure, and what PHP 8.5 needs no more.
        (("--disable-silent-rules", "--disable-option-checking", "--enable-hash", "--enable-opcache"), ()),
    ],
)
def test_options_that_configure_ignores_are_named(options: tuple[str, ...], unknown: tuple[str, ...]) -> None:
    assert unknown_options(options, HELP) == unknown
