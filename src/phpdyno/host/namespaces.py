"""System calls that Python 3.11 does not offer: namespaces, mounts, capabilities. All raise OSError
with the kernel's reason."""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from typing import Any

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_REC, MS_SLAVE = 0x2, 0x4, 0x4000, 1 << 19
MNT_DETACH = 2
RDONLY, NOSUID, NODEV, IDMAP = 0x1, 0x2, 0x4, 0x00100000
"""Attributes of a mount, for `set_attributes`."""

_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC, _MOVE_MOUNT_F_EMPTY_PATH = 1, os.O_CLOEXEC, 0x4
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # the same on every architecture
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 4, 24, 38, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK, _IFF_UP = 0x8913, 0x8914, 0x8916, 0x891C, 0x1

libc = ctypes.CDLL(None, use_errno=True)
"""For a call that has no function of its own here."""


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _checked(result: int, file: str = "") -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), file or None)
    return result


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _checked(libc.unshare(flags))


def enter_user_namespace() -> None:
    """As an ordinary user: have a user namespace of our own, with all privileges in it, in which
    our ids are what they were."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEWUSER)
    with open("/proc/self/setgroups", "w") as setgroups:  # noqa: PTH123 (as `map_ids` does)
        setgroups.write("deny")
    map_ids("self", [(uid, uid, 1)], [(gid, gid, 1)])


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace of this kind that an open file of /proc/PID/ns stands for; of the
    network, the calling thread alone."""
    _checked(libc.setns(descriptor, kind))


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """Mount a file system."""
    texts = [text.encode(errors="surrogateescape") if text else None for text in (source, target, kind)]
    _checked(libc.mount(*texts, ctypes.c_ulong(flags), os.fsencode(data) if data else None), target)


def unmount(target: str) -> None:
    """Detach what is mounted at a place."""
    _checked(libc.umount2(os.fsencode(target), MNT_DETACH), target)


def pivot_root(root: str) -> None:
    """Make a mounted directory the root, and detach the former one."""
    os.chdir(root)
    _checked(libc.pivot_root(b".", b"."), root)
    _checked(libc.umount2(b".", MNT_DETACH), root)
    os.chdir("/")


def apart_from_host() -> None:
    """In a mount namespace of our own: let nothing that is mounted from here on be seen outside.

    Whoever enters a mount namespace later stands at its root. In a chroot that is outside of it, so
    there the chroot's / becomes the root of the namespace.
    """
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        chrooted = _climb_out(here)
        mount("", "/", "", MS_REC | MS_SLAVE)
        if chrooted:
            os.fchdir(here)
            tree = clone_tree(".")
            attach_tree(tree, ".")
            os.fchdir(tree)
            os.close(tree)
            pivot_root(".")
    finally:
        os.close(here)


def _climb_out(here: int) -> bool:
    """Make the namespace's root ours, `here` being our root so far; whether that was another."""
    # With our root below the directory that we are in, nothing ends the way up.
    os.chroot("/proc")
    os.fchdir(here)
    steps, place = 0, _identity(".")
    while True:
        os.chdir("..")
        if place == (place := _identity(".")):
            break
        steps += 1
    os.chroot(".")
    return steps > 0


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 (of the directory that we are in)
    return found.st_dev, found.st_ino


def clone_tree(path: str, *, at: int = _AT_FDCWD) -> int:
    """A detached copy of the mounts at a path, those below it included; `at` and an empty path: of
    an open file."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE | (0 if path else _AT_EMPTY_PATH)
    return _checked(libc.syscall(_OPEN_TREE, at, os.fsencode(path), flags), path)


def attach_tree(tree: int, target: str) -> None:
    """Mount a detached copy at a place."""
    _checked(libc.syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH), target)


def set_attributes(tree: int, attributes: int, *, user_namespace: int = 0) -> None:
    """Set attributes of a detached copy and of all mounts in it; with IDMAP the ids of
    `user_namespace` take the place of those on disk."""
    held = _MountAttributes(attributes, 0, 0, user_namespace)
    flags = _AT_EMPTY_PATH | (0 if attributes & IDMAP else _AT_RECURSIVE)
    _checked(libc.syscall(_MOUNT_SETATTR, tree, b"", flags, ctypes.byref(held), ctypes.sizeof(held)))


def read_only(place: str) -> None:
    """Let nothing be written to the mount at a place; what is mounted in it stays as it is."""
    held = _MountAttributes(RDONLY, 0, 0, 0)
    _checked(libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(place), 0, ctypes.byref(held), ctypes.sizeof(held)), place)


def no_new_privileges() -> None:
    """No program that is executed from here on gives rights: setuid bits and file capabilities do
    nothing."""
    _checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def closed_to_others() -> None:
    """Let no other process of this account look into this one."""
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def drop_bounding_set() -> None:
    """Give up for good every capability that an executed program could bring. It needs
    CAP_SETPCAP."""
    capability = 0
    while libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up all capabilities that this process has."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    _checked(libc.capset(header, none))


def loopback_up() -> None:
    """Bring up the loopback interface of the network namespace that the calling thread is in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16sh22x", fcntl.ioctl(asking, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(asking, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))


def add_address(number: int, address: str) -> None:
    """Give the loopback interface of the network namespace that the calling thread is in a further
    address, the `number`th."""
    if ":" in address:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as asking:
            request = socket.inet_pton(socket.AF_INET6, address) + struct.pack("Ii", 128, socket.if_nametoindex("lo"))
            fcntl.ioctl(asking, _SIOCSIFADDR, request)
        return
    name = f"lo:{number}".encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for what, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.255")):
            fcntl.ioctl(asking, what, struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value)))


def map_ids(pid: int | str, users: list[tuple[int, int, int]], groups: list[tuple[int, int, int]]) -> None:
    """Write the maps of a process's user namespace: each a first id inside, a first one outside,
    and how many there are."""
    for file, ranges in (("uid_map", users), ("gid_map", groups)):
        with open(f"/proc/{pid}/{file}", "w") as maps:  # noqa: PTH123 (one write, which the kernel demands)
            maps.write("".join(f"{inside} {outside} {count}\n" for inside, outside, count in ranges))


def forked(work: Any) -> Any:
    """What `work` returns in a forked process that ends with it, as JSON; an OSError that it raises
    is raised here, and so is whatever else it raises, as an OSError that names it."""
    import json  # noqa: PLC0415 (kept beside its one use)

    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            try:
                answer: dict[str, Any] = {"value": work()}
            except OSError as error:
                answer = {"errno": error.errno, "file": str(error.filename or "")}
            except Exception as error:
                answer = {"errno": errno.EIO, "why": f"{type(error).__name__}: {error}", "file": ""}
            os.write(write_end, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        told = pipe.read()
    os.waitpid(pid, 0)
    answer = json.loads(told or b'{"errno": 5, "file": ""}')
    if "errno" in answer:
        raise OSError(answer["errno"], answer.get("why") or os.strerror(answer["errno"]), answer["file"] or None)
    return answer["value"]
