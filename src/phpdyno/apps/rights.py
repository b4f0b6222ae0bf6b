"""Whose rights count where root reads what somebody else names: those of the account that owns the link, the repository or its place."""

import os
import pwd
import tempfile
from pathlib import Path

from phpdyno.apps.copies import COPY_TIMEOUT_S, copy_as
from phpdyno.apps.unpack import unpack
from phpdyno.errors import DynoError, UsageError
from phpdyno.stack.programs import find_program
from phpdyno.stack.supervise import Account, Supervisor

ELSEWHERE = "measure a copy of the app without this link"


def account_of(uid: int, *, where: str) -> Account:
    """An account with its own group, and no others. Raises UsageError for a number that this machine knows no account of."""
    try:
        return uid, pwd.getpwuid(uid).pw_gid
    except KeyError:
        raise UsageError(
            f"it belongs to account number {uid}, which this machine does not know", where=where, next_step="let a known account own it"
        ) from None


def owner_behind(link: Path) -> int:
    """Who decides where a link leads: its owner, or whoever owns a directory on the way to it and could put another there; 0 is root."""
    return next((uid for uid in (place.lstat().st_uid for place in (link, *link.parents)) if uid), 0)


def copy_linked(supervisor: Supervisor, source: Path, place: Path, link: Path) -> None:
    """Copy what a link out of the app's root leads to. As root it is read with the rights of the link's owner and no others.

    Raises UsageError, naming the link, when that account may not read it; DynoError.
    """
    uid = owner_behind(link) if os.geteuid() == 0 and not _exported_together(supervisor, source, link) else 0
    if uid == 0:
        copy_as(supervisor, source, place)
    else:
        _copy_with_rights_of(account_of(uid, where=str(link)), supervisor, (source, place), link)
    if place.is_symlink():
        raise DynoError("this link was changed while the app was copied", where=str(link))


def _exported_together(supervisor: Supervisor, source: Path, link: Path) -> bool:
    """Whether both lie in one tree that we wrote ourselves, such as a commit."""
    live = supervisor.live.resolve()
    if not (source.is_relative_to(live) and link.is_relative_to(live)):
        return False
    return source.relative_to(live).parts[:1] == link.relative_to(live).parts[:1]


def _copy_with_rights_of(account: Account, supervisor: Supervisor, way: tuple[Path, Path], link: Path) -> None:
    source, place = way
    stage = Path(tempfile.mkdtemp(prefix="linked-", dir=supervisor.live))
    archive, tree = stage / "tar", stage / "tree"
    tree.mkdir()
    argv = [find_program("tar"), "--create", "--format=gnu", f"--directory={source.parent}", "--", f"./{source.name}"]
    child = supervisor.run("copy-linked", argv, account=account, output=archive, timeout_s=COPY_TIMEOUT_S)
    if child.status not in {0, 1}:  # 1: a file changed meanwhile
        name = pwd.getpwuid(account[0]).pw_name
        what = f"this link leads to {source}, which {name}, who owns it, may not read: {child.tail(2)}"
        raise UsageError(what, where=str(link), next_step=f"let {name} read it, or {ELSEWHERE}")
    unpack(archive, tree)
    if not os.path.lexists(tree / source.name):
        raise DynoError("what this link leads to vanished while the app was copied", where=str(link))
    (tree / source.name).rename(place)
    tree.rmdir()
    archive.unlink()
    stage.rmdir()
