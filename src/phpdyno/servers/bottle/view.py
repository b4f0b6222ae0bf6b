"""What the processes in the bottle see of the file system: the system read-only, private
directories, and nothing that is not named.

The plan is plain data (lists of steps), made by phpdyno and carried out by the guardian.
"""

import os
from pathlib import Path
from typing import Any

Step = dict[str, Any]
"""`do` says what: `show` a place of the host at its own path (`write`: not read-only), an empty
`directory` with a `mode` (and an `owner`), a `private` one that may be written to whatever is
around it, a `link`, a `file` with a `text`; `bind` shows what stands elsewhere in the bottle."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/sys")
"""What programs are made of. /etc has no other site's configuration (`HIDDEN`)."""
HIDDEN = (
    "/etc/nginx",
    "/etc/apache2/sites-available",
    "/etc/apache2/sites-enabled",
    "/etc/apache2/conf-available",
    "/etc/apache2/conf-enabled",
    "/etc/mysql",
    "/etc/postgresql",
    "/etc/redis",
    "/etc/letsencrypt",
    "/etc/cron.d",
    "/etc/ssh",
    "/sys/fs",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/firmware",
)
POOLS = "/etc/php/*/*/pool.d"
"""Other sites' pools, with the secrets in their environment."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OPEN, STICKY = 0o777, 0o1777
EMPTY = ("/var", "/var/spool", "/var/lib", "/var/lib/php", "/dev", "/home", "/root", "/srv", "/mnt", "/proc")
"""Directories that are there, and nothing in them."""
PRIVATE = {
    "/tmp": STICKY,  # noqa: S108
    "/var/tmp": STICKY,  # noqa: S108
    "/var/log": OPEN,
    "/var/cache": OPEN,
    "/var/lib/php/sessions": 0o1733,
    "/run": OPEN,
    "/dev/shm": STICKY,  # noqa: S108
}
"""Directories of the run's own that its processes may write to."""
LINKS = {
    "/var/run": "/run",
    "/var/lock": "/run/lock",
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
REPLACED = {
    "/etc/hosts": "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
    "/etc/resolv.conf": "# No name resolves here; a question is refused at once.\nnameserver 127.0.0.1\noptions attempts:1 timeout:1\n",
    "/etc/nsswitch.conf": "".join(f"{name}: files\n" for name in ("passwd", "group", "shadow", "networks", "protocols", "services"))
    + "hosts: files dns\n",
}
"""Names resolve to what /etc/hosts has. What else is asked for can be seen, and is refused: nobody
listens."""
MOST_LINKS = 40


def base_view(live: Path, *, account: str = "") -> list[Step]:
    """The steps that make the file system of a run whose live directory is `live`; `account` is a
    line for /etc/passwd and /etc/group."""
    # A copy may stand in root's home, on the way to which the servers' account is let through.
    steps = [directory(place, 0o711 if place == "/root" else 0o755) for place in EMPTY]
    steps += [private(Path(place), mode) for place, mode in PRIVATE.items()]
    steps.append(directory("/run/lock", STICKY))
    steps += [link(place, to) for place, to in LINKS.items()]
    for place in SYSTEM:
        path = Path(place)
        if path.is_symlink():
            steps.append(link(place, str(path.readlink())))
        elif path.is_dir():
            steps.append(show(path))
    steps += [show(Path(place), write=True) for place in DEVICES]
    hidden = [*map(Path, HIDDEN), *Path("/").glob(POOLS.removeprefix("/"))]
    steps += [hide(place) for place in hidden if place.is_dir() and not place.is_symlink()]
    steps += [{"do": "file", "path": place, "text": text} for place, text in _replaced(account).items() if Path(place).exists()]
    return [*steps, show(live)]


def _replaced(account: str) -> dict[str, str]:
    if not account:
        return REPLACED
    texts = dict(REPLACED)
    name, uid, gid = account.split(":")
    for place, line in (("/etc/passwd", f"{name}:x:{uid}:{gid}::/nonexistent:/usr/sbin/nologin\n"), ("/etc/group", f"{name}:x:{gid}:\n")):
        held = Path(place).read_text(encoding="utf-8", errors="surrogateescape") if Path(place).exists() else ""
        texts[place] = held + ("" if held.endswith("\n") or not held else "\n") + line
    return texts


def directory(path: str, mode: int = 0o755, *, owner: tuple[int, int] | None = None) -> Step:
    """An empty directory."""
    return {"do": "directory", "path": path, "mode": mode, "owner": owner}


def link(path: str, to: str) -> Step:
    """A symbolic link."""
    return {"do": "link", "path": path, "to": to}


def show(path: Path, *, write: bool = False) -> Step:
    """A file or directory of the host, at its own path."""
    return {"do": "show", "path": str(path), "write": write}


def bind(source: str, path: Path) -> Step:
    """What stands at `source` in the bottle, at another path of it where a directory is."""
    return {"do": "bind", "from": source, "path": str(path)}


def hide(path: Path, mode: int = 0o755) -> Step:
    """An empty directory in the place of one that came with a larger one."""
    return private(path, mode)


def private(path: Path, mode: int = STICKY) -> Step:
    """An empty directory of the run's own, a file system by itself."""
    return {"do": "private", "path": str(path), "mode": mode}


def way_to(path: Path) -> tuple[list[Step], Path]:
    """The links on the way along a path of the host, as steps, and where it leads: so that it leads
    there in the bottle as well."""
    steps: list[Step] = []
    done, todo = Path("/"), [part for part in path.parts if part != "/"]
    while todo:
        part = todo.pop(0)
        if part == "..":
            done = done.parent
            continue
        place = done / part
        to = _read_link(place)
        if to is None or len(steps) >= MOST_LINKS:
            done = place
            continue
        steps.append(link(str(place), to))
        done = Path("/") if to.startswith("/") else done
        todo = [each for each in Path(to).parts if each != "/"] + todo
    return steps, done


def _read_link(place: Path) -> str | None:
    try:
        return os.readlink(place)  # noqa: PTH115 (the text as it is)
    except OSError:
        return None
