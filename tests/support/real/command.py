"""Running the real command, and small real apps to run it on."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phpdyno.journal.reader import read_journal
from phpdyno.journal.records import Record
from tests.support.session.preloaded import Preloaded, network

COMMAND = [sys.executable, "-m", "phpdyno"]
HANGS_UP = ["env", "--default-signal=HUP"]
"""Before a command that a hang-up ends, also where the tests are to outlive one."""
PAGE = "<?php echo '<html><body>', str_repeat('<p>A paragraph that stays.</p>', 40), '</body></html>';\n"

_STARTED: list[subprocess.Popen[str]] = []
_LOADED: list[Preloaded] = []
_NETWORK: list[int] = []

FEWEST = ("--margin", "100%")
"""A margin beyond what most arms differ by: each is decided by the fewest and shortest blocks that
make an interval finite, so that a comparison whose figures nobody asks for takes seconds. The
budget still bounds it."""


def phpdyno(*argv: str | Path, timeout_s: float = 180.0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run phpdyno to its end."""
    words, environment = [*map(str, argv)], os.environ if env is None else env
    if (loaded := _loaded(environment)) is not None:
        return loaded.run(words, environment, timeout_s)
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=timeout_s, check=False, env=env)


def load_once() -> None:
    """Have commands forked off one process that has loaded phpdyno, as long as they are run from
    the network that we are in now."""
    _NETWORK[:] = [network()]


def unload() -> None:
    """End the process that commands were forked off."""
    while _LOADED:
        _LOADED.pop().end()


def _loaded(env: Mapping[str, str]) -> Preloaded | None:
    if not _LOADED and [network()] == _NETWORK:
        _LOADED.append(Preloaded())
    return _LOADED[0] if _LOADED and _LOADED[0].suits(env) else None


def compared(docroot: Path, runs: Path, *argv: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Compare on the front page of a document root, to a JSON document and without a fault; it ends
    with `code`, which is 5 where no treatment has a result."""
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *argv, "--runs", runs, "--json")
    assert answer.returncode == code, answer.stderr + answer.stdout
    return answer


def start(*argv: str | Path) -> subprocess.Popen[str]:
    """Start phpdyno without waiting; what still runs when its test is over is ended
    (`end_started`)."""
    process = subprocess.Popen([*COMMAND, *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _STARTED.append(process)
    return process


def end_started() -> None:
    """End what a test that failed has left running: it would keep others from measuring."""
    while _STARTED:
        process = _STARTED.pop()
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def site(directory: Path, **files: str) -> Path:
    """A document root; `index` becomes index.php."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in {"index": PAGE, **files}.items():
        (directory / f"{name}.php").write_text(text)
    return directory


def the_run(runs: Path) -> Path:
    """The only run below `runs`."""
    (run,) = runs.iterdir()
    return run


def records_of(runs: Path) -> list[Record]:
    """The journal of the only run below `runs`."""
    return read_journal(the_run(runs) / "journal.jsonl")


def fault_of(errors: str) -> str:
    """The one line that a fault prints, after the notes on the plan."""
    (line,) = [line for line in errors.strip().splitlines() if not line.startswith(("plan: ", "  "))]
    assert line.startswith("phpdyno: "), line
    return line


def document(answer: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What `--json` printed."""
    parsed: dict[str, Any] = json.loads(answer.stdout)
    return parsed


def row(answer: subprocess.CompletedProcess[str], name: str) -> dict[str, Any]:
    """One treatment of what `--json` printed."""
    found: dict[str, Any] = next(entry for entry in document(answer)["rows"] if entry["name"] == name)
    return found


def await_journal(runs: Path, kind: str, count: int = 1, timeout_s: float = 60.0, *, by: subprocess.Popen[str] | None = None) -> None:
    """Wait until a journal of the only run, a part's too, holds `count` lines of a kind; `by` is
    who writes it."""
    deadline = time.monotonic() + timeout_s
    marker = f'{{"type":"{kind}"'.encode()
    while time.monotonic() < deadline:
        if any(journal.read_bytes().count(marker) >= count for journal in runs.rglob("journal.jsonl")):
            return
        if by is not None and by.poll() is not None:
            raise AssertionError(f"it ended with {by.returncode} before it wrote {count} {kind} line(s): {by.communicate()}")
        time.sleep(0.02)
    raise AssertionError(f"no {count} {kind} line(s) within {timeout_s:.0f} s")
