"""What /proc/PID/syscall says of a process: that it runs, or in which call it is parked, with its
arguments. Pure."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from phpdyno.explain.waits.syscall_numbers import call_name

Subject = Literal["idle", "descriptor", "many", "connect", "disk", "sleep", "lock", "process", "other"]
"""What tells the kind of a wait: the call alone, or the descriptor, descriptors or address that it
is about."""

PAGE_FAULT = "page fault"
_NAMES: Mapping[Subject, str] = {
    "idle": "accept accept4",
    "descriptor": "read write readv writev pread64 pwrite64 preadv pwritev sendfile sendto recvfrom sendmsg recvmsg recvmmsg sendmmsg "
    "close",
    "many": "poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2",
    "connect": "connect",
    "disk": "open openat openat2 creat stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents "
    "getdents64 fsync fdatasync truncate ftruncate fallocate rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat "
    "symlink symlinkat",
    "sleep": "nanosleep clock_nanosleep",
    "lock": "futex flock fcntl semop semtimedop",
    "process": "wait4 waitid vfork clone clone3 fork execve",
}
_SUBJECTS: Mapping[str, Subject] = {name: subject for subject, names in _NAMES.items() for name in names.split()}


class Parked(Struct, frozen=True):
    """The call in which a process sleeps, and the call's first arguments; `number` is -1 outside of
    a call, in a page fault."""

    number: int
    arguments: tuple[int, ...] = ()


def parked_in(text: bytes) -> Parked | None:
    """The content of /proc/PID/syscall; None for a process that runs, or wants to. Raises
    ValueError for anything else."""
    words = text.split()
    if words[:1] == [b"running"]:
        return None
    if not words:
        raise ValueError("nothing")
    number = int(words[0])
    if number < 0:
        return Parked(number)
    if len(words) != 9:
        raise ValueError(f"{len(words)} words")
    return Parked(number, tuple(int(word, 16) for word in words[1:7]))


def subject_of(parked: Parked, numbers: Mapping[int, str]) -> tuple[Subject, str]:
    """What tells the kind of this wait, and the call's name."""
    if parked.number < 0:
        return "disk", PAGE_FAULT
    name = call_name(numbers, parked.number)
    return _SUBJECTS.get(name, "other"), name
