"""Processes: whose children they are, where they stand, and which programs PHP had executed.
Pure."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.explain.tracing.lines import UNFINISHED, Call, path_in, stands_for, strings, text
from phpdyno.explain.tracing.trees import joined
from phpdyno.model.inside.reach import Program

FORKS = frozenset({"fork", "vfork", "clone", "clone3"})
SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_SETS = re.compile(r"[A-Za-z_]\w*=")
MAILERS = frozenset({"sendmail", "msmtp", "ssmtp", "exim", "exim4", "postdrop", "qmail-inject", "nullmailer-inject"})


class _Executed(Struct, frozen=True):
    pid: int
    path: str
    arguments: tuple[str, ...]
    error: str


class ProcessTree:
    """Takes calls in order. `sendmail` are values of sendmail_path: a command that begins with one
    is mail."""

    def __init__(self, places: Mapping[int, str], sendmail: Sequence[str]) -> None:
        """`places`: working directories at the start, by process."""
        self._places = dict(places)
        self._parents: dict[int, int] = {}
        self._executed: list[_Executed] = []
        self._sendmail = tuple(each.strip() for each in sendmail if each.strip())

    def take(self, call: Call) -> None:
        """One call; those that say nothing of the process itself are passed over."""
        if call.name in FORKS and not call.error and call.value.isdecimal():
            self._parents[call.host_pid or int(call.value)] = call.pid
        elif call.name in ("execve", "execveat"):
            self._take_program(call)
        elif call.error:
            return
        elif call.name == "chdir":
            self._places[call.pid] = joined(self.place(call.pid), path_in(call.argument(0)))
        elif call.name == "fchdir":
            self._places[call.pid] = stands_for(call.argument(0))

    def place(self, pid: int) -> str:
        """Its working directory: its own, else that of the next ancestor that has one; '' when
        nobody has."""
        return next((self._places[each] for each in self._lineage(pid) if each in self._places), "")

    def programs(self) -> tuple[Program, ...]:
        """What PHP itself executed, most often first; what a shell or a program executes is its own
        affair."""
        done: set[int] = set()
        failed: dict[int, _Executed] = {}
        found: Counter[Program] = Counter()
        for each in self._executed:
            if not done.isdisjoint(self._lineage(each.pid)):
                continue
            if each.error:
                # The directories of PATH in turn: only the end of it counts.
                failed[each.pid] = each
                continue
            done.add(each.pid)
            failed.pop(each.pid, None)
            found[self._program(each)] += 1
        for each in failed.values():
            found[self._program(each)] += 1
        rows = [structs.replace(row, calls=calls) for row, calls in found.items()]
        return tuple(sorted(rows, key=lambda row: (-row.calls, row.name, row.error)))

    def _lineage(self, pid: int) -> list[int]:
        line = [pid]
        while (parent := self._parents.get(line[-1])) is not None and parent not in line:
            line.append(parent)
        return line

    def _take_program(self, call: Call) -> None:
        at = 1 if call.name == "execveat" else 0
        path = path_in(call.argument(at))
        if path and call.value != UNFINISHED:
            self._executed.append(_Executed(call.pid, path, tuple(map(text, strings(call.argument(at + 1)))), call.error))

    def _program(self, run: _Executed) -> Program:
        name = run.path.rpartition("/")[2]
        if name in SHELLS and len(run.arguments) >= 3 and run.arguments[1] == "-c":
            command = run.arguments[2].strip()
            return Program(_first_word(command), self._is_mail(command), run.error, 0)
        return Program(name if run.error else run.path, name in MAILERS, run.error, 0)

    def _is_mail(self, command: str) -> bool:
        known = _first_word(command).rpartition("/")[2] in MAILERS
        return known or any(command == each or command.startswith(f"{each} ") for each in self._sendmail)


def _first_word(command: str) -> str:
    """The program of a shell's command line: variables that are set before it may be secrets."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return next((each for each in words if not _SETS.match(each)), "")
