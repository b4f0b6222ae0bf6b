"""The cache of what takes long to prepare: entries appear whole or not at all, and two runs never
prepare the same one twice."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from phpdyno.apps.source import Progress
from phpdyno.errors import DynoError
from phpdyno.host.files.file_lock import file_lock

PARTIAL = ".partial"
COMPLETE = "entry.json"


def stored(cache: Path, name: str, key: Mapping[str, str], build: Callable[[Path], None], progress: Progress) -> Path:
    """The cache's entry for `key`, built into a fresh directory by `build` where there is none yet.

    `key` names everything that the content depends on. Raises DynoError when the cache cannot be
    written, and whatever `build` raises; then nothing is left.
    """
    home = cache / "apps"
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    entry = home / f"{name}-{digest}"
    if (entry / COMPLETE).is_file():
        return entry
    try:
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o755)
    except OSError as error:
        raise DynoError(f"cannot write the cache: {error.strerror}", where=str(home), next_step="set PHPDYNO_CACHE") from error
    with file_lock(home / f"{name}.lock", lambda: progress(f"another phpdyno prepares {name}; waiting for it")):
        if not (entry / COMPLETE).is_file():
            _build(entry, key, build)
    return entry


def newest(cache: Path, name: str, key: Mapping[str, str]) -> tuple[Path, dict[str, str]] | None:
    """The complete entry that was built last of those whose key holds all of `key`, with its whole
    key; None where there is none."""
    found = []
    for complete in (cache / "apps").glob(f"{name}-*/{COMPLETE}"):
        with contextlib.suppress(OSError, ValueError):
            whole = json.loads(complete.read_text())
            if not complete.parent.name.endswith(PARTIAL) and key.items() <= whole.items():
                found.append((complete.stat().st_mtime_ns, complete.parent, whole))
    return max(found, key=lambda each: each[0])[1:] if found else None


def _build(entry: Path, key: Mapping[str, str], build: Callable[[Path], None]) -> None:
    partial = entry.with_name(entry.name + PARTIAL)
    for left in (partial, entry):  # a killed run's; we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    try:
        partial.mkdir(mode=0o755)
        build(partial)
        (partial / COMPLETE).write_text(json.dumps(key, sort_keys=True, indent=1) + "\n")
        partial.rename(entry)
    except OSError as error:
        raise DynoError(
            f"cannot write the cache: {error.strerror or error}", where=str(entry), next_step="check the disk's room"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
