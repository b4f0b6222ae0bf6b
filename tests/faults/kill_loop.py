"""Ends a real comparison at random moments, by SIGINT, SIGTERM and SIGKILL, and looks for what is left.

    python -m tests.faults.kill_loop [--times 50] [--seed N] [--app hello --app wordpress]

Prints a line per end and exits 1 at the first trace that is left. The moments follow from the seed.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.traces import wait_for_no_traces

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LATEST_S = 8.0
END_WITHIN_S = 20.0


def end_once(app: str, number: signal.Signals, after_s: float, runs: Path) -> list[str]:
    """Start a comparison, end it `after_s` later; what is left of it, and whether it ended at all."""
    argv = [
        sys.executable,
        "-m",
        "phpdyno",
        "compare",
        app,
        "--aa",
        "--treatment",
        "web.socket=tcp",
        "--budget",
        "60s",
        "--runs",
        str(runs),
    ]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after_s)
    process.send_signal(number)
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"phpdyno itself went on for more than {END_WITHIN_S:.0f} s after {number.name}"]
    return wait_for_no_traces()


def main(argv: Sequence[str] | None = None) -> int:
    """The loop; 0 when nothing was ever left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--app", action="append", default=None)
    options = parser.parse_args(argv)
    chance = random.Random(options.seed)
    apps = options.app or ["hello"]
    with tempfile.TemporaryDirectory() as runs:
        for turn in range(options.times):
            app, number, after_s = chance.choice(apps), SIGNALS[turn % 3], chance.uniform(0.0, LATEST_S)
            left = end_once(app, number, after_s, Path(runs))
            print(f"{turn + 1:3}/{options.times} {app} {number.name} after {after_s:.2f} s: {left or 'nothing left'}", flush=True)
            if left:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
