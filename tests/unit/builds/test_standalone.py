"""Options of a PHP that has its extensions compiled in; the text of an ELF program."""

from phpdyno.build.standalone import not_in_source, packages_for, standalone_options

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
