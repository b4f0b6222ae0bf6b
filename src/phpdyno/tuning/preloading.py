"""A script that preloads what an app really loads: kept in the cache, as text of a bundle, in
words."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.knobs.catalogue import CATALOGUE
from phpdyno.model.facts import WorkerFacts
from phpdyno.paths import cache_dir
from phpdyno.server_files.preload import render_preload
from phpdyno.tuning.safe import Subset

PRELOAD = "ini.opcache.preload"
FOLDER = "preload"
MOST_TESTS = 14
LEAST_SCRIPTS = 2
"""One script is the front controller, and preloading that saves nothing."""


def place(files: Sequence[str]) -> str:
    """The script in the cache, which the servers' account can read, named by its content: each
    session finds the same. Raises DynoError."""
    text = render_preload(files)
    path = cache_dir() / FOLDER / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.php"
    try:
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o755)
        fresh = path.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        raise DynoError(f"cannot write the preload script: {error.strerror}", where=str(path)) from error
    return str(path)


def preload_text(files: Sequence[str], original: Path | None) -> str:
    """The script as a bundle carries it."""
    return render_preload(files, str(original) if original else "")


def name_of(files: Sequence[str]) -> str:
    """What the change is called."""
    return f"preloading {len(files)} scripts"


def can_preload(facts: WorkerFacts) -> bool:
    """Whether a worker of an arm could: opcache is on, and nothing is preloaded yet."""
    return facts.opcache is not None and not facts.ini.get("opcache.preload") and CATALOGUE[PRELOAD].fits(facts.php_version)


def left_out_words(scripts: Sequence[str], safe: Subset) -> str:
    """Which of the scripts that an app loads are not preloaded, and why; '' where all are."""
    left_out = len(scripts) - len(safe.passed)
    if not left_out:
        return ""
    untested = f"; {safe.untested} of them were not tried" if safe.untested else ""
    if len(safe.passed) < LEAST_SCRIPTS:
        return f"preloading: none of {len(scripts)} scripts was found with which nothing fails and no answer differs{untested}"
    return f"preloading: {left_out} of {len(scripts)} scripts are left out, as a start fails or an answer differs{untested}"
