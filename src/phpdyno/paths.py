"""Where things lie: the cache, the live directory of a run, and who our servers run as."""

import contextlib
import functools
import grp
import os
import pwd
import shutil
import sys
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError

OWN_NUMBERS = range(65533, 65519, -1)
"""Numbers for the account that root's servers run as; systemd gives out up to 65519, Debian none of
65000 to 65533."""


SUDO_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where sudo looks for programs (Debian's secure_path), whatever the shell's PATH is."""


def own_place(path: str | None = None) -> Path | None:
    """Where this phpdyno lies, if a shell that looks in `path` (None: its own PATH) does not find
    it by its name."""
    place = Path(sys.executable).parent / "phpdyno"
    if not place.is_file():
        return None
    found = shutil.which("phpdyno", path=path)
    return None if found is not None and Path(found).resolve() == place.resolve() else place


class ServiceUser(Struct, frozen=True):
    """The account our servers run as: ourselves, or one of phpdyno's own when we are root."""

    name: str
    group: str
    uid: int
    gid: int
    switch: bool
    """True when we are root and have to change to it."""


def service_user() -> ServiceUser:
    """The account of our servers: for root one of its own, else the calling user.

    The servers' own accounts may own the live site's files, and `nobody` is shared with whatever
    else has no better one. Ours needs no line in /etc/passwd: it is a number that nobody has, in
    the part of the reserved range that neither Debian nor systemd gives out.
    """
    if os.geteuid() == 0:
        return _own_account()
    uid, gid = os.geteuid(), os.getegid()
    try:
        return ServiceUser(pwd.getpwuid(uid).pw_name, grp.getgrgid(gid).gr_name, uid, gid, switch=False)
    except KeyError:  # a container started with a number for a user
        return ServiceUser(str(uid), str(gid), uid, gid, switch=False)


@functools.cache
def _own_account() -> ServiceUser:
    for number in OWN_NUMBERS:
        with contextlib.suppress(KeyError):
            pwd.getpwuid(number)
            continue
        with contextlib.suppress(KeyError):
            grp.getgrgid(number)
            continue
        return ServiceUser("phpdyno", "phpdyno", number, number, switch=True)
    raise DynoError(f"accounts have all the numbers from {OWN_NUMBERS[-1]} to {OWN_NUMBERS[0]}, and the servers need one that nobody has")


def cache_path() -> Path:
    """Prepared apps and databases: $PHPDYNO_CACHE, else /var/cache/phpdyno for root, else
    ~/.cache/phpdyno; without symbolic links, as /proc/PID/maps shows what is mapped.

    Root's home is closed to the account that our servers run as, hence the difference. Raises
    DynoError for an account without a home.
    """
    named = os.environ.get("PHPDYNO_CACHE")
    if named:
        return Path(named).resolve()
    if os.geteuid() == 0:
        return Path("/var/cache/phpdyno").resolve()
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "phpdyno").resolve()
    except RuntimeError as error:
        raise DynoError("this account has no home directory for a cache", next_step="set PHPDYNO_CACHE") from error


def cache_dir() -> Path:
    """`cache_path`, made where it is not there yet. Raises DynoError where that cannot be."""
    path = cache_path()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DynoError(f"cannot create the cache directory: {error.strerror}", where=str(path), next_step="set PHPDYNO_CACHE") from error
    return path


def live_root() -> Path:
    """Parent of live directories: $PHPDYNO_LIVE, else /tmp. Short on purpose: a unix socket's path
    holds 107 bytes at most."""
    return Path(os.environ.get("PHPDYNO_LIVE") or "/tmp")  # noqa: S108 (each run makes its own 0711 directory in it)
