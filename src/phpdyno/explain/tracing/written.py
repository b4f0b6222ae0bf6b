"""Files outside some trees that were opened for writing, made, removed, renamed or changed.
Pure."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from phpdyno.explain.tracing.lines import UNFINISHED, Call, path_in, stands_for
from phpdyno.explain.tracing.trees import inside, joined
from phpdyno.model.inside.reach import Deed, Write

NOWHERE = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/pts", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")
_OWN_DESCRIPTOR = re.compile(r"/proc/(?:self|thread-self|\d+)/(?:task/\d+/)?fd/")
_FOR_WRITING = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b")
OPENING = frozenset({"open", "openat", "openat2", "creat"})
ABSENT = frozenset({"ENOENT", "ENOTDIR"})
REFUSED_BY_DISK = "EROFS"
_HERE = -1
Places = tuple[tuple[int, int], ...]
"""Where the arguments are: the directory that a path is relative to (_HERE: the working directory),
and the path."""
CALLS: dict[str, tuple[Deed, Places]] = {
    **dict.fromkeys(("open", "creat", "truncate"), ("written", ((_HERE, 0),))),
    **dict.fromkeys(("openat", "openat2"), ("written", ((0, 1),))),
    **dict.fromkeys(("mkdir", "mknod"), ("made", ((_HERE, 0),))),
    **dict.fromkeys(("mkdirat", "mknodat"), ("made", ((0, 1),))),
    **dict.fromkeys(("link", "symlink"), ("made", ((_HERE, 1),))),
    "symlinkat": ("made", ((1, 2),)),
    "linkat": ("made", ((2, 3),)),
    **dict.fromkeys(("unlink", "rmdir"), ("removed", ((_HERE, 0),))),
    "unlinkat": ("removed", ((0, 1),)),
    "rename": ("renamed", ((_HERE, 0), (_HERE, 1))),
    **dict.fromkeys(("renameat", "renameat2"), ("renamed", ((0, 1), (2, 3)))),
    **dict.fromkeys(("chmod", "chown", "lchown", "utime", "utimes"), ("changed", ((_HERE, 0),))),
    **dict.fromkeys(("fchmodat", "fchmodat2", "fchownat", "utimensat", "futimesat"), ("changed", ((0, 1),))),
}


class Written:
    """Takes calls in order. `ours` are trees that may be written to; `place` is the working
    directory of a process."""

    def __init__(self, ours: Sequence[str], place: Callable[[int], str]) -> None:
        self._ours = tuple(ours)
        self._place = place
        self._found: Counter[tuple[str, Deed, str]] = Counter()

    def take(self, call: Call) -> None:
        """One call; those that change no file are passed over, and so is one that found nothing to
        do."""
        deed, places = CALLS.get(call.name, ("written", ()))
        if not places or call.value == UNFINISHED or not _writes(call) or _idle(call, deed):
            return
        for directory, at in places:
            path = self._path(call, directory, at)
            if path and self._outside(path, call.error):
                self._found[path, deed, call.error] += 1

    def writes(self) -> tuple[Write, ...]:
        """All of them, most frequent first."""
        rows = [Write(path, deed, error, calls) for (path, deed, error), calls in self._found.items()]
        return tuple(sorted(rows, key=lambda row: (-row.calls, row.path, row.deed, row.error)))

    def _path(self, call: Call, directory: int, at: int) -> str:
        path = path_in(call.argument(at))
        if not path:
            return ""
        opened = call.opened.removesuffix(" (deleted)")
        if call.name in OPENING and opened.startswith("/"):
            # Where the kernel got to, links followed.
            return opened
        base = self._place(call.pid) if directory == _HERE else stands_for(call.argument(directory)) or self._place(call.pid)
        return joined(base, path)

    def _outside(self, path: str, error: str) -> bool:
        if inside(path, NOWHERE) or _OWN_DESCRIPTOR.match(path):
            return False
        # What is ours can be written to: where the disk says no, a link led out of it.
        return error == REFUSED_BY_DISK or not inside(path, self._ours)


def _writes(call: Call) -> bool:
    if call.name not in ("open", "openat", "openat2"):
        return True
    return bool(_FOR_WRITING.search(call.argument(1 if call.name == "open" else 2)))


def _idle(call: Call, deed: Deed) -> bool:
    """Whether a call found nothing to do: what it would remove or change is not there, what it
    would make is."""
    if call.error == "EINTR":
        return True
    if deed == "written":
        creates = call.name == "creat" or any("O_CREAT" in each for each in call.arguments)
        return call.error == "EEXIST" or (call.error in ABSENT and not creates)
    return call.error == "EEXIST" if deed == "made" else call.error in ABSENT
