"""What callgrind writes: instructions by function. Pure.

Only what its text has with `--dump-instr=no` and one event; names are given once and stand as
numbers from then on.
"""

import re
from collections.abc import Iterable, Mapping, Set
from pathlib import PurePath

from msgspec import Struct

Function = tuple[str, str]
"""The file that it is in (its last part), and its name."""
_NAMED = re.compile(r"\((\d+)\)(?: (.*))?$")
_ADDRESS = re.compile(r"0x0*([0-9a-f]+)$")
_RECURSIVE = re.compile(r"'\d+$")
_VERSIONED = re.compile(r"@@?[A-Z][A-Z0-9_.]*$")
NO_FILE = "???"
COST = frozenset("0123456789+-*")


class Dump(Struct, frozen=True):
    """Instructions between two dumps: all of them, each function's own, and those together with
    what it called.

    `recursive` are functions that come back to themselves: what they call is counted in them more
    than once.
    """

    total: int
    own: Mapping[Function, int]
    inclusive: Mapping[Function, int]
    recursive: Set[Function] = frozenset()


class _Names:
    """Numbers of names as they are given; those of files, objects and functions are counted
    apart."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def read(self, kind: str, text: str) -> str:
        """The name that a text stands for. Raises ValueError for a number that was not given
        before."""
        match = _NAMED.match(text)
        if match is None:
            return text
        if match[2] is not None:
            self._known[kind, match[1]] = match[2]
        elif (kind, match[1]) not in self._known:
            raise ValueError(f"{kind} {match[1]} has no name")
        return self._known[kind, match[1]]


class _Reader:
    """Takes the lines of one dump in turn."""

    def __init__(self) -> None:
        self.own: dict[Function, int] = {}
        self.inclusive: dict[Function, int] = {}
        self.calls: dict[Function, set[Function]] = {}
        self.total: int | None = None
        self._names = _Names()
        self._object = self._called_object = NO_FILE
        self._function: Function = ("", "")
        self._called: Function = ("", "")
        self._after_calls = False

    def take(self, line: str) -> None:
        if line[:1] in COST:
            self._cost(line)
            return
        word, _, value = line.partition("=")
        match word:
            case "ob":
                # What is called is in the same file unless another one is named.
                self._object = self._called_object = self._names.read("ob", value)
            case "cob":
                self._called_object = self._names.read("ob", value)
            case "fn":
                self._function = _function(self._object, self._names.read("fn", value))
            case "cfn":
                self._called = _function(self._called_object, self._names.read("fn", value))
                self._called_object = self._object
            case "calls":
                self._after_calls = True
            case _ if line.startswith("totals:"):
                self.total = int(line.split()[1])

    def _cost(self, line: str) -> None:
        cells = line.split()
        cost = int(cells[1]) if len(cells) > 1 else 0
        if not self._after_calls:
            self.own[self._function] = self.own.get(self._function, 0) + cost
        else:
            self.calls.setdefault(self._function, set()).add(self._called)
        self._after_calls = False
        self.inclusive[self._function] = self.inclusive.get(self._function, 0) + cost


def read_dump(lines: Iterable[str]) -> Dump:
    """One dump of `--tool=callgrind`. Raises ValueError when it is none, or is cut off before its
    total."""
    reader = _Reader()
    for line in lines:
        reader.take(line.rstrip("\n"))
    if reader.total is None:
        raise ValueError("no whole dump of callgrind: it has no total")
    told = sum(reader.own.values())
    if told != reader.total:
        raise ValueError(f"a dump of callgrind whose functions have {told} instructions together, and not its total of {reader.total}")
    return Dump(reader.total, reader.own, reader.inclusive, in_cycles(reader.calls))


def _function(place: str, name: str) -> Function:
    """`execute_ex` of `execute_ex'2`, `write` of `write@@GLIBC_2.2.5`; an address without the zeros
    before it."""
    plain = _VERSIONED.sub("", _RECURSIVE.sub("", name))
    address = _ADDRESS.match(plain)
    file = "" if place == NO_FILE else PurePath(place).name
    return file, f"0x{address[1]}" if address else plain


def in_cycles(calls: Mapping[Function, Set[Function]]) -> frozenset[Function]:
    """Functions from which a way along the calls leads back to themselves: strongly connected,
    after Kosaraju."""
    callers: dict[Function, set[Function]] = {}
    for caller, called in calls.items():
        for each in called:
            callers.setdefault(each, set()).add(caller)
    done: set[Function] = set()
    order = [each for first in calls for each in _finished(first, calls, done)]
    taken: set[Function] = set()
    groups = (_finished(last, callers, taken) for last in reversed(order))
    return frozenset(each for group in groups for each in group if len(group) > 1 or each in calls.get(each, ()))


def _finished(first: Function, edges: Mapping[Function, Set[Function]], seen: set[Function]) -> list[Function]:
    """What can be reached from a function and is not seen yet, each after all that it leads to.
    Calls may be deep, so no recursion."""
    if first in seen:
        return []
    seen.add(first)
    found: list[Function] = []
    way = [(first, iter(edges.get(first, ())))]
    while way:
        function, rest = way[-1]
        fresh = next((each for each in rest if each not in seen), None)
        if fresh is None:
            found.append(function)
            way.pop()
        else:
            seen.add(fresh)
            way.append((fresh, iter(edges.get(fresh, ()))))
    return found
