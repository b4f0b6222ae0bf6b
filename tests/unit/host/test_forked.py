"""Work in a forked process: what it returns, and whatever it raises, arrives."""

import errno
from pathlib import Path

import pytest

from phpdyno.host.namespaces import forked


def test_what_it_returns_arrives() -> None:
    assert forked(lambda: {"files": 3}) == {"files": 3}


def test_what_the_kernel_says_arrives_with_the_file() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        forked(lambda: Path("/nonexistent/phpdyno").read_text())
    assert caught.value.filename == "/nonexistent/phpdyno"


def test_a_fault_of_ours_is_named() -> None:
    def imported_late() -> None:
        raise ImportError("cannot import name 'relay'")

    with pytest.raises(OSError, match="ImportError: cannot import name 'relay'") as caught:
        forked(imported_late)
    assert caught.value.errno == errno.EIO
