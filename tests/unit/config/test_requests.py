"""What a target may send besides its path."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.config.app_toml import load_app_toml
from phpdyno.config.requests import MOST_BODY_BYTES, check_labels, check_request, filled, variables_in
from phpdyno.config.workload_toml import load_workload
from phpdyno.errors import UsageError
from phpdyno.model.workload import Target

HEADER = 'name = "shop"\ndocroot = "public"\n[[target]]\npath = "/login"\n'


def load(tmp_path: Path, text: str) -> Target:
    path = tmp_path / "app.toml"
    path.write_text(HEADER + text)
    return load_app_toml(path).targets[0]


def test_everything_that_a_target_may_send(tmp_path: Path) -> None:
    target = load(
        tmp_path,
        'method = "POST"\nwrites = true\nname = "log in"\nbody = "user=ada&password={env.SHOP_PASSWORD}"\n'
        'headers = { "X-Requested-With" = "XMLHttpRequest", Accept = "text/html" }\ncookies = { session = "a%20b", theme = "" }\n',
    )
    assert (target.method, target.writes, target.label) == ("POST", True, "log in")
    assert target.headers == {"X-Requested-With": "XMLHttpRequest", "Accept": "text/html"}
    assert target.cookies == {"session": "a%20b", "theme": ""}
    assert target.sends == ("X-Requested-With", "Accept", "cookie session", "cookie theme", "a body")
    assert variables_in([target]) == ("SHOP_PASSWORD",)


def test_a_table_below_the_target_is_the_same(tmp_path: Path) -> None:
    assert load(tmp_path, '[target.headers]\nAccept-Language = "de"\n[target.cookies]\nsid = "1"\n').headers == {"Accept-Language": "de"}


def test_labels() -> None:
    assert Target("/a").label == "/a"
    assert Target("/a", method="POST", writes=True).label == "POST /a"
    assert Target("/a", name="the page").label == "the page"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('method = "POST"\n', "target[0].method: POST may change what the app keeps; add writes = true"),
        ('method = "BREW"\n', "target[0].method: Invalid value 'BREW'; use one of GET, HEAD, POST"),
        ('method = "get"\n', "use one of GET"),
        ('body = "a=1"\n', 'target[0].body: a GET request has no body; add method = "POST"'),
        ("headers = { Accept = 1 }\n", 'Expected str, got int; write text: "X-Requested-With" = "XMLHttpRequest"'),
        ("cookies = { sid = true }\n", "Expected str, got bool; write text: session"),
        ("headers = { host = 'x' }\n", "target[0].headers: the header host is not yours to set; set host of the app"),
        ("headers = { Content-Length = '5' }\n", "the header Content-Length is not yours to set; it follows from body"),
        ("headers = { Cookie = 'a=b' }\n", "write cookies = { NAME = ... }"),
        ("headers = { Transfer-Encoding = 'chunked' }\n", "is not yours to set"),
        ("headers = { Connection = 'close' }\n", "is not yours to set"),
        ("headers = { X_Token = '1' }\n", "'X_Token' is no name of a header that a web server passes on"),
        ('headers = { "X: y\\r\\nZ" = "1" }\n', "is no name of a header"),
        ("headers = { Accept = 'a', accept = 'b' }\n", "accept and Accept are the same header"),
        ('headers = { X-A = "secret\\r\\nX-B: c" }\n', "the value of the header X-A holds a line break"),
        ('headers = { X-A = " secret" }\n', "a blank at an end"),
        ('headers = { X-A = "größe" }\n', "one beyond ASCII"),
        ('cookies = { "a b" = "1" }\n', "'a b' is no name of a cookie"),
        ('cookies = { sid = "secret; admin=1" }\n', "the value of the cookie sid holds a blank, ';'"),
        ('cookies = { sid = "secret\\nX: y" }\n', "the value of the cookie sid holds"),
        ('name = "a\\nb"\n', "target[0].name: the name is not one line of plain text"),
        ("haeders = { }\n", "target[0].haeders: unknown key; did you mean target.headers?"),
        ('[[target]]\npath = "/login"\nweight = 2\n', "target[1]: target[0] is called '/login' as well; add a name"),
    ],
)
def test_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert "secret" not in message


def test_a_body_is_bounded() -> None:
    check_request(Target("/", method="POST", writes=True, body="x" * MOST_BODY_BYTES), where="t")
    with pytest.raises(UsageError, match="1048577 bytes"):
        check_request(Target("/", method="POST", writes=True, body="x" * (MOST_BODY_BYTES + 1)), where="t")


def test_variables_are_put_in_and_checked_again() -> None:
    target = Target("/", cookies={"sid": "{env.SID}"}, headers={"X-A": "b {env.A} c"}, method="PUT", writes=True, body='{"a": "{env.A}"}')
    found = filled(target, {"SID": "1234", "A": "x"})
    assert (found.cookies, found.headers, found.body) == ({"sid": "1234"}, {"X-A": "b x c"}, '{"a": "x"}')
    with pytest.raises(UsageError, match="PUT /: the environment variable SID is not set"):
        filled(target, {"A": "x"})
    for bad in ({"SID": "secret; b=c", "A": "x"}, {"SID": "1", "A": "secret\r\nX: y"}):
        with pytest.raises(UsageError, match="holds") as caught:
            filled(target, bad)
        assert "secret" not in str(caught.value)


def test_a_value_that_looks_like_a_variable_is_not_filled_twice() -> None:
    assert filled(Target("/", headers={"X-A": "{env.A}"}), {"A": "{env.B}", "B": "no"}).headers == {"X-A": "{env.B}"}


@given(st.text(), st.text())
def test_whatever_is_accepted_is_one_header_line(name: str, value: str) -> None:
    for target in (Target("/", headers={name: value}), Target("/", cookies={name: value})):
        try:
            check_request(target, where="t")
        except UsageError:
            continue
        assert (name + value).isascii()
        assert not set(name + value) & {"\r", "\n", "\0"}
        assert name
        assert ":" not in name


def test_old_plans_are_read() -> None:
    old: Any = {"path": "/", "weight": 1.0, "status": 200, "answers": "body"}
    assert msgspec.convert(old, Target) == Target("/")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")
def test_the_file_of_another_account_gets_no_variable_of_roots(tmp_path: Path) -> None:
    path = tmp_path / "app.toml"
    text = HEADER + 'cookies = { sid = "{env.AWS_SECRET_ACCESS_KEY}" }\n'
    path.write_text(text)
    assert load_app_toml(path).author == 0
    os.chown(path, 12345, -1)
    with pytest.raises(UsageError, match=r"target: \{env\.AWS_SECRET_ACCESS_KEY\} is a variable of root's"):
        load_app_toml(path)
    workload = tmp_path / "workload.toml"
    workload.write_text(text.removeprefix('name = "shop"\ndocroot = "public"\n'))
    assert load_workload(workload).workload.targets[0].cookies
    os.chown(workload, 12345, -1)
    with pytest.raises(UsageError, match="give the file to root"):
        load_workload(workload)


def test_equal_labels() -> None:
    check_labels([Target("/"), Target("/", name="again"), Target("/", method="HEAD")], where="app.toml")
    with pytest.raises(UsageError, match=r"target\[2\]: target\[0\] is called '/' as well"):
        check_labels([Target("/"), Target("/b"), Target("/", cookies={"a": "b"})], where="app.toml")
