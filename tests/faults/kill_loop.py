"""Ends a real comparison at random moments, by SIGINT, SIGTERM and SIGKILL, and looks for what is
left.

    python -m tests.faults.kill_loop [--times 50] [--seed N] [--app hello --budget 60s]

Prints a line per end and exits 1 at the first trace that is left, when phpdyno was not running or
did not end as it should, or when hardly any was ended while it measured. The moments follow from
the seed. The budget decides how long is calibrated before the first block; an app of which few
blocks fit into the usual one wants more.
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

from phpdyno.cli import EXIT_INTERRUPTED
from tests.support.traces import wait_for_no_traces

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LATEST_S = 9.0
END_WITHIN_S = 20.0
STARTING_S = 1.0
FEW = 9
LEAST_MEASURING = 2


def end_once(app: str, budget: str, number: signal.Signals, after_s: float, runs: Path) -> list[str]:
    """Start a comparison, end it `after_s` later; what is wrong afterwards."""
    argv = [sys.executable, "-m", "phpdyno", "compare", app, "--aa", "--treatment", "web.socket=tcp", "--metric", "cpu"]
    process = subprocess.Popen(
        [*argv, "--margin", "0", "--budget", budget, "--runs", str(runs)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(after_s)
    if process.poll() is not None:
        return [f"phpdyno had ended by itself with {process.returncode} before {number.name}"]
    process.send_signal(number)
    try:
        code = process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"phpdyno itself went on for more than {END_WITHIN_S:.0f} s after {number.name}"]
    # While Python itself still starts, the signals have their default effect.
    fine = {-signal.SIGKILL, EXIT_INTERRUPTED} | ({-number, 1} if after_s < STARTING_S else set())
    return wait_for_no_traces() if code in fine else [f"phpdyno ended with {code} after {number.name}"]


def measuring_in(runs: Path) -> int:
    """How many of the comparisons had got as far as measuring."""
    return sum(b'"type":"calibration"' in journal.read_bytes() for journal in runs.glob("*/journal.jsonl"))


def main(argv: Sequence[str] | None = None) -> int:
    """The loop; 0 when nothing was ever left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--app", action="append", default=None)
    parser.add_argument("--budget", default="20s")
    options = parser.parse_args(argv)
    chance = random.Random(options.seed)
    apps = options.app or ["hello"]
    with tempfile.TemporaryDirectory() as runs:
        for turn in range(options.times):
            app, number, after_s = chance.choice(apps), SIGNALS[turn % 3], chance.uniform(0.0, LATEST_S)
            left = end_once(app, options.budget, number, after_s, Path(runs))
            print(f"{turn + 1:3}/{options.times} {app} {number.name} after {after_s:.2f} s: {left or 'nothing left'}", flush=True)
            if left:
                return 1
        measuring = measuring_in(Path(runs))
        print(f"{measuring} of {options.times} were ended while they measured")
    return 0 if measuring >= LEAST_MEASURING or options.times < FEW else 1


if __name__ == "__main__":
    sys.exit(main())
