"""No interrupt is lost, wherever it arrives; each case in a process of its own, which waits for
half a minute where it fails."""

import subprocess
import sys
import time

import pytest

from tests.support.real.command import HANGS_UP

AWAITED = """
from phpdyno.cli.interrupts import end_in_order
import os, signal, subprocess, time
end_in_order()
try:
    {arrives}
    time.sleep(30)
except KeyboardInterrupt:
    print("interrupted")
"""
RAISED = "signal.raise_signal(signal.{})"
IN_A_FINALIZER = "type('Ends', (), {'__del__': lambda self: signal.raise_signal(signal.SIGINT)})()"
AT_A_FORK = (
    "os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.SIGINT)); subprocess.run(['true'], preexec_fn=lambda: None)"
)


def ended(arrives: str, *before: str) -> str:
    """What a process said in which a signal arrives."""
    argv = [*HANGS_UP, *before, sys.executable, "-c", AWAITED.format(arrives=arrives)]
    began = time.monotonic()
    answer = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert answer.stderr == ""
    assert time.monotonic() - began < 25
    return answer.stdout.strip()


@pytest.mark.parametrize("arrives", [*(RAISED.format(name) for name in ("SIGINT", "SIGTERM", "SIGHUP")), IN_A_FINALIZER, AT_A_FORK])
def test_an_interrupt_ends_the_command_wherever_it_arrives(arrives: str) -> None:
    assert ended(arrives) == "interrupted"


def test_what_is_started_to_outlive_a_hang_up_does() -> None:
    assert ended("signal.raise_signal(signal.SIGHUP); time.sleep(0.1); print('goes on'); signal.raise_signal(signal.SIGTERM)", "nohup") == (
        "goes on\ninterrupted"
    )


def test_other_faults_where_none_can_pass_are_told_as_ever() -> None:
    code = "from phpdyno.cli.interrupts import end_in_order; end_in_order(); type('Ends', (), {'__del__': lambda self: 1 / 0})()"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "ZeroDivisionError" in answer.stderr
