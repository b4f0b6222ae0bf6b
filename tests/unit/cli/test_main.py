"""The end of the command: its exit code and its one line, whatever becomes of its outputs; each
case in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from phpdyno.cli.app import run
from phpdyno.errors import UsageError
from tests.support.real.command import COMMAND, HANGS_UP

ENDING = """
import sys
from rich.console import Console
from phpdyno.cli import app, main
from phpdyno.errors import Interrupted

def run(argv):
    {does}
    return 3

app.run = run
main([])
"""
OWN_CODE = 3


def ended(does: str, env: Mapping[str, str] = os.environ) -> subprocess.CompletedProcess[bytes]:
    """The end of a command that does just this, and would end with a code of its own."""
    return subprocess.run([sys.executable, "-c", ENDING.format(does=does)], capture_output=True, timeout=60, check=False, env=env)


@pytest.fixture
def nobody_reads() -> Iterator[int]:
    """A pipe whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_while_libraries_load_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "cyclopts.py").write_text(f"import signal, time\nsignal.raise_signal(signal.{name})\ntime.sleep(30)\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    answer = subprocess.run([*HANGS_UP, *COMMAND, "--version"], capture_output=True, text=True, timeout=60, check=False, env=env)
    assert (answer.returncode, answer.stderr) == (130, "phpdyno: interrupted\n")


def test_numpy_keeps_no_threads_that_spin() -> None:
    """Not even where the command never computes: it is loaded by then."""
    does = "from phpdyno.cli import main\ntry: main(['--version'])\nfinally:\n import numpy\n print(open('/proc/self/status').read())"
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    answer = subprocess.run([sys.executable, "-c", does], capture_output=True, text=True, timeout=60, check=False, env=env)
    assert answer.returncode == 0, answer.stderr
    assert "\nThreads:\t1\n" in answer.stdout


@pytest.mark.parametrize("does", ["sys.stdout.write('told')", "Console().print('told ' * 100_000)", "print('told'); sys.stdout.flush()"])
def test_a_reader_that_is_gone_does_not_change_how_a_command_ends(nobody_reads: int, does: str) -> None:
    argv = [sys.executable, "-c", ENDING.format(does=does)]
    answer = subprocess.run(argv, stdout=nobody_reads, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (OWN_CODE, b"")


def test_nor_does_one_of_the_progress(nobody_reads: int) -> None:
    argv = [sys.executable, "-c", ENDING.format(does="Console(stderr=True).print('block 1'); print('told')")]
    answer = subprocess.run(argv, stdout=subprocess.PIPE, stderr=nobody_reads, timeout=60, check=False)
    assert (answer.returncode, answer.stdout) == (OWN_CODE, b"told\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_an_output_that_is_closed_is_no_fault(closed: str) -> None:
    argv = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "--version"]
    answer = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_what_an_encoding_has_no_character_for_is_an_escape() -> None:
    answer = ended("print('├─ ±1 % \\udce9')", {**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert (answer.returncode, answer.stdout) == (OWN_CODE, b"\\u251c\\u2500 \xb11 % \\udce9\n")


@pytest.mark.parametrize(
    ("does", "code", "said"),
    [
        ("raise FileNotFoundError(2, 'No such file', 'a\\x1b[2Jb')", 1, rb"phpdyno: a\x1b[2Jb: No such file"),
        ("raise OSError('odd\\nend')", 1, rb"phpdyno: odd\nend"),
        ("raise KeyboardInterrupt", 130, b"phpdyno: interrupted"),
        ("raise Interrupted('runs/\\x1b[2J', 'tune')", 130, rb"phpdyno: interrupted; go on with: phpdyno tune --resume runs/\x1b[2J"),
    ],
)
def test_a_name_cannot_steer_the_terminal(does: str, code: int, said: bytes) -> None:
    answer = ended(does)
    assert (answer.returncode, answer.stderr) == (code, said + b"\n")


@pytest.mark.parametrize("argv", [["compare", "--docroot", "/srv/caf\udce9", "--aa"], ["report", "runs/caf\udce9"]])
def test_an_argument_that_no_journal_could_hold_is_refused(argv: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        run(argv)
    assert "\\udce9: an argument is not UTF-8 text; a path can be named through a link" in str(caught.value)
