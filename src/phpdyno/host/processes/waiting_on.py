"""What a process waits on at this moment: its system call and the descriptor of it, for root.
Nothing is attached to it."""

import os
import platform
import struct

from phpdyno.host.files.small_files import SmallFiles

_X86 = {
    **{
        0: "read",
        1: "write",
        7: "poll",
        16: "ioctl",
        23: "select",
        34: "pause",
        35: "nanosleep",
        42: "connect",
        43: "accept",
        44: "sendto",
    },
    **{45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 202: "futex"},
    **{230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait"},
    288: "accept4",
}
_ARM = {
    **{22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 56: "openat", 63: "read", 64: "write", 72: "pselect6", 73: "ppoll"},
    **{82: "fsync", 83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 202: "accept", 203: "connect"},
    **{206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 260: "wait4"},
}
_NAMES = {"x86_64": _X86, "aarch64": _ARM}.get(platform.machine(), {})
_OF_DESCRIPTOR = frozenset(
    {
        "read",
        "write",
        "ioctl",
        "connect",
        "accept",
        "accept4",
        "sendto",
        "recvfrom",
        "sendmsg",
        "recvmsg",
        "fcntl",
        "flock",
        "fsync",
        "fdatasync",
    }
)
_SLEEPS = frozenset({"nanosleep", "clock_nanosleep", "pause"})


def waiting_on(pid: int, tree: SmallFiles | None = None) -> str:
    """What a process waits on, in words; '' where it may not be read or the process has ended."""
    tree = tree or SmallFiles()
    told = tree.text(f"/proc/{pid}/syscall")
    if not told:
        return ""
    if told == "running":
        return "it computes"
    number, *values = told.split()
    if number == "-1":
        return "it waits within the kernel"
    name = _NAMES.get(int(number), f"system call {number}")
    if name in _SLEEPS:
        return f"it sleeps ({name})"
    descriptor = int(values[0], 16) if name in _OF_DESCRIPTOR else _polled(pid, name, values, tree)
    thing = "" if descriptor is None else _thing(pid, descriptor, tree)
    return f"{name} on {thing}" if thing else name


def _polled(pid: int, name: str, values: list[str], tree: SmallFiles) -> int | None:
    """The first descriptor that a poll waits for, from the process's memory."""
    if name not in {"poll", "ppoll"}:
        return None
    try:
        memory = os.open(tree.path(f"/proc/{pid}/mem"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return int(struct.unpack("=i", os.pread(memory, 4, int(values[0], 16)))[0])
    except (OSError, struct.error, OverflowError):
        return None
    finally:
        os.close(memory)


def _thing(pid: int, descriptor: int, tree: SmallFiles) -> str:
    try:
        link = os.readlink(tree.path(f"/proc/{pid}/fd/{descriptor}"))  # noqa: PTH115 (the text: it may name no path)
    except OSError:
        return ""
    if not link.startswith("socket:["):
        return link
    return peer_of(pid, link[8:-1], tree) or "a unix socket"


def peer_of(pid: int, inode: str, tree: SmallFiles) -> str:
    """The other end of a TCP connection, by its socket's inode, in the network of a process; ''
    where it is none."""
    for table in ("tcp", "tcp6"):
        for line in (tree.text(f"/proc/{pid}/net/{table}") or "").splitlines()[1:]:
            fields = line.split(None, 10)
            if len(fields) > 9 and fields[9] == inode:
                address, _, port = fields[2].partition(":")
                return f"{_address(address)}:{int(port, 16)}"
    return ""


def _address(digits: str) -> str:
    words = [int(digits[at : at + 8], 16).to_bytes(4, "little") for at in range(0, len(digits), 8)]
    packed = b"".join(words)
    if len(packed) == 16 and packed.startswith(b"\0" * 10 + b"\xff\xff"):
        packed = packed[12:]
    if len(packed) == 4:
        return ".".join(map(str, packed))
    return "[" + ":".join(f"{int.from_bytes(packed[at : at + 2], 'big'):x}" for at in range(0, 16, 2)) + "]"
