"""Files as a process sees them that has another root directory: no link and no `..` leads out of it
(openat2, Linux 5.6)."""

import ctypes
import fnmatch
import glob
import os
from collections.abc import Sequence
from pathlib import Path

_OPENAT2 = 437
_IN_ROOT = 0x10
_NO_MAGIC_LINKS = 0x02
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def below_root(top: int, path: Path | str, flags: int = _FLAGS) -> int:
    """Open what `path` is for a process whose root directory is the opened `top`; the caller closes
    it. Raises OSError."""
    how = _How(flags, 0, _IN_ROOT | _NO_MAGIC_LINKS)
    libc = ctypes.CDLL(None, use_errno=True)
    file = libc.syscall(_OPENAT2, ctypes.c_int(top), os.fsencode(path), ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))
    return int(file)


def glob_below(top: int | None, pattern: str) -> Sequence[Path]:
    """What a pattern names, without directories, in the order of its names; below an opened root
    only the last part may be a pattern."""
    if top is None:
        return [Path(found) for found in sorted(glob.glob(pattern)) if not Path(found).is_dir()]  # noqa: PTH207 (the pattern is absolute)
    if not glob.has_magic(pattern):
        return [Path(pattern)]
    folder, _, last = pattern.rpartition("/")
    try:
        opened = below_root(top, folder or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        names = [name for name in os.listdir(opened) if fnmatch.fnmatchcase(name, last)]  # noqa: PTH208 (a descriptor)
    finally:
        os.close(opened)
    return [Path(folder, name) for name in sorted(names) if last.startswith(".") or not name.startswith(".")]
