"""Whether the directories that measuring writes to will do. Pure."""

from phpdyno.host.checkup.check import Check, mib
from phpdyno.host.checkup.disk import DiskPlace

LEAST_KIB = {"live": 256 * 1024, "cache": 512 * 1024, "runs": 100 * 1024}
WHAT_FOR = {"live": "a copy of an app with its database", "cache": "packages, unpacked and prepared", "runs": "journals and samples"}

SLOW_FLUSH_S = 0.020
"""A block takes a second or more and is one line or two: 2 % of it."""

_SET = {"live": "PHPDYNO_LIVE", "cache": "PHPDYNO_CACHE"}


def judge_live(place: DiskPlace, account: str, socket_problem: str) -> list[Check]:
    """The parent of live directories."""
    fix = "set PHPDYNO_LIVE to a short path on a disk with room, for example /tmp"
    checks = [_room("live", "live directory", place, account)]
    if checks[0].state == "missing":
        return checks
    if socket_problem:
        means = "no server can listen there"
        checks.append(Check("disk", "sockets", "missing", f"{place.path}: {socket_problem}", means, fix, essential=True))
    else:
        checks.append(Check("disk", "sockets", "ok", f"a unix socket can be bound below {place.path}"))
    if place.noexec:
        means = "programs and extensions in an app's copy cannot be run or loaded from there (apps' own prepare commands, ext.NAME)"
        found = f"{place.path} is mounted noexec"
        checks.append(Check("disk", "noexec", "limits", found, means, "set PHPDYNO_LIVE to a place without it"))
    return checks


def judge_cache(place: DiskPlace) -> list[Check]:
    """Prepared apps and databases; only we read them, so it may be closed to the servers'
    account."""
    return [_room("cache", "cache", place, "")]


def judge_runs(place: DiskPlace) -> list[Check]:
    """Where journals are kept."""
    room = _room("runs", "runs", place, "")
    if room.state == "missing" or place.flush_s is None:
        return [room]
    said = f"a journal line is on disk after {place.flush_s * 1000:.1f} ms"
    if place.flush_s <= SLOW_FLUSH_S:
        return [room, Check("disk", "flush", "ok", said)]
    means = "every block waits that long, and the disk is busy meanwhile"
    return [room, Check("disk", "flush", "limits", said, means, "keep runs on another disk: --runs DIR")]


def _room(kind: str, name: str, place: DiskPlace, account: str) -> Check:
    fix = f"set {_SET[kind]} to another directory" if kind in _SET else "name another place with --runs DIR"
    if place.refused:
        found = f"{place.there}: no file can be made: {place.refused}"
        return Check("disk", name, "missing", found, "nothing can be kept there", fix, essential=True)
    if place.closed:
        found = f"{place.path}: {account} may not enter {place.closed}"
        return Check("disk", name, "missing", found, "the servers cannot read what lies there", fix, essential=True)
    if place.free_kib is None:
        return Check("disk", name, "unknown", f"{place.path}: its room cannot be read")
    said = f"{place.path}: {mib(place.free_kib)} free"
    if place.free_kib >= LEAST_KIB[kind]:
        return Check("disk", name, "ok", said)
    return Check("disk", name, "limits", said, f"{WHAT_FOR[kind]} may take {mib(LEAST_KIB[kind])}", f"free some, or {fix}")
