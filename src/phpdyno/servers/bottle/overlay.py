"""A tree of the host as the bottle's processes see it: what they write goes to a place of the run's
own, and nothing is copied before.

Runs in what the guardian forks. The tree is opened once, with the rights of whom it is read for,
and all else goes by descriptors that follow no links: nothing is walked or changed with root's
rights by a path that somebody else can change.
"""

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phpdyno.host import namespaces as kernel
from phpdyno.servers.bottle.making import Bottle

PLACE = "/.app"
"""Where the trees stand in the bottle, each below its name; closed to all but who made the
bottle."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OWN_FILE, OWN_FOLDER = 0o600, 0o700
_ESCAPED = re.compile(r"\\([0-7]{3})")
_GONE = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENOENT})
MOST_TOLD = 50
NO_ID = (1 << 32) - 1
OWNER = "owner"
"""What an error names where something in a tree is another account's and may not be given to
ours."""


def extent(bottle: Bottle, request: dict[str, Any]) -> dict[str, Any]:
    """How many `files` and `bytes` are in the tree `source`, read with the rights of `reader`, and
    the `owner` (user and group) of most of them; not counted beyond `most_files`."""

    def count() -> dict[str, Any]:
        kernel.setns(bottle.host, kernel.NEWNS)
        with _rights_of(request["reader"]):
            held = _opened(request["source"])
            return _counted(os.open(".", FOLDER, dir_fd=held), request["most_files"])

    found: dict[str, Any] = kernel.forked(count)
    return found


def _counted(top: int, most: int) -> dict[str, Any]:
    status = os.fstat(top)
    owners = Counter({(status.st_uid, status.st_gid): 1})
    count = size = 0
    for _, _, files, folder in os.fwalk(".", dir_fd=top):
        for name in files:
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue
            count, size = count + 1, size + status.st_size
            owners[status.st_uid, status.st_gid] += 1
        if count > most:
            break
    # (Counter.most_common imports a module, which this account need not be able to read.)
    return {"files": count, "bytes": size, "owner": max(owners, key=owners.__getitem__)}


def stand(bottle: Bottle, request: dict[str, Any]) -> dict[str, Any]:
    """Let a tree stand in the bottle: `seen`, its path there, and `unreadable`, paths that may not
    be read.

    `source` is the tree, by a path without links, `name` its name here, `reader` the account with
    whose rights it is read (None: ours). `cow` is a directory of the run's own for what is written.
    As root, ids are shifted: what belongs to the reader on disk (None: to `owner`) belongs to
    `account` in the bottle, and so does from then on whatever else the reader may read. `gone` are
    paths in the tree that are not to be seen, `emptied` others of which, where one is a directory,
    that stays, with nothing in it. Raises OSError: it cannot be opened, or this kernel or disk has
    no overlay.
    """
    found: dict[str, Any] = kernel.forked(lambda: _stand(bottle, request))
    return found


def _stand(bottle: Bottle, request: dict[str, Any]) -> dict[str, Any]:
    kernel.setns(bottle.host, kernel.NEWNS)
    account = request["account"]
    with _rights_of(request["reader"]):
        top = _opened(request["source"])
        parts = [("", top), *((place, _opened_below(top, place)) for place in _mounted_below(request["source"]))]
    trees = [(place, kernel.clone_tree("", at=part)) for place, part in parts]
    cows = [kernel.clone_tree(request["cow"]) for _ in parts]
    shift = _shift(request["reader"] or request["owner"], account) if account else None
    for _, tree in trees:
        if shift is not None:
            kernel.set_attributes(tree, kernel.IDMAP, user_namespace=shift)
        kernel.set_attributes(tree, kernel.RDONLY | kernel.NOSUID | kernel.NODEV)
    kernel.setns(bottle.mounts, kernel.NEWNS)
    home = f"{PLACE}/{request['name']}"
    os.makedirs(PLACE, mode=0o700, exist_ok=True)  # noqa: PTH103 (the guardian works on texts)
    os.mkdir(home)  # noqa: PTH102
    seen = f"{home}/seen"
    os.mkdir(seen)  # noqa: PTH102
    for number, ((place, tree), cow) in enumerate(zip(trees, cows, strict=True)):
        _overlay((tree, cow), f"{home}/{number}", f"{seen}/{place}" if place else seen, request, first=not place)
    return {"seen": seen, "unreadable": _give(seen, account, as_account=request["reader"] is not None)}


@contextmanager
def _rights_of(account: list[int] | None) -> Iterator[None]:
    """Those of an account and no others, for as long as it is entered: who may not come so far gets
    no further by asking root."""
    if account is None:
        yield
        return
    os.setgroups([])
    os.setegid(account[1])
    os.seteuid(account[0])
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def _opened(path: str) -> int:
    """A directory whose path holds no link, or it is an error: who could put one there would lead
    us."""
    top = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return _opened_below(top, path.strip("/"))


def _opened_below(top: int, place: str) -> int:
    folder = os.dup(top)
    for part in place.split("/"):
        inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        os.close(folder)
        folder = inner
    return folder


def _shift(disk: list[int], here: list[int]) -> int:
    """An open user namespace that stands for one account of the disk being another one here, and
    all others themselves."""
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(go_write)
            kernel.unshare(kernel.NEWUSER)
            os.write(ready_write, b"1")
            os.read(go_read, 1)
        finally:
            os._exit(0)
    os.close(ready_write)
    os.close(go_read)
    os.read(ready_read, 1)
    try:
        kernel.map_ids(pid, *(_swapped(*pair) for pair in zip(disk, here, strict=True)))
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(go_write)
        os.waitpid(pid, 0)


def _swapped(disk: int, here: int) -> list[tuple[int, int, int]]:
    """Ranges that let one id be another one and all others be themselves, but for the two: what has
    no id here can be given to nobody."""
    first, last = sorted((disk, here))
    ranges = [(disk, here, 1), (0, 0, first), (first + 1, first + 1, last - first - 1), (last + 1, last + 1, NO_ID - last - 1)]
    return [each for each in ranges if each[2] > 0]


def _mounted_below(source: str) -> list[str]:
    """Paths, relative to the tree's top and the outer ones first, of what is mounted in it: an
    overlay shows one file system."""
    found = set()
    for line in Path("/proc/thread-self/mountinfo").read_bytes().decode(errors="surrogateescape").splitlines():
        place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), line.split(" ")[4])
        if place.startswith(f"{source}/"):
            found.add(place.removeprefix(f"{source}/"))
    return sorted(found)


def _overlay(layers: tuple[int, int], home: str, seen: str, request: dict[str, Any], *, first: bool) -> None:
    """One file system's part of the tree, seen at `seen`."""
    os.mkdir(home)  # noqa: PTH102
    os.chdir(home)
    for name in ("lower", "cow"):
        os.mkdir(name)  # noqa: PTH102
    for tree, name in zip(layers, ("lower", "cow"), strict=True):
        kernel.attach_tree(tree, name)
    upper, work = (f"cow/{name}-{os.path.basename(home)}" for name in ("upper", "work"))  # noqa: PTH119
    for name in (upper, work):
        os.mkdir(name)  # noqa: PTH102
    _like("lower", upper)
    # Renaming a directory needs redirect_dir, giving a file away without copying it metacopy;
    # neither is to be had without privileges.
    privileged = bool(request["account"])
    for place in request["gone"] if first else ():
        _leave_out(place, upper, "")
    for place in request["emptied"] if first else ():
        _leave_out(place, upper, "trusted" if privileged else "user")
    options = "redirect_dir=on,metacopy=on" if privileged else "userxattr"
    data = f"lowerdir=lower,upperdir={upper},workdir={work},{options}"
    kernel.mount("overlay", seen, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, data)


