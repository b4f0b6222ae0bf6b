"""What a connector's process tells of a slot, as the columns that every slot has."""

import struct

import numpy as np
import pytest

from phpdyno._native import OUTCOMES
from phpdyno.drive.connector import ConnectorSlot, read_slot, samples_of

OK, WRONG = OUTCOMES.index("ok"), OUTCOMES.index("wrong_status")


def message(started: int, ended: int, failed: int, every: int, times: list[int], *, why: str = "") -> bytes:
    return struct.pack(f"<{5 + len(times)}Q", started, ended, failed, every, len(times) // 2, *times) + why.encode()


def slot(started: int, ended: int, failed: int = 0, every: int = 1, times: list[int] | None = None) -> ConnectorSlot:
    return read_slot(message(started, ended, failed, every, times or []))


def sequence(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.zeros(count, dtype=np.uint32)


def test_a_slot_is_read_with_the_reason_of_its_first_failure() -> None:
    told = read_slot(message(10, 90, 2, 16, [10, 20, 30, 40], why="a wrong answer for the key 7"))
    assert (told.started_ns, told.ended_ns, told.failed, told.every, told.why) == (10, 90, 2, 16, "a wrong answer for the key 7")
    assert told.times.tolist() == [[10, 20], [30, 40]]


@pytest.mark.parametrize("cut", [b"", b"\0" * 31, struct.pack("<5Q", 1, 2, 0, 1, 9)])
def test_a_slot_that_is_cut_short_is_an_error(cut: bytes) -> None:
    with pytest.raises(ConnectionError, match="a slot that cannot be read"):
        read_slot(cut)


def test_operations_between_noted_ones_have_the_times_of_the_one_before() -> None:
    samples = samples_of(sequence(5), [slot(0, 50, every=2, times=[0, 10, 20, 40])])
    assert samples.sent_ns.tolist() == [0, 0, 20, 20, 20]
    assert samples.done_ns.tolist() == [10, 10, 40, 40, 40]
    assert (samples.started_ns, samples.ended_ns) == (0, 50)
    assert samples.outcome.tolist() == [OK] * 5


def test_several_processes_make_one_slot_from_the_first_start_to_the_last_end() -> None:
    samples = samples_of(sequence(4), [slot(5, 30, times=[5, 10, 10, 30]), slot(0, 20, failed=1, times=[0, 15, 15, 20])])
    assert (samples.started_ns, samples.ended_ns) == (0, 30)
    assert samples.sent_ns.tolist() == [0, 5, 10, 15]
    assert samples.outcome.tolist() == [OK, OK, OK, WRONG]


def test_a_slot_in_which_nothing_was_noted_has_its_own_span() -> None:
    samples = samples_of(sequence(2), [slot(3, 9, failed=5)])
    assert samples.done_ns.tolist() == [9, 9]
    assert samples.outcome.tolist() == [WRONG, WRONG]
