"""Processes that only seem to be php-fpm's masters, whatever they call themselves."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.servers.live.masters import _of_another_account, _sizes, _started_s

COMM = Path("/proc/self/comm")


@pytest.fixture
def odd_name() -> Iterator[None]:
    """This process bears a name that is no text."""
    before = COMM.read_bytes()
    COMM.write_bytes(b"php\xff")
    yield
    COMM.write_bytes(before.rstrip(b"\n"))


@pytest.mark.usefixtures("odd_name")
def test_a_process_with_a_name_that_is_no_text_can_be_looked_at() -> None:
    assert b"\xff" in Path(f"/proc/{os.getpid()}/stat").read_bytes()
    assert _of_another_account(os.getpid()) is None
    assert _started_s(os.getpid()) > 0
    assert _sizes(os.getpid())[0] > 0
