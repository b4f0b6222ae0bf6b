"""PHP's own parser reads values: the real php-fpm is started, which takes some 50 ms each time."""

from pathlib import Path

import pytest

from phpdyno.errors import UsageError
from phpdyno.servers.programs.ini_reading import Parser
from phpdyno.servers.programs.php import default_fpm

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser(default_fpm(), env={"PLACE": "/srv/data"}, names=frozenset({"memory_limit"}))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("E_ALL & ~E_DEPRECATED", "24575"),
        ("E_ALL & ~E_USER_DEPRECATED", "16383"),
        ("E_ALL", "32767"),
        ("E_ALL ^ E_NOTICE", "32759"),
        ("~E_ALL & !0", "0"),
        ("(1|2) & 3", "3"),
        ('"E_ALL"', "E_ALL"),
        ('"a;b # c=d"', "a;b # c=d"),
        ("'${PLACE}'", "${PLACE}"),
        ("${PLACE}/x", "/srv/data/x"),
        ('"${PLACE} y"', "/srv/data y"),
        ("a b", "a b"),
        ('"None"', '"None"'),
        ('""', ""),
        ("a=href", "a=href"),
        ("128M", "128M"),
        ("Lax", "Lax"),
    ],
)
def test_a_value_is_what_php_makes_of_it(parser: Parser, text: str, value: str) -> None:
    assert parser.value(text, where="ini.x") == value


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("E_ALL & ~E_DEPRECATD", "'E_DEPRECATD' is no constant", "did you mean E_DEPRECATED?"),
        ("E_AL", "'E_AL' is no constant", "did you mean E_ALL?"),
        ("a|b", "'a' is no constant", '"a|b"'),
        ("pa!ss", "PHP cannot read", '"pa!ss"'),
        ("${PLAICE}/x", "${PLAICE} is set neither", "env.PLAICE"),
    ],
)
def test_what_php_would_silently_misread_is_refused(parser: Parser, text: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parser.value(text, where="ini.x")
    assert what in refusal.value.what
    assert hint in refusal.value.next_step


def test_php_says_what_it_does_not_take(parser: Parser) -> None:
    found = parser.complaints({"post_max_size": "1g b", "date.timezone": "Europ/Berlin", "memory_limit": "64M"})
    assert set(found) == {"post_max_size", "date.timezone"}
    assert "unknown multiplier" in found["post_max_size"]
    assert parser.complaints({"memory_limit": "64M"}) == {}


def test_values_at_a_start(parser: Parser) -> None:
    told = parser.values({"memory_limit": "77M"})
    assert told["memory_limit"] == "77M"
    assert told["opcache.jit_buffer_size"] == "0"


def test_nothing_is_left_in_the_temporary_directory(parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    parser.value("E_ALL", where="ini.x")
    assert list(tmp_path.iterdir()) == []
