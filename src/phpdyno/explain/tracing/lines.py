"""The lines of `strace -f -y -o FILE`, as calls with their arguments. Pure; a line that cannot be
read is left out, never an error."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|(?<=[\w)])<[^<>]*>|[\[\]{}(),]')
"""A string, a remark, what a descriptor stands for, or a mark that matters where arguments end."""
_HEAD = re.compile(r"(?:\[pid +)?(?:(\d{1,10})\]? +)?(\w+)\(")
_UNFINISHED = re.compile(r"^(?:(\d+) +)?(.*?) ?<(?:unfinished \.\.\.|detached \.\.\.)>$", re.DOTALL)
_RESUMED = re.compile(r"^(?:(\d+) +)?<\.\.\. (\w+) resumed>(.*)$", re.DOTALL)
_ENDED = re.compile(r"^(?:(\d+) +)?\+\+\+ ")
_RESULT = re.compile(r"\s*= (-?\d{1,20}|0x[0-9a-f]+|\?)(?:<([^<>]*)>(?:\(deleted\))?)?(?: ([A-Z][A-Z0-9]+)\b)?(.*)", re.DOTALL)
_HOST_PID = re.compile(r"/\* (\d{1,10}) in strace's PID NS \*/")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NOTE = re.compile(r"^(-?\d+|AT_FDCWD)(?:<([^<>]*)>)?(?:\(deleted\))?$")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b", b"e": b"\x1b"}
_OPENING, _CLOSING = "([{", ")]}"
UNFINISHED = "?"


class Call(Struct, frozen=True):
    """One call that has ended, or that had not when strace let go (its value is `?`)."""

    pid: int
    name: str
    arguments: tuple[str, ...]
    value: str
    error: str = ""
    """As ENOENT; empty for success."""
    opened: str = ""
    """What the descriptor that it gave stands for: a path, `socket:[7]`."""
    host_pid: int = 0
    """The process that it gave, where that is in another PID namespace: as the host counts."""

    def argument(self, place: int) -> str:
        """The argument at a place, '' where the line has fewer."""
        return self.arguments[place] if place < len(self.arguments) else ""


def calls_in(lines: Iterable[str]) -> Iterator[Call]:
    """Every call, in the order of their ends. A call that another process interrupts on paper is
    put together again."""
    begun: dict[str, str] = {}
    for raw in lines:
        line = raw.rstrip("\n")
        if resumed := _RESUMED.match(line):
            line = begun.pop(resumed[1] or "", "") + resumed[3]
        elif unfinished := _UNFINISHED.match(line):
            begun[unfinished[1] or ""] = line[: unfinished.end(2)]
            continue
        elif ended := _ENDED.match(line):
            line = begun.pop(ended[1] or "", "")
        if call := _call(line):
            yield call
    for line in begun.values():
        if call := _call(line):
            yield call


def _call(line: str) -> Call | None:
    head = _HEAD.match(line)
    if head is None:
        return None
    arguments, end = _arguments(line, head.end())
    pid = int(head[1] or 0)
    result = _RESULT.match(line, end)
    if result is None:
        return Call(pid, head[2], arguments, UNFINISHED)
    if (result[3] or "").startswith("ERESTART"):
        # It is asked again, or ends with EINTR, which is a line of its own.
        return None
    host = _HOST_PID.search(result[4])
    return Call(
        pid=pid,
        name=head[2],
        arguments=arguments,
        value=result[1],
        error=result[3] or "",
        opened=text(unescaped(result[2] or "")),
        host_pid=int(host[1]) if host else 0,
    )


def _arguments(line: str, start: int) -> tuple[tuple[str, ...], int]:
    """The arguments from `start` on, and where the closing bracket ends; a line that breaks off has
    none."""
    found: list[str] = []
    depth = 0
    begin = start
    for token in _TOKEN.finditer(line, start):
        mark = token[0]
        if mark in _OPENING:
            depth += 1
        elif mark in _CLOSING and depth:
            depth -= 1
        elif (mark == "," or mark in _CLOSING) and not depth:
            found.append(line[begin : token.start()].strip())
            begin = token.end()
            if mark != ",":
                return tuple(found), begin
    return (*found, line[begin:].strip()), len(line)


def unescaped(quoted: str) -> bytes:
    """The bytes that strace wrote as C would: octal, hexadecimal, or a letter after a backslash."""
    return _ESCAPE.sub(_byte, quoted.encode(errors="surrogateescape"))


def _byte(found: re.Match[bytes]) -> bytes:
    code: bytes = found[1]
    if code[:1] == b"x" and len(code) == 3:
        return bytes([int(code[1:], 16)])
    if code[:1] in b"01234567":
        return bytes([int(code, 8) & 0xFF])
    return _LETTERS.get(code, code)


def text(found: bytes) -> str:
    """Bytes as text; those that are no UTF-8 are written out."""
    return found.decode(errors="backslashreplace")


def strings(argument: str) -> tuple[bytes, ...]:
    """All strings of an argument, in order."""
    return tuple(unescaped(each[1]) for each in _STRING.finditer(argument))


def path_in(argument: str) -> str:
    """The path that an argument is, '' when it is none (NULL, an address)."""
    found = strings(argument) if argument.startswith('"') else ()
    return text(found[0]) if found else ""


def stands_for(descriptor: str) -> str:
    """What `-y` says of a descriptor: the path, `socket:[7]`; '' when nothing."""
    found = _NOTE.match(descriptor)
    return text(unescaped(found[2] or "")).removesuffix(" (deleted)") if found else ""
