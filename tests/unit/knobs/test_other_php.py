"""Two PHPs: what else differs between their workers."""

from msgspec import structs

from phpdyno.knobs.other_php import besides_php
from tests.support.made_up.facts import NO_OPCACHE, PLAIN, with_ini

OTHER = structs.replace(PLAIN, exe="/opt/php/sbin/php-fpm", build_id="cd" * 20, php_version="8.4.1")


def test_one_php_differs_in_nothing_whatever_is_set() -> None:
    assert besides_php(PLAIN, with_ini(NO_OPCACHE, memory_limit="1G"), {}) == ()


def test_another_php_that_has_all_that_the_control_has() -> None:
    assert besides_php(PLAIN, OTHER, {"php": OTHER.exe}) == ()


def test_a_php_without_opcache_is_no_fair_one() -> None:
    bare = structs.replace(OTHER, opcache=None)
    assert besides_php(PLAIN, bare, {"php": OTHER.exe}) == (
        "this arm's PHP runs without opcache, and the other with it: give it one with ext.opcache=PATH",
    )
    assert "the control's PHP" in besides_php(structs.replace(PLAIN, opcache=None), OTHER, {})[0]
    assert besides_php(PLAIN, bare, {"ini.opcache.enable": "0"}) == ()


def test_extensions_by_name_whatever_their_case_and_without_the_server() -> None:
    control = structs.replace(PLAIN, extensions=("Core", "cgi-fcgi", "apcu", "PDO", *(f"x{number}" for number in range(7))))
    other = structs.replace(OTHER, extensions=("Core", "apache2handler", "pdo", "redis", "Zend OPcache"))
    assert besides_php(control, other, {}) == (
        "extensions that only the control has: apcu, x0, x1, x2, x3, x4 and 2 more",
        "extensions that only this arm has: redis",
    )


def test_php_ini_settings_that_weigh_and_were_not_asked_for() -> None:
    other = with_ini(OTHER, memory_limit="", realpath_cache_ttl="600", opcache__validate_timestamps="0")
    (said,) = besides_php(PLAIN, other, {"ini.opcache.validate_timestamps": "0"})
    assert said == (
        "php.ini differs from the control's: memory_limit 128M there and empty here, realpath_cache_ttl 120 there and 600 here;"
        " name one file for both with php.ini=PATH"
    )
