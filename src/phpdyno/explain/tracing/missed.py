"""Files outside some trees that were looked for and are not there. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence

from phpdyno.explain.tracing.lines import Call, path_in, stands_for
from phpdyno.explain.tracing.trees import inside, joined
from phpdyno.explain.tracing.written import ABSENT
from phpdyno.model.inside.reach import Missed

CALLS: dict[str, tuple[int | None, int]] = {
    **dict.fromkeys(("open", "stat", "lstat", "access", "readlink", "chdir"), (None, 0)),
    **dict.fromkeys(("openat", "openat2", "newfstatat", "statx", "faccessat", "faccessat2", "readlinkat"), (0, 1)),
}
"""Where the arguments are: the directory that a path is relative to (None: the working directory),
and the path."""


OF_THE_LOADER = "/etc/ld.so."
"""What each program that is started looks for, whatever the app is."""


class MissedFiles:
    """Counts the files that system calls looked for and did not find.

    `ours` are trees of which what is missing says nothing; `place` is the working directory of a
    process.
    """

    def __init__(self, ours: Sequence[str], place: Callable[[int], str]) -> None:
        self._ours = tuple(ours)
        self._place = place
        self._found: Counter[str] = Counter()

    def take(self, call: Call) -> None:
        """Take the next call; one that found its file is passed over."""
        if call.error not in ABSENT or call.name not in CALLS:
            return
        directory, at = CALLS[call.name]
        path = path_in(call.argument(at))
        base = self._place(call.pid) if directory is None else stands_for(call.argument(directory)) or self._place(call.pid)
        place = joined(base, path) if path else ""
        if place.startswith("/") and not place.startswith(OF_THE_LOADER) and not inside(place, self._ours):
            self._found[place] += 1

    def missed(self) -> tuple[Missed, ...]:
        """The files that were not there, most frequent first."""
        return tuple(Missed(path, calls) for path, calls in sorted(self._found.items(), key=lambda each: (-each[1], each[0])))
