from pathlib import Path

import pytest

from phpdyno.apps.project.php_text import Reader, tokens_of

PATH = Path("/srv/shop/public/index.php")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("__DIR__ . '/../a'", "/srv/shop/public/../a"),
        ("dirname(__FILE__) . '/a'", "/srv/shop/public/a"),
        ("\\dirname(__DIR__, 2)", "/srv"),
        ("realpath(dirname(__DIR__).'/x').'/y'", "/srv/shop/x/y"),
        ('(__DIR__) . DIRECTORY_SEPARATOR . "a\\tb"', "/srv/shop/public/a\tb"),
        ("ROOT . '/a'", "/known/a"),
        ("$root . '/a'", "/known/a"),
        ("'it\\'s' . \" \\$x\"", "it's $x"),
    ],
)
def test_constant_expressions(expression: str, value: str) -> None:
    reader = Reader(list(tokens_of(f"<?php {expression};")), PATH, {"ROOT": "/known", "$root": "/known"})
    known, _ = reader.value(0)
    assert known is not None
    assert (known.text, known.whole) == (value, True)


@pytest.mark.parametrize("expression", ["$other . 'a'", "strtolower('A')", '"a $b"', "ROOT()", ")", "", "((((" * 30, "dirname("])
def test_what_is_not_constant_has_no_value(expression: str) -> None:
    reader = Reader(list(tokens_of(f"<?php {expression}")), PATH, {"ROOT": "/known"})
    assert reader.value(0)[0] is None


def test_the_beginning_of_what_is_partly_known() -> None:
    known, _ = Reader(list(tokens_of("<?php __DIR__ . '/../lib/' . $name;")), PATH, {}).value(0)
    assert known is not None
    assert (known.text, known.whole) == ("/srv/shop/public/../lib/", False)


def test_only_php_is_read() -> None:
    text = "<b>'no'</b><?php 'a' // 'b' ?> 'c' <?= 'd' /* 'e' */ ?>\n<?php # 'f'\n'g'; <<<X\n'h'\nX; 'i'"
    assert [token.text for token in tokens_of(text) if token.kind == "string"] == ["a", "d", "g", "i"]


def test_comments_of_several_lines_and_other_ends_of_lines() -> None:
    text = "<?php\r\n/**\r\n * Don't read 'this'.\r\n */\r\n'a'; // it's a comment\r\n'b'; /* never\n closed 'c'"
    assert [token.text for token in tokens_of(text) if token.kind == "string"] == ["a", "b"]
