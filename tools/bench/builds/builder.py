"""The product's own command, run to its end by a section and timed."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from phpdyno.errors import DynoError
from phpdyno.servers.supervision.supervisor import Supervisor
from tools.bench.results import Room, Sizes

Told = TypeVar("Told")


class Builder:
    """Runs phpdyno with a cache, and options behind every command; `runs` is where that leaves its
    runs."""

    def __init__(self, supervisor: Supervisor, runs: Path, *, cache: Path, options: tuple[str, ...] = ()) -> None:
        self.runs = runs
        self._supervisor = supervisor
        self._env = {**os.environ, "PHPDYNO_CACHE": str(cache)}
        self._options = options

    def timed(self, name: str, *words: str, most_s: float) -> float:
        """How long a command took, in seconds. Raises DynoError where it fails."""
        began = time.monotonic()
        argv = [sys.executable, "-m", "phpdyno", *words, *self._options, "--runs", str(self.runs)]
        child = self._supervisor.run(name, argv, env=self._env, as_service=False, timeout_s=most_s)
        if child.status != 0:
            raise DynoError(f"phpdyno {words[0]} {child.ended_how()}: {child.tail()}")
        return time.monotonic() - began


def said_by(told: type[Told], *words: str) -> Told:
    """What a command of phpdyno that measures nothing prints as JSON. Raises DynoError where it
    fails."""
    argv = [sys.executable, "-m", "phpdyno", *words, "--json"]
    answer = subprocess.run(argv, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise DynoError(f"phpdyno {words[0]} failed: {answer.stderr.strip()}")
    return msgspec.json.decode(answer.stdout, type=told)


@contextmanager
def builder(sizes: Sizes, room: Room) -> Iterator[Builder]:
    """One whose cache begins empty, and is gone afterwards: gigabytes that nobody needs any
    more."""
    shutil.rmtree(room.unfinished, ignore_errors=True)
    cache, runs = room.unfinished / "cache", room.unfinished / "runs"
    cache.mkdir(parents=True)
    with Supervisor(room.logs) as supervisor:
        yield Builder(supervisor, runs, cache=cache, options=sizes.build_options)
    shutil.rmtree(cache)
