"""Commands that end with us."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.servers.programs.finding import told
from phpdyno.servers.supervision.tethered import run_tethered

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


def kill_asker(code: str, note: Path, env: dict[str, str] | None = None) -> int:
    """Kill a Python that runs `code` once the program that it started has written its number to
    `note`; that number."""
    with subprocess.Popen([sys.executable, "-c", code], env=env) as owner:
        for _ in range(500):
            if note.exists() and note.read_text().endswith("\n"):
                break
            time.sleep(0.01)
        owner.kill()
    return int(note.read_text())


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
    command = f"['sh', '-c', 'echo $$ > {note}; exec sleep 1000']"
    code = f"from phpdyno.servers.supervision.tethered import run_tethered; run_tethered({command}, timeout_s=100)"
    assert gone(kill_asker(code, note))


@pytest.mark.parametrize(
    ("program", "question"),
    [
        ("nginx", "from phpdyno.servers.programs.finding import nginx_version as ask; ask()"),
        ("mariadbd", "from phpdyno.servers.database.mariadb import Database; Database.version()"),
        ("php", "from phpdyno.apps.built_in.php_cli import find_php_cli as ask; ask([])"),
        ("php-fpm8.2", "from phpdyno.servers.programs.inventory import find_fpms as ask; ask()"),
        ("apt-cache", "from phpdyno.apps.built_in.packages import candidate_versions as ask; ask(['wordpress'])"),
        (
            "dpkg-query",
            "from pathlib import Path; from phpdyno.servers.programs.inventory import _package_beside as ask; ask(Path('/php'), 'opcache')",
        ),
    ],
)
def test_a_program_that_is_asked_ends_when_we_are_killed(program: str, question: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    for name, does in {"dpkg": "", program: f"echo $$ > {note}; exec sleep 1000"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    assert gone(kill_asker(question, note, {**os.environ, "PHPDYNO_PATH": str(tmp_path)}))


def test_a_program_that_cannot_be_run_is_one_clear_line(tmp_path: Path) -> None:
    broken = tmp_path / "nginx"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(DynoError, match="nginx: this program does not run: "):
        told([str(broken), "-v"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_account_has_no_groups_of_ours_and_is_tethered_too() -> None:
    asked = "import ctypes, os; held = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(held)); "
    answer = run_tethered(
        ["/usr/bin/python3", "-c", asked + "print(os.getresuid(), os.getgroups(), held.value)"], timeout_s=10, account=NOBODY
    )
    assert answer.stdout == b"(65534, 65534, 65534) [] 9\n"
