import pytest

from phpdyno.access_log.targets import Clean, clean_target, split_absolute
from phpdyno.config.app_toml import check_target_path


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/", "/"),
        (b"/shop?page=2", "/shop?page=2"),
        (b"/stra\xc3\x9fe\xff", "/stra%C3%9Fe%FF"),
        (b"/a?url=http://x/../y", "/a?url=http://x/../y"),
        (b"/a//b", "/a//b"),
        (b"/a..b/...", "/a..b/..."),
        (b"/a?token=x", "/a?token=masked"),
    ],
)
def test_what_can_be_asked_again(target: bytes, path: str) -> None:
    clean = clean_target(target)
    assert isinstance(clean, Clean)
    assert clean.path == path
    check_target_path(clean.path, where="")


@pytest.mark.parametrize(
    "target",
    [
        b"", b"*", b"shop", b"example.org:443", b"//evil", b"//evil/x", b"/%2Fevil", b"/\\evil",
        b"/../etc/passwd", b"/a/..", b"/a/%2e%2E/b",
        b"/a/%252e%252e/b", b"/a\\..\\b", b"/./a", b"/a\x00", b"/a%00b", b"/a%0d%0aX:1", b"/a\nb", b"/a b",
        b"/a#b", b"/\x7f", b"/" + b"a" * 256,
    ],
)  # fmt: skip
def test_hostile_targets(target: bytes) -> None:
    assert clean_target(target) == "form"


@pytest.mark.parametrize("target", [b"/" + b"a/" * 600, b"/a?" + b"x" * 1_000_000, b"/a?" + b"\xff" * 500])
def test_long_targets(target: bytes) -> None:
    assert clean_target(target) == "long"


def test_a_secret_in_the_path() -> None:
    assert clean_target(b"/reset/3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d") == "secret"


@pytest.mark.parametrize(
    ("target", "static"), [(b"/a.css", True), (b"/A.JPG?v=2", True), (b"/a.css/b", False), (b"/a.php?x=.css", False), (b"/css", False)]
)
def test_static(target: bytes, static: bool) -> None:
    clean = clean_target(target)
    assert isinstance(clean, Clean)
    assert clean.static is static


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"http://Shop.Example:80/a?b", ("shop.example", b"/a?b")),
        (b"HTTPS://shop.example", ("shop.example", b"/")),
        (b"http://shop.example?a", ("shop.example", b"/?a")),
        (b"/a", ("", b"/a")),
        (b"//evil", ("", b"//evil")),
    ],
)
def test_absolute_form(target: bytes, expected: tuple[str, bytes]) -> None:
    assert split_absolute(target) == expected
