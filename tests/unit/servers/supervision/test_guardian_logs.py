"""What the guardian takes for a log."""

import os
from pathlib import Path

import pytest

from phpdyno.servers.supervision.becoming import open_log


def test_a_log_is_made_and_appended_to(tmp_path: Path) -> None:
    for word in (b"one", b"two"):
        log = open_log(str(tmp_path / "a.log"))
        os.write(log, word)
        os.close(log)
    assert (tmp_path / "a.log").read_bytes() == b"onetwo"


@pytest.mark.parametrize("kind", ["link", "link to nothing", "second name", "pipe", "directory"])
def test_what_somebody_else_put_there_is_not_written(tmp_path: Path, kind: str) -> None:
    victim, log = tmp_path / "victim", tmp_path / "a.log"
    victim.write_text("whole")
    match kind:
        case "link":
            log.symlink_to(victim)
        case "link to nothing":
            log.symlink_to(tmp_path / "nothing")
        case "second name":
            log.hardlink_to(victim)
        case "pipe":
            os.mkfifo(log)
        case _:
            log.mkdir()
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match=r"plain file|symbolic links|device|directory"):
        open_log(str(log))
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before
    assert victim.read_text() == "whole"
    assert not (tmp_path / "nothing").exists()
