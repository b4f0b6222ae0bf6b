"""Where things lie: the cache, the live directory of a run, and who our servers run as."""

import grp
import os
import pwd
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError


class ServiceUser(Struct, frozen=True):
    """The account our servers run as: ourselves, or `nobody` when we are root."""

    name: str
    group: str
    uid: int
    gid: int
    switch: bool
    """True when we are root and have to change to it."""


def service_user() -> ServiceUser:
    """`nobody` for root (the servers' own accounts may own the live site's files), else the calling user."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam("nobody")
        return ServiceUser(entry.pw_name, grp.getgrgid(entry.pw_gid).gr_name, entry.pw_uid, entry.pw_gid, switch=True)
    uid, gid = os.geteuid(), os.getegid()
    try:
        return ServiceUser(pwd.getpwuid(uid).pw_name, grp.getgrgid(gid).gr_name, uid, gid, switch=False)
    except KeyError:  # a container started with a number for a user
        return ServiceUser(str(uid), str(gid), uid, gid, switch=False)


def cache_path() -> Path:
    """Prepared apps and databases: $PHPDYNO_CACHE, else /var/cache/phpdyno for root, else ~/.cache/phpdyno; without symbolic links, as
    /proc/PID/maps shows what is mapped.

    Root's home is closed to the account that our servers run as, hence the difference. Raises DynoError for an account without a home.
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
    """Parent of live directories: $PHPDYNO_LIVE, else /tmp. Short on purpose: a unix socket's path holds 107 bytes at most."""
    return Path(os.environ.get("PHPDYNO_LIVE") or "/tmp")  # noqa: S108 (each run makes its own 0711 directory in it)
