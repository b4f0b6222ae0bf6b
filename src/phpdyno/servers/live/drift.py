"""What of a running php-fpm is older than the files that our own php-fpm reads now."""

from collections.abc import Iterator
from pathlib import Path

from phpdyno.servers.facts.worker import mapped_paths
from phpdyno.servers.live.masters import LiveMaster
from phpdyno.servers.live.pool import LivePool
from phpdyno.servers.programs.extensions import loaded_name, loads
from phpdyno.servers.programs.php import IniFiles

CLOCK_S = 1.0
"""The kernel tells the second of its own start only."""
DELETED = " (deleted)"


def drift_notes(pool: LivePool, files: IniFiles) -> tuple[str, ...]:
    """Notes of what drifted: files that are newer than the pool's php-fpm, and extensions in
    which it differs from what `files` load now."""
    master = pool.master
    if master is None:
        return ()
    notes = []
    if newer := [str(path) for path in (*pool.files, *map(Path, _read(files))) if _changed_s(path) > master.started_s + CLOCK_S]:
        notes.append(
            f"newer than the php-fpm of the pool {pool.selector}, so what runs may be older without a reload since: {', '.join(newer)}"
        )
    return (*notes, *_extensions(pool, master, files))


def _extensions(pool: LivePool, master: LiveMaster, files: IniFiles) -> Iterator[str]:
    try:
        paths = mapped_paths(master.pid)
    except OSError:
        yield f"which extensions the php-fpm of the pool {pool.selector} has loaded cannot be read"
        return
    mapped = {path for path in paths if path.removesuffix(DELETED).endswith(".so")}
    replaced = sorted(path.removesuffix(DELETED) for path in mapped if path.endswith(DELETED))
    if replaced:
        yield f"replaced since php-fpm loaded them, so the pool {pool.selector} runs older ones: {', '.join(replaced)}"
    theirs = {loaded_name(path.removesuffix(DELETED)) for path in mapped}
    lying_there = {loaded_name(path.removesuffix(DELETED)) for path in mapped if str(Path(path).parent) == files.extension_dir}
    named = {name for path in _read(files) for name in loads(_text(path))}
    given = {key[4:].lower() for key in pool.settings if key.startswith("ext.")}
    if gone := sorted(lying_there - named - given):
        yield f"the pool {pool.selector} has extensions that no ini file loads any more: {', '.join(gone)}"
    if new := sorted(named - theirs):
        yield f"ini files load extensions that the pool {pool.selector} has not: {', '.join(new)}"


def _read(files: IniFiles) -> tuple[str, ...]:
    return tuple(path for path in (files.main, *files.scanned) if path)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
