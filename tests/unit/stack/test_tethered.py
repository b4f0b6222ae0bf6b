"""Commands that end with us."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phpdyno.stack.tethered import run_tethered

NOBODY = (65534, 65534)


def gone(pid: int) -> bool:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_output_error_and_exit_code_come_back() -> None:
    answer = run_tethered(["sh", "-c", 'echo "$WORD"; echo two >&2; exit 3'], timeout_s=10, env={"WORD": "one", "PATH": "/bin"})
    assert (answer.stdout, answer.stderr, answer.returncode) == (b"one\n", b"two\n", 3)


def test_what_takes_too_long_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(subprocess.TimeoutExpired):
        run_tethered(["sh", "-c", f"sleep 1000 & echo $! > {note}; wait"], timeout_s=0.3)
    assert gone(int(note.read_text()))


def test_it_ends_when_we_are_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        f"from phpdyno.stack.tethered import run_tethered; run_tethered(['sh', '-c', 'echo $$ > {note}; exec sleep 1000'], timeout_s=100)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as owner:
        for _ in range(500):
            if note.exists() and note.read_text().endswith("\n"):
                break
            time.sleep(0.01)
        owner.kill()
    assert gone(int(note.read_text()))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_account_has_no_groups_of_ours_and_is_tethered_too() -> None:
    asked = "import ctypes, os; held = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(held)); "
    answer = run_tethered(
        ["/usr/bin/python3", "-c", asked + "print(os.getresuid(), os.getgroups(), held.value)"], timeout_s=10, account=NOBODY
    )
    assert answer.stdout == b"(65534, 65534, 65534) [] 9\n"