def _like(source: str, made: str) -> None:
    status = os.stat(source)  # noqa: PTH116
    if os.geteuid() == 0:
        os.chown(made, status.st_uid, status.st_gid)
    os.chmod(made, stat.S_IMODE(status.st_mode) & 0o777)  # noqa: PTH101


def _leave_out(place: str, upper: str, space: str) -> None:
    """Write down in the upper layer, as an overlay does, that something is gone; or, where `space`
    names the attributes for that, that nothing is in a directory any more."""
    lower = "lower"
    *above, name = place.split("/")
    for part in above:
        lower, upper = f"{lower}/{part}", f"{upper}/{part}"
        if os.path.islink(lower) or not os.path.isdir(lower):  # noqa: PTH112, PTH114
            return
        if not os.path.isdir(upper):  # noqa: PTH112
            os.mkdir(upper)  # noqa: PTH102
            _like(lower, upper)
    lower, upper = f"{lower}/{name}", f"{upper}/{name}"
    if not os.path.lexists(lower):
        return
    if not space or os.path.islink(lower) or not os.path.isdir(lower):  # noqa: PTH112, PTH114
        os.mknod(upper, stat.S_IFCHR, os.makedev(0, 0))
        return
    os.mkdir(upper)  # noqa: PTH102
    _like(lower, upper)
    os.setxattr(upper, f"{space}.overlay.opaque", b"y")


