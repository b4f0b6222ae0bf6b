"""Preloading that changes no answer: what the app really loads, less whatever makes php-fpm fail or a page differ."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.knobs.catalogue import CATALOGUE
from phpdyno.model.facts import WorkerFacts
from phpdyno.paths import cache_dir
from phpdyno.render.preload import render_preload
from phpdyno.tuning.budget import LEAST_PAIRS
from phpdyno.tuning.factors import Candidate
from phpdyno.tuning.safe import safe_subset
from phpdyno.workflows.tune_lab import Heat
from phpdyno.workflows.tune_search import Ground, Search

PRELOAD = "ini.opcache.preload"
STAGE = "preload"
MOST_TESTS = 14
LEAST_SCRIPTS = 2
"""One script is the front controller, and preloading that saves nothing."""


def find_preload(search: Search, ground: Ground) -> tuple[Candidate, ...]:
    """A change that preloads; none where opcache is off, something is preloaded already, or too little is safe."""
    lab = search.lab
    wanted = not lab.asked.knobs or PRELOAD in lab.asked.knobs  # a script of the user's own is a value like any other
    if not wanted or not _can(ground.facts):
        return ()
    scripts = search.found.scripts
    if not scripts:
        control = lab.control(lab.metric)
        scripts = lab.parts.loaded_scripts(control, lab.plan(STAGE, (control,), metric=lab.metric, budget_s=lab.clock.left_s()))
        search.take(scripts=scripts)
    if len(scripts) < LEAST_SCRIPTS:
        return ()
    turn = 0

    def is_safe(files: Sequence[str]) -> bool:
        nonlocal turn
        turn += 1
        arm = lab.arm(_name(files), {PRELOAD: place(files)}, lab.metric)
        state = search.measure(f"{STAGE}-{turn}", (arm,), lab.fixed(ground.known, Heat(1, LEAST_PAIRS), 1), lab.clock.left_s())
        return all(verdict.kind != "invalid" for verdict in state.verdicts.values())

    safe = safe_subset(scripts, is_safe, MOST_TESTS)
    if len(safe) < LEAST_SCRIPTS:
        search.note(f"preloading: none of {len(scripts)} scripts can be preloaded without a failure or another answer")
        return ()
    if len(safe) < len(scripts):
        search.note(
            f"preloading: {len(scripts) - len(safe)} of {len(scripts)} scripts are left out, with them a start fails or an answer differs"
        )
    search.take(preload=safe)
    return (Candidate(_name(safe), {PRELOAD: place(safe)}),)


def place(files: Sequence[str]) -> str:
    """The script in the cache, which the servers' account can read, named by its content: each session finds the same. Raises DynoError."""
    text = render_preload(files)
    path = cache_dir() / STAGE / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.php"
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


def _name(files: Sequence[str]) -> str:
    return f"preloading {len(files)} scripts"


def _can(facts: WorkerFacts) -> bool:
    return facts.opcache is not None and not facts.ini.get("opcache.preload") and CATALOGUE[PRELOAD].fits(facts.php_version)
