"""Options of a PHP that has its extensions compiled in; the text of an ELF program."""

import pytest

from phpdyno.php_build.compile.standalone import not_in_source, packages_for, standalone_options

LISTED = ("Core", "mbstring", "mysqli", "pdo_mysql", "Zend OPcache", "apcu", "SPL", "gd", "cgi-fcgi")


def test_what_the_control_has_is_compiled_in() -> None:
    options = standalone_options(LISTED)
    assert options[0] == "--disable-all"
    assert {"--enable-mbstring", "--with-mysqli", "--enable-pdo", "--with-pdo-mysql", "--with-external-gd", "--enable-fpm"} <= set(options)
    assert "--enable-zts" not in options
    assert "--enable-zts" in standalone_options(LISTED, zts=True)
    assert len(options) == len(set(options))


def test_headers_are_those_of_what_is_compiled_in() -> None:
    found = packages_for(standalone_options(LISTED))
    assert {"libonig-dev", "libgd-dev"} <= set(found)
    assert not {"libicu-dev", "libpq-dev", "libsqlite3-dev"} & set(found)


def test_what_no_php_source_has_is_named() -> None:
    assert not_in_source(LISTED) == ("apcu",)


def test_opcache_is_there_by_either_of_its_names_and_what_only_newer_versions_have_is_missed_by_none() -> None:
    assert not_in_source(("opcache", "Zend OPcache", "uri", "lexbor")) == ()


@pytest.mark.parametrize(
    ("name", "option", "package"),
    [
        ("snmp", "--with-snmp", "libsnmp-dev"),
        ("enchant", "--with-enchant", "libenchant-2-dev"),
        ("odbc", "--with-unixODBC", "unixodbc-dev"),
        ("PDO_ODBC", "--with-pdo-odbc=unixODBC,/usr", "unixodbc-dev"),
        ("pdo_dblib", "--with-pdo-dblib", "freetds-dev"),
        ("PDO_Firebird", "--with-pdo-firebird", "firebird-dev"),
        ("mysqlnd", "--enable-mysqlnd", "zlib1g-dev"),
        ("intl", "--enable-intl", "g++"),
    ],
)
def test_what_debian_packages_of_phps_source_is_compiled_in(name: str, option: str, package: str) -> None:
    options = standalone_options((name,), version="8.5.0")
    assert option in options
    assert package in packages_for(options)


@pytest.mark.parametrize("name", ["imap", "pspell"])
def test_what_was_moved_to_pecl_is_compiled_in_as_long_as_the_source_has_it(name: str) -> None:
    assert f"--with-{name}" in standalone_options((name,), version="8.3.20")
    assert not_in_source((name,), "8.3.20-dev") == ()
    for newer in ("8.4.0-dev", "8.10.1", ""):
        assert f"--with-{name}" not in standalone_options((name,), version=newer)
        assert not_in_source((name,), newer) == (name,)
