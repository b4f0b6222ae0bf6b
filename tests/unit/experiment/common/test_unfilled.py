"""How late the generator was in a slot: what drains at its end is not counted."""

import numpy as np

from phpdyno.experiment.common.slot import unfilled_ns


class FakeSamples:
    """Times of a slot in nanoseconds, without the other columns."""

    def __init__(self, sent: list[int], done: list[int], started: int = 0) -> None:
        self.sent_ns = np.asarray(sent, dtype=np.uint64)
        self.done_ns = np.asarray(done, dtype=np.uint64)
        self.first_byte_ns = self.done_ns
        self.status = np.full(len(sent), 200, dtype=np.uint16)
        self.body_bytes = np.zeros(len(sent), dtype=np.uint64)
        self.target = np.zeros(len(sent), dtype=np.uint32)
        self.outcome = np.zeros(len(sent), dtype=np.uint8)
        self.started_ns = started
        self.ended_ns = max(done)


def test_a_generator_that_is_never_late_leaves_nothing_unfilled() -> None:
    # Two in flight, each followed at once by the next; the last two drain one after the other.
    assert unfilled_ns(FakeSamples([0, 0, 10, 12], [10, 12, 40, 100]), 2) == 0


def test_a_burst_of_one_request_for_each_in_flight_only_drains() -> None:
    assert unfilled_ns(FakeSamples([0, 0, 0], [10, 20, 1000]), 3) == 0


def test_a_pause_before_the_next_request_is_counted() -> None:
    # One in flight: 5 ns before the first, 7 between the first and the second.
    assert unfilled_ns(FakeSamples([5, 22], [15, 30]), 1) == 12
