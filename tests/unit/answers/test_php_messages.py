import pytest

from phpdyno.answers.php_messages import php_messages

IN_PAGE = (
    b"<h1>x</h1><br />\n<b>Warning</b>:  Undefined variable $name in <b>/srv/shop/index.php</b> on line <b>12</b><br />\n<p>on line 3</p>"
)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (IN_PAGE, "Warning: Undefined variable $name in /srv/shop/index.php on line 12"),
        (b"PHP Notice:  Undefined index: a in /srv/a b.php on line 3\n<html>", "Notice: Undefined index: a in /srv/a b.php on line 3"),
        (
            b"{}\nDeprecated: strlen(): Passing null to parameter #1 ($string) of type string is deprecated in /x/y.php on line 7\n",
            "Deprecated: strlen(): Passing null to parameter #1 ($string) of type string is deprecated in /x/y.php on line 7",
        ),
        (
            b"\n<b>Fatal error</b>:  Uncaught Error: no in /a.php:3\nStack trace:\n in <b>/a.php</b> on line <b>3</b><br />",
            None,
        ),
        (
            b"<br />\n<b>Warning</b>:  f(): [<a href='f'>f</a>]: no in <b>/a.php</b> on line <b>3</b><br />",
            "Warning: f(): [f]: no in /a.php on line 3",
        ),
    ],
)
def test_messages_of_php_are_found_in_pages(body: bytes, told: str | None) -> None:
    assert php_messages(body) == ((told,) if told else ())


@pytest.mark.parametrize(
    "body", [b"", b"Warning: the road is closed in winter", b"<p>See Warning: and on line 3</p>", b"X-Warning: a in b on line c"]
)
def test_prose_is_no_message(body: bytes) -> None:
    assert php_messages(body) == ()


def test_each_message_is_told_once_and_three_at_most() -> None:
    several = b"".join(b"\nWarning: w%d in /a.php on line %d\n" % (number // 2, number // 2) for number in range(20))
    assert php_messages(several) == tuple(f"Warning: w{number} in /a.php on line {number}" for number in range(3))
