"""PHP's stack as it lies in the memory of a worker that stands still. Pure: what reads memory is
given.

Of the engine's structures only what has been the same from PHP 7.0 to 8.4 on 64-bit machines is
taken for granted; the two places that differ from version to version are looked for in a worker
that is known to be asleep in a function of ours.
"""

import struct
from collections.abc import Callable

from msgspec import Struct

Read = Callable[[int, int], bytes]
"""So many bytes from an address; fewer, or none, where that is not mapped."""

EXECUTE_DATA = 80
FUNC, PREVIOUS = 24, 48
"""In zend_execute_data: the function that runs, and its caller's data."""
INTERNAL, USER, EVAL = 1, 2, 4
NAME, SCOPE, FUNCTION_HEAD = 8, 16, 24
"""In zend_function: name (NULL: a file's own code) and class."""
CLASS_NAME = 8
LENGTH, TEXT = 16, 24
"""In zend_string."""
MOST_FRAMES = 1000
LONGEST_NAME = 4096
WINDOW = 16384
"""Frames lie below each other in one piece of memory, which is read at once."""
OP_ARRAY = 320
LOWEST = 0x1000
HIGHEST = 1 << 48
"""Of arm64 with addresses of 48 bits, where mappings lie at the top; on x86-64 it is half of it."""
OUTSIDE = "(outside PHP code)"


class PhpLayout(Struct, frozen=True):
    """Where a worker has the data of the function that runs, and where in an op_array the name of
    its file is."""

    current: int
    filename: int


class StackReader:
    """Reads stacks of one worker; names are kept by the places that they were read from."""

    def __init__(self, read: Read, layout: PhpLayout) -> None:
        self._read = read
        self._layout = layout
        self._names: dict[tuple[int, bytes], str] = {}
        self._window = b""
        self._window_at = 0

    def stack(self) -> tuple[str, ...] | None:
        """Functions and files, the outermost first; empty where no PHP code runs, None for what is
        no stack."""
        self._window = b""
        data = _pointer(self._read(self._layout.current, 8), 0)
        found: list[str] = []
        for _ in range(MOST_FRAMES):
            if not data:
                return tuple(reversed(found))
            frame = self._frame(data)
            if len(frame) < EXECUTE_DATA:
                return None
            function = _pointer(frame, FUNC)
            if function:
                name = self._name(function)
                if name is None:
                    return None
                if name:
                    found.append(name)
            data = _pointer(frame, PREVIOUS)
        return None

    def _frame(self, data: int) -> bytes:
        at = data - self._window_at
        if not 0 <= at <= len(self._window) - EXECUTE_DATA:
            start = max(LOWEST, data + EXECUTE_DATA - WINDOW)
            self._window, self._window_at = self._read(start, data + EXECUTE_DATA - start), start
            if len(self._window) != data + EXECUTE_DATA - start:
                # What lies below is not mapped.
                self._window, self._window_at = self._read(data, EXECUTE_DATA), data
            at = data - self._window_at
        return self._window[at : at + EXECUTE_DATA]

    def _name(self, function: int) -> str | None:
        """'' for the engine's own function below a Fiber, which has none; None for what is no
        function."""
        head = self._read(function, FUNCTION_HEAD)
        if len(head) < FUNCTION_HEAD or head[0] not in (INTERNAL, USER, EVAL):
            return None
        key = function, head
        if key not in self._names:
            self._names[key] = self._read_name(function, head)
        return self._names[key]

    def _read_name(self, function: int, head: bytes) -> str:
        file = self._text(_pointer(self._read(function + self._layout.filename, 8), 0)) if head[0] != INTERNAL else ""
        if not _pointer(head, NAME):
            return file
        name = self._text(_pointer(head, NAME))
        if name == "{closure}":
            return f"{{closure:{file}}}"
        scope = _pointer(head, SCOPE)
        if not scope or not name:
            return name
        kind = self._text(_pointer(self._read(scope + CLASS_NAME, 8), 0))
        # The file is part of an anonymous class's name, after a zero byte.
        return f"{kind.partition(chr(0))[0]}::{name}"

    def _text(self, string: int) -> str:
        return text_at(self._read, string)


def text_at(read: Read, string: int) -> str:
    """What a zend_string says; '' where none is."""
    length = _pointer(read(string + LENGTH, 8), 0) if LOWEST <= string < HIGHEST else 0
    if not 0 < length <= LONGEST_NAME:
        return ""
    text = read(string + TEXT, length)
    return text.decode(errors="replace") if len(text) == length else ""


def find_layout(read: Read, globals_at: int, size: int, *, function: str, file: str) -> PhpLayout | None:
    """The layout of a worker that is asleep in an internal function called by `function` of `file`;
    None where it cannot be found.

    `globals_at` and `size` are of the symbol executor_globals.
    """
    whole = read(globals_at, size)
    for offset in range(0, len(whole) - 7, 8):
        caller = _caller(read, _pointer(whole, offset), function)
        if caller is None:
            continue
        array = read(caller, OP_ARRAY)
        for place in range(FUNCTION_HEAD, len(array) - 7, 8):
            if text_at(read, _pointer(array, place)) == file:
                return PhpLayout(globals_at + offset, place)
    return None


def _caller(read: Read, data: int, function: str) -> int | None:
    """The function that called the internal one whose data this is, when it is the one that is
    looked for."""
    frame = read(data, EXECUTE_DATA) if LOWEST <= data < HIGHEST else b""
    if len(frame) < EXECUTE_DATA:
        return None
    inner = read(_pointer(frame, FUNC), FUNCTION_HEAD)
    outer_frame = read(_pointer(frame, PREVIOUS), EXECUTE_DATA)
    if inner[:1] != bytes([INTERNAL]) or len(outer_frame) < EXECUTE_DATA:
        return None
    outer = _pointer(outer_frame, FUNC)
    head = read(outer, FUNCTION_HEAD)
    if head[:1] != bytes([USER]) or text_at(read, _pointer(head, NAME)) != function:
        return None
    return outer


def _pointer(data: bytes, at: int) -> int:
    """The 64-bit number at a place; 0 where the bytes end before it."""
    if len(data) < at + 8:
        return 0
    value: int = struct.unpack_from("<Q", data, at)[0]
    return value
