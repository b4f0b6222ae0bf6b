"""Commands forked off a loaded phpdyno end as those that are started do."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.real.command import COMMAND
from tests.support.session.preloaded import Preloaded


@pytest.fixture(scope="module")
def loaded() -> Iterator[Preloaded]:
    preloaded = Preloaded()
    yield preloaded
    preloaded.end()


@pytest.mark.parametrize(
    "argv", [("--version",), ("compare", "hello", "--budget", "soon"), ("cache",), ("completion", "bash"), ("watch", "--replay", "none")]
)
def test_it_prints_and_ends_as_when_it_is_started(loaded: Preloaded, argv: tuple[str, ...], tmp_path: Path) -> None:
    env = {**os.environ, "PHPDYNO_CACHE": str(tmp_path)}
    started = subprocess.run([*COMMAND, *argv], capture_output=True, text=True, timeout=60, check=False, env=env)
    forked = loaded.run(argv, env, 60.0)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_each_has_the_directory_and_the_environment_of_its_own(loaded: Preloaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "here/app.toml").write_text("doc_root = 1\n")
    assert "doc_root" in loaded.run(("check", "here"), os.environ, 60.0).stderr
    empty, made = {**os.environ, "PHPDYNO_CACHE": str(tmp_path / "a")}, {**os.environ, "PHPDYNO_CACHE": str(tmp_path / "b")}
    assert "/a" in loaded.run(("cache",), empty, 60.0).stdout
    assert "/b" in loaded.run(("cache",), made, 60.0).stdout


def test_one_that_takes_too_long_is_killed(loaded: Preloaded, tmp_path: Path) -> None:
    record = tmp_path / "record"
    os.mkfifo(record)
    with pytest.raises(subprocess.TimeoutExpired):
        loaded.run(("watch", "--replay", str(record)), os.environ, 0.5)
    deadline = time.monotonic() + 5.0
    while is_waited_for(record) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_waited_for(record)


def is_waited_for(fifo: Path) -> bool:
    """Whether a process opens it to read."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_an_environment_that_an_interpreter_reads_at_its_start_does_not_suit(loaded: Preloaded) -> None:
    assert loaded.suits(os.environ)
    assert not loaded.suits({**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert not loaded.suits({**os.environ, "LC_ALL": "C"} if os.environ.get("LC_ALL") != "C" else {**os.environ, "LC_ALL": "C.UTF-8"})


def test_it_is_gone_when_it_was_ended() -> None:
    preloaded = Preloaded()
    assert preloaded.run(("--version",), os.environ, 60.0).returncode == 0
    preloaded.end()
    assert not preloaded.suits(os.environ)
