"""The rights that count where root reads what somebody else names: those of the account that owns
the link, the app.toml, the repository or its place."""

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from phpdyno.apps.files.copies import COPY_TIMEOUT_S, copy_as
from phpdyno.apps.files.unpack import unpack
from phpdyno.config.trusted import NOBODY, changeable, led_by
from phpdyno.errors import DynoError, UsageError
from phpdyno.host.files.plain import READ, opened
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.supervision.supervisor import Account, Supervisor

ELSEWHERE = "measure a copy of the app without this link"


def account_of(uid: int, *, where: str) -> Account:
    """An account with its own group, and no others. Raises UsageError for a number that this
    machine knows no account of."""
    try:
        return uid, pwd.getpwuid(uid).pw_gid
    except KeyError:
        raise UsageError(
            f"it belongs to account number {uid}, which this machine does not know", where=where, next_step="let a known account own it"
        ) from None


def owner_behind(link: Path) -> int:
    """Who decides where a link leads: its owner, or whoever owns a directory on the way to it and
    could put another there; 0 is root."""
    return next((uid for uid in (place.lstat().st_uid for place in (link, *link.parents)) if uid), 0)


def copy_linked(supervisor: Supervisor, source: Path, place: Path, link: Path, *, reader: int = 0) -> None:
    """Copy what a link out of the app's root leads to. As root it is read with the rights of the
    link's owner and no others; a link of root's own with those of `reader`, on whose word the root
    is read.

    Raises UsageError, naming the link, when that account may not read it; DynoError.
    """
    uid = owner_behind(link) or reader if os.geteuid() == 0 and not _exported_together(supervisor, source, link) else 0
    if uid == 0:
        copy_as(supervisor, source, place)
    else:
        _copy_withrights_of(account_of(uid, where=str(link)), supervisor, (source, place), link)
    if place.is_symlink():
        raise DynoError("this link was changed while the app was copied", where=str(link))


def reader_of(path: Path, author: int) -> int:
    """The account with whose rights root reads a path that an app.toml of `author` (0: root)
    names; 0 for its own."""
    return place_and_reader(path, author)[1]


def place_and_reader(path: Path, author: int, supervisor: Supervisor | None = None) -> tuple[Path, int]:
    """Where such a path leads, without links, and `reader_of` it; 0 for what we wrote ourselves.
    What root reads with its own rights is read of that place, so that a link that is put there
    later leads nobody."""
    if supervisor is not None and path.is_relative_to(supervisor.live):
        return path, 0
    place, leader = led_by(path)
    return place, author or leader


def copy_named(supervisor: Supervisor, reader: int, source: Path, into: Path, *, left_out: Iterable[str], where: str) -> None:
    """Copy what is in `source`, without entries of these names, with the rights of `reader`. Raises
    UsageError: they do not suffice."""
    stage = Path(tempfile.mkdtemp(prefix="named-", dir=supervisor.live))
    archive = stage / "tar"
    skipped = [f"--exclude=./{name}" for name in left_out]
    argv = [find_program("tar"), "--create", "--format=gnu", f"--directory={source}", "--anchored", "--no-wildcards", *skipped, "--", "."]
    _read_as(supervisor, reader, argv, archive, where=where, allowed={0, 1})  # 1: a file changed meanwhile
    unpack(archive, into)
    shutil.rmtree(stage)


@contextmanager
def named_file(supervisor: Supervisor, path: Path, reader: int, *, where: str) -> Iterator[Path]:
    """A file that an app.toml names, or a copy of it, made with the rights of `reader`. Raises
    UsageError where they do not suffice.

    With root's own rights `path` is one without links. Where others can put something else there it
    is held open, and what is given leads to what was opened.
    """
    if reader == 0 and (os.geteuid() != 0 or changeable(path) is None):
        yield path
        return
    stage = Path(tempfile.mkdtemp(prefix="named-", dir=supervisor.live))
    copy = stage / path.name
    if reader == 0:
        with _held_open(path, where=where) as descriptor:
            copy.symlink_to(f"/proc/self/fd/{descriptor}")
            yield copy
    else:
        _read_as(supervisor, reader, [find_program("cat"), "--", str(path)], copy, where=where, allowed={0})
        yield copy
    shutil.rmtree(stage)


@contextmanager
def _held_open(path: Path, *, where: str) -> Iterator[int]:
    try:
        with opened(path.parent) as folder:
            descriptor = os.open(path.name, READ, dir_fd=folder)
    except OSError as error:
        raise DynoError(f"it cannot be read: {error.strerror}", where=where) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DynoError("it is no plain file any more", where=where)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_as(supervisor: Supervisor, reader: int, argv: list[str], output: Path, *, where: str, allowed: set[int]) -> None:
    name, account = rights_of(reader)
    child = supervisor.run("copy-named", argv, account=account, output=output, timeout_s=COPY_TIMEOUT_S)
    if child.status not in allowed:
        what = f"root reads this on the word of {name}, who may not read all of it: {child.tail(2)}"
        raise UsageError(what, where=where, next_step=f"let {name} read it, or give the app.toml, and links on the way, to root alone")


def rights_of(uid: int) -> tuple[str, Account]:
    """An account's name and its own group; a number without an account, as in a container, has the
    group that everybody has."""
    try:
        held = pwd.getpwuid(uid)
    except KeyError:
        return f"account number {uid}", (uid, NOBODY)
    return held.pw_name, (uid, held.pw_gid)


def _exported_together(supervisor: Supervisor, source: Path, link: Path) -> bool:
    """Whether both lie in one tree that we wrote ourselves, such as a commit."""
    live = supervisor.live.resolve()
    if not (source.is_relative_to(live) and link.is_relative_to(live)):
        return False
    return source.relative_to(live).parts[:1] == link.relative_to(live).parts[:1]


def _copy_withrights_of(account: Account, supervisor: Supervisor, way: tuple[Path, Path], link: Path) -> None:
    source, place = way
    stage = Path(tempfile.mkdtemp(prefix="linked-", dir=supervisor.live))
    archive, tree = stage / "tar", stage / "tree"
    tree.mkdir()
    argv = [find_program("tar"), "--create", "--format=gnu", f"--directory={source.parent}", "--", f"./{source.name}"]
    child = supervisor.run("copy-linked", argv, account=account, output=archive, timeout_s=COPY_TIMEOUT_S)
    if child.status not in {0, 1}:  # 1: a file changed meanwhile
        name = pwd.getpwuid(account[0]).pw_name
        why = "who owns it" if owner_behind(link) else "on whose word it is followed"
        what = f"this link leads to {source}, which {name}, {why}, may not read: {child.tail(2)}"
        raise UsageError(what, where=str(link), next_step=f"let {name} read it, or {ELSEWHERE}")
    unpack(archive, tree)
    if not os.path.lexists(tree / source.name):
        raise DynoError("what this link leads to vanished while the app was copied", where=str(link))
    (tree / source.name).rename(place)
    tree.rmdir()
    archive.unlink()
    stage.rmdir()
