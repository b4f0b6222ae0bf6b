"""A directory for a moment: what is removed of those that killed processes left, and what never."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from phpdyno.host.files.scratch import MARKED, MARKER, PREFIX, scratch_directory

_PROGRAM = """
import os, signal, sys
from pathlib import Path
from phpdyno.host.files.scratch import scratch_directory
with scratch_directory(Path(sys.argv[1])) as place:
    (place / "held").write_text("x")
    print(place, flush=True)
    sys.stdin.read()
"""


def holding(root: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has a scratch directory, until its input ends."""
    process = subprocess.Popen([sys.executable, "-c", _PROGRAM, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def marked(place: Path, text: bytes = MARKED) -> Path:
    place.mkdir()
    (place / MARKER).write_bytes(text)
    (place / "work").write_text("somebody's")
    return place


def cleared(root: Path, place: Path) -> bool:
    with scratch_directory(root):
        pass
    return not place.exists()


def test_it_is_gone_at_the_end_and_after_a_fault(tmp_path: Path) -> None:
    with scratch_directory(tmp_path) as place:
        (place / "file").write_text("x")
    with pytest.raises(ValueError, match="meanwhile"), scratch_directory(tmp_path):
        raise ValueError("meanwhile")
    assert list(tmp_path.iterdir()) == []


def test_of_one_that_is_killed_the_next_removes_it_and_of_one_that_lives_nothing(tmp_path: Path) -> None:
    killed, left = holding(tmp_path)
    alive, held = holding(tmp_path)
    with killed, alive:
        killed.kill()
        killed.wait(10)
        assert (left / "held").is_file()
        assert cleared(tmp_path, left)
        assert (held / "held").is_file()
        alive.communicate("", timeout=10)
    assert list(tmp_path.iterdir()) == []


def unmarked(place: Path) -> Path:
    marked(place)
    (place / MARKER).unlink()
    return place


def marked_by_a_link(place: Path) -> Path:
    marked(place)
    (place / MARKER).rename(place / "elsewhere")
    (place / MARKER).symlink_to("elsewhere")
    return place


def a_link(place: Path) -> Path:
    place.symlink_to(marked(place.with_name("elsewhere")))
    return place


def with_a_pipe(place: Path) -> Path:
    marked(place)
    (place / MARKER).unlink()
    os.mkfifo(place / MARKER)
    return place


@pytest.mark.parametrize("made", [unmarked, marked_by_a_link, a_link, with_a_pipe, lambda place: marked(place, MARKED + b"more")])
def test_what_is_not_ours_is_not_removed_whatever_its_name(made: Callable[[Path], Path], tmp_path: Path) -> None:
    assert not cleared(tmp_path, made(tmp_path / f"{PREFIX}a1b2c3d4"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
@pytest.mark.parametrize("what", ["", MARKER])
def test_what_another_account_made_is_not_removed(what: str, tmp_path: Path) -> None:
    place = marked(tmp_path / f"{PREFIX}a1b2c3d4")
    os.chown(place / what, 12345, 12345)
    assert not cleared(tmp_path, place)


def test_what_is_ours_and_held_by_nobody_is_removed(tmp_path: Path) -> None:
    assert cleared(tmp_path, marked(tmp_path / f"{PREFIX}a1b2c3d4"))
