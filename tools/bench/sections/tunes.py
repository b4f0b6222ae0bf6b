"""A tune as a command of its own."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.journal.tune import TuneRecord, read_tune
from phpdyno.servers.supervision.supervisor import Supervisor

GRACE_S = 120.0


def tuned(app: str, runs: Path, logs: Path, *, budget_s: float, seed: int = 1, knobs: Sequence[str] = ()) -> TuneRecord:
    """The record of `phpdyno tune`, run below our guardian. Raises DynoError when it fails."""
    argv = [sys.executable, "-m", "phpdyno", "tune", app, "--budget", f"{budget_s:.0f}s", "--seed", str(seed), "--runs", str(runs)]
    argv += [word for each in knobs for word in ("--knob", each)]
    with Supervisor(logs) as supervisor:
        child = supervisor.run(f"tune-{seed}", argv, env=dict(os.environ), as_service=False, timeout_s=budget_s + GRACE_S)
        if child.status != 0:
            raise DynoError(f"phpdyno tune {child.ended_how()}: {child.tail()}")
    (run,) = runs.iterdir()
    return read_tune(run)
