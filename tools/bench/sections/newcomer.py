"""Section `newcomer`: the commands of the README in a fresh clone, each once; they take minutes."""

import os
import shutil
import time
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.servers.supervision.supervisor import Supervisor
from tools.bench.figures import Figure, Target
from tools.bench.results import Room, Sizes
from tools.bench.stamp import ROOT

LONGEST_S = 3600.0


class Step(Struct, frozen=True):
    """One command, what it is called on the page, and its target in seconds."""

    command: str
    name: str
    target: Target


STEPS = (
    Step("setup", "`make setup` in a fresh clone, Debian's packages being there", Target("≤ 4 min", at_most=240.0)),
    Step("test-fast", "`make test-fast` after it, for the first time", Target("≤ 45 s", at_most=45.0)),
    Step("demo", "`make demo` after it", Target("≤ 8 min", at_most=480.0)),
    Step("test", "`make test` after them", Target("≤ 18 min", at_most=1080.0)),
)


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section, in the order of the README."""
    steps = [step for step in STEPS if step.command in sizes.newcomer]
    if not steps:
        return []
    clone = room.unfinished / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    clone.parent.mkdir(parents=True, exist_ok=True)
    with Supervisor(room.logs) as supervisor:
        _run(supervisor, ["git", "clone", "--quiet", str(ROOT), str(clone)], clone.parent)
        figures = []
        for step in steps:
            room.say(f"make {step.command} in a fresh clone")
            took_s = _run(supervisor, ["make", step.command], clone)
            figures.append(Figure(step.name, "s", took_s, took_s, took_s, "once", step.target))
    shutil.rmtree(clone)
    return figures


def _run(supervisor: Supervisor, argv: list[str], cwd: Path) -> float:
    """Seconds that a command took. Raises DynoError when it fails."""
    start = time.perf_counter()
    child = supervisor.run("newcomer", argv, env=dict(os.environ), cwd=cwd, as_service=False, timeout_s=LONGEST_S)
    if child.status != 0:
        raise DynoError(f"{' '.join(argv)} {child.ended_how()}: {child.tail()}")
    return time.perf_counter() - start
