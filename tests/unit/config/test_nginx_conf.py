"""nginx's configuration, read with its includes."""

from pathlib import Path

import pytest

from phpdyno.config.nginx_conf import blocks, read_nginx
from phpdyno.errors import UsageError
from phpdyno.model.nginx import Directive


def written(place: Path, **files: str) -> Path:
    for name, text in files.items():
        path = place / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place / "site"


def test_directives_quotes_and_blocks(tmp_path: Path) -> None:
    path = written(tmp_path, site='# a remark\nserver { add_header X "a; b"; if ($a = "x y") { return 301 /z; } }\n')
    (server,) = read_nginx(path, base=tmp_path)
    assert server.block is not None
    assert server.block[0] == Directive("add_header", ("X", "a; b"), None, f"{path}:2")
    assert (server.block[1].name, server.block[1].args) == ("if", ("$a", "=", "x y"))
    assert [each.name for each in blocks((server,), "return")] == ["return"]


def test_includes_are_found_beside_the_file_then_in_nginx_s_own_directory(tmp_path: Path) -> None:
    files = {
        "site": "include own/*.conf; include params; include none/*.conf;",
        "own__b.conf": "b 1;",
        "own__a.conf": "a 1; include params;",
    }
    path = written(tmp_path / "app", **files)
    written(tmp_path / "etc", params="p 1;")
    assert [each.name for each in read_nginx(path, base=tmp_path / "etc")] == ["a", "p", "b", "p"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("server {", r"site:1: nginx's configuration cannot be read: unexpected end of file"),
        ("a 1;\nserver } x", r"site:2: nginx's configuration cannot be read"),
        ("include missing;", "no file 'missing' to include"),
        ("include site;", "in a circle"),
        ("include /etc;", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_nginx(written(tmp_path, site=text), base=tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_nginx(tmp_path / "gone")