def _give(top: str, account: list[int] | None, *, as_account: bool) -> list[str]:
    """Let an account own, read and write what is in a tree; paths that it could not open, where
    `as_account` each is opened by it first.

    `account` None: we are it. What is not readable to it stays as it is. Raises OSError where
    something is another's that we may not give.
    """
    giving = _Giving(account, as_account=as_account)
    folder = giving.opened(".", os.open(top, os.O_PATH | os.O_CLOEXEC), FOLDER)  # the way there is closed to it
    if folder is None:
        return ["."]
    try:
        giving.below(folder, "")
        giving.change(folder, os.fstat(folder), OWN_FOLDER)
    finally:
        os.close(folder)
    return giving.unreadable


class _Giving:
    def __init__(self, account: list[int] | None, *, as_account: bool) -> None:
        self._uid, self._gid = account or (os.geteuid(), os.getegid())
        self._switch = account is not None
        self._account = account if as_account else None
        self.unreadable: list[str] = []

    def below(self, folder: int, path: str) -> None:
        """Everything in an opened directory."""
        with os.scandir(folder) as entries:
            held = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        for name, status in held:
            if stat.S_ISDIR(status.st_mode):
                self._folder(folder, name, f"{path}{name}/")
            elif stat.S_ISLNK(status.st_mode):
                if self._switch and status.st_uid != self._uid:
                    os.chown(name, self._uid, self._gid, dir_fd=folder, follow_symlinks=False)
            elif stat.S_ISREG(status.st_mode) and self._wanting(status, OWN_FILE):
                self._file(folder, name, f"{path}{name}")

    def _folder(self, folder: int, name: str, path: str) -> None:
        below = self.opened(name, folder, FOLDER, path)
        if below is not None:
            try:
                self.below(below, path)
                self.change(below, os.fstat(below), OWN_FOLDER)
            finally:
                os.close(below)

    def _file(self, folder: int, name: str, path: str) -> None:
        file = self.opened(name, folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, path)
        if file is not None:
            try:
                status = os.fstat(file)
                if stat.S_ISREG(status.st_mode):
                    self.change(file, status, OWN_FILE)
            finally:
                os.close(file)

    def opened(self, name: str, folder: int, flags: int, path: str = "") -> int | None:
        """None where it may not be read, or is another thing than a moment ago."""
        try:
            with _rights_of(self._account):
                return os.open(name, flags, dir_fd=folder)
        except PermissionError:
            if len(self.unreadable) < MOST_TOLD:
                self.unreadable.append(path or name)
        except OSError as error:
            if error.errno not in _GONE:
                raise
        return None

    def _wanting(self, status: os.stat_result, least: int) -> bool:
        return status.st_uid != self._uid or status.st_mode & least != least

    def change(self, held: int, status: os.stat_result, least: int) -> None:
        """Own it, and may do with it what `least` says."""
        if status.st_uid != self._uid:
            if not self._switch:
                raise OSError(errno.EPERM, os.strerror(errno.EPERM), OWNER)
            os.fchown(held, self._uid, self._gid)
        if status.st_mode & least != least:
            os.fchmod(held, stat.S_IMODE(status.st_mode) & 0o777 | least)
