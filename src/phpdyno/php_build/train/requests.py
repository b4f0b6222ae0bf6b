"""Requests of the user's own that a build was trained on, kept in the cache: the log that they are
from is another one by the time that the build is made anew."""

import hashlib
from pathlib import Path

from msgspec import json, to_builtins

from phpdyno.errors import DynoError
from phpdyno.journal.replacing import replace_record
from phpdyno.model.decoding import NOT_JSON
from phpdyno.model.workload import BROWSER_ENCODING, Workload

FOLDER = "requests"
PRIVATE = 0o700
"""Paths, cookies and bodies of visitors are nobody else's to read."""


def traffic_digest(workload: Workload) -> str:
    """16 hexadecimal digits of everything that is asked. What a browser says of compression, plain
    http and no word of a proxy add nothing to it, so that builds of before there was a choice are
    found."""
    asked = to_builtins(workload)
    plain = {"scheme": ("http",), "forwarded": (False,), "accept_encoding": ("", BROWSER_ENCODING)}
    return hashlib.sha256(json.encode({key: value for key, value in asked.items() if value not in plain.get(key, ())})).hexdigest()[:16]


def keep_requests(home: Path, workload: Workload) -> None:
    """Into the workshop `home`, by the digest of what is asked. Raises DynoError when the disk
    takes no more."""
    path = _place(home, traffic_digest(workload))
    try:
        path.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except OSError as error:
        raise DynoError(f"cannot write the cache: {error.strerror}", where=str(path.parent), next_step="check the disk's room") from error
    replace_record(path, workload)


def kept_requests(home: Path, traffic: str) -> Workload | None:
    """What is asked by a digest, None where that is not kept: builds of before did not. Raises
    DynoError for a damaged file."""
    path = _place(home, traffic)
    try:
        workload = json.decode(path.read_bytes(), type=Workload)
    except FileNotFoundError:
        return None
    except NOT_JSON as error:
        raise DynoError(f"the requests of a build cannot be read: {error}", where=str(path)) from error
    except OSError as error:
        raise DynoError(f"the requests of a build cannot be read: {error.strerror}", where=str(path)) from error
    if traffic_digest(workload) != traffic:
        raise DynoError("the requests of a build are not those that it was trained on any more", where=str(path))
    return workload


def _place(home: Path, traffic: str) -> Path:
    return home / FOLDER / f"{traffic}.json"
