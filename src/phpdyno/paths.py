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
    switch = os.geteuid() == 0
    entry = pwd.getpwnam("nobody") if switch else pwd.getpwuid(os.geteuid())

    return ServiceUser(entry.pw_name, grp.getgrgid(entry.pw_gid).gr_name, entry.pw_uid, entry.pw_gid, switch)


def cache_dir() -> Path:
    """Prepared apps and databases: $PHPDYNO_CACHE, else /var/cache/phpdyno for root, else ~/.cache/phpdyno.

    Root's home is closed to the account that our servers run as, hence the difference.
    """
    named = os.environ.get("PHPDYNO_CACHE")
    if named:
        path = Path(named)
    elif os.geteuid() == 0:
        path = Path("/var/cache/phpdyno")
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phpdyno"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DynoError(f"cannot create the cache directory: {error.strerror}", where=str(path), next_step="set PHPDYNO_CACHE") from error
    return path


def live_root() -> Path:
    """Parent of live directories: $PHPDYNO_LIVE, else /tmp. Short on purpose: a unix socket's path holds 107 bytes at most."""
    return Path(os.environ.get("PHPDYNO_LIVE") or "/tmp")  # noqa: S108 (each run makes its own 0711 directory in it)
