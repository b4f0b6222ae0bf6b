import pytest

from phpdyno.config.ini_syntax import as_literal, check_syntax, is_literal, is_plain, meant, operands_in, variables_in
from phpdyno.errors import UsageError


@pytest.mark.parametrize(
    "text", ["", "128M", "-1", "on", "Off", "None", "NONE", "tracing", "/srv/www/a.php", "Europe/Berlin", "UTF-8", "{db_socket}"]
)
def test_what_every_reader_takes_alike_is_plain(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize(
    "text", ["E_ALL", "PHP_VERSION", "Lax", "128 MB", "E_ALL & ~E_NOTICE", '"a"', "'a'", "${HOME}", "a;b", "a=b", "~8", "!1"]
)
def test_what_only_the_parser_can_read_is_not(text: str) -> None:
    assert not is_plain(text)


def test_a_value_at_whose_equals_sign_the_parser_would_stop_is_meant_as_it_stands() -> None:
    assert is_literal("a=href,area=href")
    assert is_literal("a=b c")
    assert not is_literal("a=b|c")
    assert not is_literal("128 MB")


def test_words_of_an_expression() -> None:
    assert operands_in("E_ALL & ~(E_NOTICE | 8192) ^ -1") == ("E_ALL", "E_NOTICE")
    assert operands_in("E_ALL") == ()
    assert operands_in("a b") == ()


def test_variables_of_a_value() -> None:
    assert variables_in("${A}/x") == ("A",)
    assert variables_in('"${A} and ${B}"') == ("A", "B")
    assert variables_in("'${A}'") == ()
    assert variables_in("${A:-/tmp}") == ()


def test_a_text_that_would_be_a_switch_keeps_its_quotes() -> None:
    assert as_literal("None") == '"None"'
    assert as_literal("Lax") == "Lax"
    assert meant('"None"') == "None"
    assert meant('"a b"') == '"a b"'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a;b", """php.ini takes what follows ';' for a comment — write the value in quotes: "a;b", or leave the comment out"""),
        ('"a', "a quotation mark is not closed — write the value in quotes: '\"a'"),
        ("it's", """a quotation mark is not closed — write the value in quotes: "it's\""""),
    ],
)
def test_a_value_of_two_readings_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refusal:
        check_syntax(text, where="ini.x")
    assert str(refusal.value).replace(": ini.x", "")
    assert refusal.value.what in says
    assert refusal.value.next_step in says


@pytest.mark.parametrize("text", ['"a;b"', "'a=b'", "E_ALL & ~E_NOTICE", "a b", "#x"])
def test_what_php_ini_takes_is_let_through(text: str) -> None:
    check_syntax(text, where="ini.x")
