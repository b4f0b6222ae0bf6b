"""Lines of strace: put together, cut into arguments, and their strings as they were."""

import pytest

from phpdyno.explain.tracing.dns_message import read_message
from phpdyno.explain.tracing.lines import Call, calls_in, path_in, stands_for, strings, unescaped


def only(*lines: str) -> Call:
    (call,) = calls_in(lines)
    return call


def test_a_call_with_its_arguments_and_its_error() -> None:
    call = only('7 openat(AT_FDCWD</a, b>, "/x,(y)", O_WRONLY|O_CREAT, 0666) = -1 EROFS (Read-only file system)\n')
    assert call == Call(7, "openat", ("AT_FDCWD</a, b>", '"/x,(y)"', "O_WRONLY|O_CREAT", "0666"), "-1", "EROFS")
    assert stands_for(call.argument(0)) == "/a, b"
    assert not call.argument(9)


def test_a_path_that_looks_like_the_end_of_a_call_is_a_path() -> None:
    call = only(r'7 openat(AT_FDCWD</>, "/t) = -1 EPERM \"x", O_RDWR) = 4</t) = -1 EPERM "x>')
    assert (call.value, call.error, call.opened) == ("4", "", '/t) = -1 EPERM "x')
    assert path_in(call.argument(1)) == '/t) = -1 EPERM "x'


def test_what_another_process_interrupts_is_put_together() -> None:
    lines = [
        '7 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/a"}, 110 <unfinished ...>',
        "8 sendmmsg(4<socket:[2]>,  <unfinished ...>",
        "7 <... connect resumed>)            = 0",
        '8 <... sendmmsg resumed>[{msg_hdr={msg_iov=[{iov_base="x", iov_len=1}]}, msg_len=1}], 1, 0) = 1',
    ]
    first, second = calls_in(lines)
    assert (first.name, first.arguments[1:], first.value) == ("connect", ('{sa_family=AF_UNIX, sun_path="/a"}', "110"), "0")
    assert (second.pid, second.argument(0), second.argument(2), second.value) == (8, "4<socket:[2]>", "1", "1")


@pytest.mark.parametrize("end", [[], ["7 +++ killed by SIGKILL +++"]])
def test_a_call_that_never_ends_has_no_value(end: list[str]) -> None:
    call = only("7 connect(3<socket:[1]>, {sa_family=AF_UNIX}, 16 <detached ...>", *end)
    assert (call.name, call.argument(2), call.value, call.error) == ("connect", "16", "?", "")


def test_a_call_that_is_asked_again_counts_once() -> None:
    assert list(calls_in(["7 connect(3, {}, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)"])) == []


def test_the_process_as_the_host_counts_it() -> None:
    call = only("7 clone(child_stack=NULL, flags=SIGCHLD) = 5 /* 19123 in strace's PID NS */")
    assert (call.value, call.host_pid) == ("5", 19123)


@pytest.mark.parametrize(
    ("quoted", "read"),
    [
        (r"a\303\244\n", "aä\n".encode()),
        (r"\0\0011\x41\\\"", b'\0\x011A\\"'),
        (r"\3api\7example\4test\0\0\34\0\1", b"\3api\7example\4test\0\0\x1c\0\1"),
        (r"\v\t\r\f", b"\v\t\r\f"),
    ],
)
def test_escapes(quoted: str, read: bytes) -> None:
    assert unescaped(quoted) == read


def test_a_path_that_is_no_utf8_and_one_that_is_cut_off() -> None:
    assert path_in(r'"/a\377"') == r"/a\xff"
    assert path_in('"/long"...') == "/long"
    assert not path_in("NULL")
    assert strings('["sh", "-c", "a"...]') == (b"sh", b"-c", b"a")
    assert stands_for("4</tmp/x>(deleted)") == "/tmp/x"


def answer(*records: bytes) -> bytes:
    return b"\x12\x34\x81\x80\0\1\0" + bytes([len(records)]) + b"\0\0\0\0" + b"\1a\4TEST\0\0\1\0\1" + b"".join(records)


def record(kind: int, value: bytes) -> bytes:
    return b"\xc0\x0c" + kind.to_bytes(2) + b"\0\1\0\0\0\x3c" + len(value).to_bytes(2) + value


def test_an_answer_with_an_alias_and_both_kinds_of_address() -> None:
    message = read_message(answer(record(5, b"\1b\xc0\x0e"), record(1, bytes([192, 0, 2, 1])), record(28, b"\x20\x01" + bytes(13) + b"\1")))
    assert message is not None
    assert (message.number, message.response, message.name, message.kind) == (0x1234, True, "a.test", 1)
    assert message.addresses == ("192.0.2.1", "2001::1")


def test_an_answer_that_is_cut_off_and_what_is_no_message() -> None:
    cut = read_message(answer(record(1, bytes([192, 0, 2, 1])), record(1, bytes(4)))[:-3])
    assert cut is not None
    assert cut.addresses == ("192.0.2.1",)
    assert read_message(b"GET / HTTP/1.0\r\n\r\n") is None
    assert read_message(b"") is None
