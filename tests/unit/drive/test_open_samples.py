"""What the columns of an open loop say. `FakeSamples` stands for what the native core returns."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from phpdyno.drive.open_samples import OpenSamples, is_late, lag_ns, queued, response_ns


def fake_samples(*rows: tuple[int, int, int, int, int]) -> OpenSamples:
    """Rows of intended, ready, sent, done and outcome."""
    columns = np.array(rows, dtype=np.uint64).reshape(-1, 5).T
    names = ("intended_ns", "ready_ns", "sent_ns", "done_ns")
    fields = dict(zip(names, columns[:4], strict=True)) | {"outcome": columns[4].astype(np.uint8)}
    return cast(OpenSamples, SimpleNamespace(**fields))


PUNCTUAL = (100, 100, 101, 200, 0)
WAITED = (100, 150, 152, 400, 0)
FAILED = (300, 300, 310, 0, 4)
NEVER_SENT = (900, 0, 0, 0, 7)
UNDER_WAY = (950, 950, 0, 0, 7)


def test_response_time_is_from_the_intended_time_and_only_of_valid_answers() -> None:
    assert response_ns(fake_samples(PUNCTUAL, WAITED, FAILED, NEVER_SENT)).tolist() == [100, 300]


def test_waiting_for_a_connection_is_no_lag_of_the_generator() -> None:
    samples = fake_samples(PUNCTUAL, WAITED, FAILED, NEVER_SENT, UNDER_WAY)
    assert lag_ns(samples).tolist() == [1, 2, 10]
    assert queued(samples) == 1


@pytest.mark.parametrize(("lag", "late"), [(5, False), (6, True)])
def test_a_lag_above_a_twentieth_of_the_response_time_is_too_late(lag: int, late: bool) -> None:
    assert is_late(fake_samples(*[(1000, 1000, 1000 + lag, 1100, 0)] * 50)) is late


def test_without_a_valid_answer_nothing_counts() -> None:
    assert is_late(fake_samples(FAILED, NEVER_SENT))
    assert is_late(fake_samples())
