"""What a target may send besides its path: method, headers, cookies and body, checked so that no
value can become another header."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from msgspec import structs

from phpdyno.errors import UsageError
from phpdyno.model.workload import SAFE_METHODS, Method, Target

MOST_BODY_BYTES = 1 << 20
"""Of a request's body: nginx takes no more by default, and the plan, which holds it, is written
down."""
VARIABLE = re.compile(r"\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
"""Stands for an environment variable of phpdyno itself, read when requests are rendered: its value
is in no file of ours."""
TARGET_HINTS = {
    "target": 'add [[target]] with path = "/"',
    "answers": 'use "body" or "status"',
    "method": "use one of " + ", ".join(get_args(Method)),
    "headers": 'write text: "X-Requested-With" = "XMLHttpRequest"',
    "cookies": 'write text: session = "1234"',
}
"""What to write where a target's key is missing or wrong."""
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_COOKIE = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_COOKIE_VALUE = re.compile(r'"?[!#-+\--:<-\[\]-~]*"?')
_VALUE = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")
_OWN = {
    "host": "set host of the app",
    "cookie": "write cookies = { NAME = ... }",
    "content-length": "it follows from body",
    "transfer-encoding": "the body is sent whole, with its length",
    "connection": "the load decides whether connections are kept",
    "keep-alive": "the load decides whether connections are kept",
    "proxy-connection": "the load decides whether connections are kept",
    "upgrade": "protocols are not switched",
    "te": "trailers are not measured",
    "trailer": "trailers are not measured",
    "expect": "the body is sent at once",
}
_NAME = re.compile(r"[!-~](?:[ -~]{0,98}[!-~])?")


def check_request(target: Target, *, where: str) -> None:
    """Raise UsageError unless the target's method, headers, cookies and body can be sent as they
    are. No message holds a value."""
    if target.method not in SAFE_METHODS and not target.writes:
        raise UsageError(
            f"{target.method} may change what the app keeps",
            where=f"{where}.method",
            next_step="add writes = true when its private copy may be changed by thousands of these requests",
        )
    if target.name and not _NAME.fullmatch(target.name):
        raise UsageError("the name is not one line of plain text", where=f"{where}.name", next_step="use up to 100 visible characters")
    for name, value in target.headers.items():
        _check_header_name(name, where=f"{where}.headers")
        check_header_value(name, value, where=f"{where}.headers")
    for name, value in target.cookies.items():
        if not _COOKIE.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a cookie", where=f"{where}.cookies", next_step="use letters, digits, '_' and '-'")
        check_cookie_value(name, value, where=f"{where}.cookies")
    _check_twice(target.headers, where=f"{where}.headers")
    _check_body(target, where=f"{where}.body")


def check_header_value(name: str, value: str, *, where: str) -> None:
    """Raise UsageError for a value that would not reach the app as it is, or would begin another
    header."""
    if not _VALUE.fullmatch(value):
        what = f"the value of the header {name} holds a line break, a control character, one beyond ASCII, or a blank at an end"
        raise UsageError(what, where=where, next_step="encode it as the app expects it")


def check_cookie_value(name: str, value: str, *, where: str) -> None:
    """Raise UsageError for a value that would end its cookie or begin another header."""
    if not _COOKIE_VALUE.fullmatch(value) or value.count('"') == 1:
        what = f"the value of the cookie {name} holds a blank, ';', ',', a quote, a backslash, or something that is not ASCII"
        raise UsageError(what, where=where, next_step="write it as the browser sends it (often percent-encoded)")


def check_labels(targets: Sequence[Target], *, where: str) -> None:
    """Raise UsageError where two targets are called the same: their answers could not be told
    apart."""
    seen: dict[str, int] = {}
    for number, target in enumerate(targets):
        first = seen.setdefault(target.label, number)
        if first != number:
            what = f"target[{first}] is called {target.label!r} as well"
            raise UsageError(what, where=f"{where}: target[{number}]", next_step='add a name = "..." to one of them, or leave one out')


def variables_in(targets: Iterable[Target]) -> tuple[str, ...]:
    """Names of the environment variables that these requests want, in the order of their first
    use."""
    texts = (text for target in targets for text in (*target.headers.values(), *target.cookies.values(), target.body))
    return tuple(dict.fromkeys(name for text in texts for name in VARIABLE.findall(text)))


def refuse_variables(targets: Sequence[Target], author: int, *, where: str) -> None:
    """Raise UsageError where a file on the word of another account (`author`, else 0) wants
    variables of ours: its app would read them."""
    names = variables_in(targets)
    if author and names:
        raise UsageError(
            f"{{env.{names[0]}}} is a variable of root's, and this file is another account's word",
            where=f"{where}: target",
            next_step="write the value out, or give the file to root",
        )


def filled(target: Target, variables: Mapping[str, str]) -> Target:
    """The target with the values of variables in the place of `{env.NAME}`. Raises UsageError: one
    is not set or unfit."""
    where = target.label

    def put(text: str) -> str:
        for name in VARIABLE.findall(text):
            if name not in variables:
                raise UsageError(f"the environment variable {name} is not set", where=where, next_step=f"set it: {name}=... phpdyno ...")
        return VARIABLE.sub(lambda match: variables[match[1]], text)

    headers = {name: put(value) for name, value in target.headers.items()}
    cookies = {name: put(value) for name, value in target.cookies.items()}
    for name, value in headers.items():
        check_header_value(name, value, where=where)
    for name, value in cookies.items():
        check_cookie_value(name, value, where=where)
    return structs.replace(target, headers=headers, cookies=cookies, body=put(target.body))


def _check_header_name(name: str, *, where: str) -> None:
    if name.lower() in _OWN:
        raise UsageError(f"the header {name} is not yours to set", where=where, next_step=_OWN[name.lower()])
    if not _HEADER.fullmatch(name):
        what = f"{name!r} is no name of a header that a web server passes on"
        raise UsageError(what, where=where, next_step="use letters, digits and '-'")


def _check_twice(headers: Mapping[str, str], *, where: str) -> None:
    seen: dict[str, str] = {}
    for name in headers:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise UsageError(f"{name} and {other} are the same header", where=where, next_step="keep one of the two")


def _check_body(target: Target, *, where: str) -> None:
    if target.body and target.method in SAFE_METHODS:
        raise UsageError(f"a {target.method} request has no body", where=where, next_step='add method = "POST" and writes = true')
    size = len(target.body.encode())
    if size > MOST_BODY_BYTES:
        raise UsageError(f"the body has {size} bytes, and at most {MOST_BODY_BYTES} are sent", where=where)
