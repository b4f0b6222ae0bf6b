"""Drives a client of Tarantool: one command per slot, many operations in flight, which the client
itself keeps there."""

import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES
from phpdyno.drive.driver import RESPONSE_TIMEOUT_NS
from phpdyno.drive.requests import LengthClass
from phpdyno.drive.script import LEAST_SLOT_NS, ScriptDriver, ScriptReply, ScriptSamples
from phpdyno.host.sockets.channel import Channel

_CODE = {name: code for code, name in enumerate(OUTCOMES)}
_HEAD = struct.Struct("<4Q")
_RUN = struct.Struct("<3I")
_LONG = struct.Struct("<Q")


class ConnectorSlot(Struct, frozen=True):
    """What one process tells of its part of a slot: from when to when (ns), how many operations
    failed and why the first did, and the begin and end of every `every`th operation, in no
    order."""

    started_ns: int
    ended_ns: int
    failed: int
    every: int
    times: NDArray[np.uint64]
    why: str


class ConnectorDriver:
    """Operations of the processes that listen at `paths`, which share each slot; one operation a
    slot."""

    def __init__(self, paths: Sequence[Path], operations: int, *, timeout_ns: int = RESPONSE_TIMEOUT_NS) -> None:
        self.concurrency = 1
        """For the loop: how many are really in flight is the engine's doing, and what is
        measured."""
        self.least_slot_ns = LEAST_SLOT_NS
        self._paths = tuple(paths)
        self._operations = operations
        self._timeout_ns = timeout_ns
        self._channels: list[Channel] = []
        self._first = ScriptDriver(self._paths[0], [LengthClass()] * operations, timeout_ns=timeout_ns)
        self._key = 0
        self.why = ""
        """Of the last operation that failed: what went wrong, '' while none did."""

    def drive(self, sequence: NDArray[np.uint32]) -> ScriptSamples:
        """One slot: perform as many operations as the sequence has, all of them the same one.
        Raises ValueError where they are not."""
        index = self._only(sequence)
        count = int(sequence.size)
        shares = [count // len(self._paths) + (number < count % len(self._paths)) for number in range(len(self._paths))]
        started = time.monotonic_ns()
        told: list[ConnectorSlot] = []
        cut_short = ""
        try:
            for channel, share in zip(self._open(), shares, strict=True):
                channel.send(b"R" + _RUN.pack(index, self._key, share))
                self._key += share
            deadline = time.monotonic() + self._timeout_ns / 1e9
            told = [read_slot(channel.receive(max(0.0, deadline - time.monotonic()))) for channel in self._channels]
        except TimeoutError:
            cut_short = "timed_out"
        except OSError:
            cut_short = "closed_early" if self._channels else "connect_failed"
        except BaseException:
            self.close()
            raise
        if cut_short:
            self.close()
            return _nothing(sequence, cut_short, started, time.monotonic_ns())
        self.why = next((each.why for each in told if each.why), self.why)
        return samples_of(sequence, told)

    def fetch(self, target: int) -> ScriptReply:
        """One operation of the first process, its answer kept. Raises IndexError for one that there
        is not."""
        return self._first.fetch(target)

    def close(self) -> None:
        """Hang up."""
        self._first.close()
        for channel in self._channels:
            channel.close()
        self._channels = []

    def _open(self) -> list[Channel]:
        if not self._channels:
            self._channels = [Channel(path) for path in self._paths]
        return self._channels

    def _only(self, sequence: NDArray[np.uint32]) -> int:
        kinds = np.unique(sequence)
        if kinds.size != 1 or int(kinds[0]) >= self._operations:
            raise ValueError(f"a slot holds one operation of {self._operations}, and this has {kinds.tolist()}")
        return int(kinds[0])


def read_slot(message: bytes) -> ConnectorSlot:
    """What a process says of its part of a slot. Raises ConnectionError for what cannot be."""
    try:
        started, ended, failed, every = _HEAD.unpack_from(message)
        body = message[_HEAD.size :]
        times, why = _divided(body)
    except (struct.error, ValueError) as error:
        raise ConnectionError(f"a slot that cannot be read: {error}") from error
    return ConnectorSlot(started, ended, failed, max(1, every), times, why)


def _divided(body: bytes) -> tuple[NDArray[np.uint64], str]:
    (count,) = _LONG.unpack_from(body)
    times = np.frombuffer(body, dtype="<u8", offset=_LONG.size, count=2 * count).astype(np.uint64)
    return times.reshape(-1, 2), body[_LONG.size + 16 * count :].decode("utf-8", "replace")


def samples_of(sequence: NDArray[np.uint32], told: Sequence[ConnectorSlot]) -> ScriptSamples:
    """The columns of a slot: each operation has the times of the noted one that is nearest before
    it."""
    count = int(sequence.size)
    started = min(each.started_ns for each in told)
    ended = max(each.ended_ns for each in told)
    noted = [np.repeat(each.times, each.every, axis=0) for each in told if each.times.size]
    rows = np.concatenate(noted) if noted else np.zeros((0, 2), dtype=np.uint64)
    rows = rows[np.argsort(rows[:, 0], kind="stable")][:count]
    if len(rows) < count:
        last = rows[-1:] if len(rows) else np.asarray([[started, ended]], dtype=np.uint64)
        rows = np.concatenate([rows, np.repeat(last, count - len(rows), axis=0)])
    failed = min(count, sum(each.failed for each in told))
    outcome = np.full(count, _CODE["ok"], dtype=np.uint8)
    outcome[count - failed :] = _CODE["wrong_status"]
    return _samples(sequence, rows, outcome, (started, ended))


def _nothing(sequence: NDArray[np.uint32], outcome: str, started_ns: int, ended_ns: int) -> ScriptSamples:
    """A slot that was cut short: the first operation met that, and the others were not waited
    for."""
    outcomes = np.full(sequence.size, _CODE["abandoned"], dtype=np.uint8)
    outcomes[:1] = _CODE[outcome]
    rows = np.zeros((sequence.size, 2), dtype=np.uint64)
    return _samples(sequence, rows, outcomes, (started_ns, ended_ns))


def _samples(sequence: NDArray[np.uint32], rows: NDArray[np.uint64], outcome: NDArray[np.uint8], span_ns: tuple[int, int]) -> ScriptSamples:
    sent, done = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
    return ScriptSamples(
        sent_ns=sent,
        first_byte_ns=done.copy(),
        done_ns=done,
        status=(outcome == _CODE["wrong_status"]).astype(np.uint16),
        body_bytes=np.zeros(sequence.size, dtype=np.uint64),
        target=sequence.astype(np.uint32),
        outcome=outcome,
        started_ns=span_ns[0],
        ended_ns=span_ns[1],
    )
