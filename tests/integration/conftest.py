"""What tests of services get: a port that is free again at the end, and a directory for production's sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services import free_port, refused
from tests.support.traces import wait_for_no_traces


@pytest.fixture
def port() -> Iterator[int]:
    number = free_port()
    yield number
    assert refused(number), "it is still there"
    assert wait_for_no_traces() == []


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for production's sockets, which is empty again at the end."""
    folder = tmp_path / "run"
    yield folder
    assert not folder.exists() or list(folder.iterdir()) == []
