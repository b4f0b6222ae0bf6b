"""Paths and the trees that they are in. Pure: no link is followed."""

import posixpath
from collections.abc import Sequence


def joined(base: str, path: str) -> str:
    """An absolute path without `.` and `..`; a relative one whose base is unknown stays
    relative."""
    return posixpath.normpath(posixpath.join(base, path)).replace("//", "/")


def inside(path: str, trees: Sequence[str]) -> bool:
    """Whether it is one of them or below one."""
    return any(path == tree or path.startswith(tree.rstrip("/") + "/") for tree in trees)
