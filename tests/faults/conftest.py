"""What several tests of faults get."""

from collections.abc import Iterator

import pytest

from tests.support.real.command import end_started


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """What a test started and left running is ended."""
    yield
    end_started()
