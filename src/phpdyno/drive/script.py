"""Drives the operations of a script: one command per slot, so that the socket does not disturb what
it measures."""

import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from phpdyno._native import OUTCOMES
from phpdyno.drive.driver import MAX_FAILURES_PER_SLOT, RESPONSE_TIMEOUT_NS
from phpdyno.drive.requests import LengthClass
from phpdyno.host.sockets.channel import Channel

FLUSH_NS = 1_000_000_000
"""The host tells of finished operations after this long at the latest, so silence is that of one
operation."""
LEAST_SLOT_NS = 10_000_000
"""A command costs the process 25 to 70 us of CPU however many operations it names (measured with an
empty one)."""
_CODE = {name: code for code, name in enumerate(OUTCOMES)}
_MORE, _DIES = b"r", b"d"
_WORD = struct.Struct("<I")
_COLUMNS = 4


class ScriptSamples(Struct):
    """The columns of one slot as of `phpdyno._native.Samples`: an operation is sent when it starts,
    and answers when it ends."""

    sent_ns: NDArray[np.uint64]
    first_byte_ns: NDArray[np.uint64]
    done_ns: NDArray[np.uint64]
    status: NDArray[np.uint16]
    body_bytes: NDArray[np.uint64]
    target: NDArray[np.uint32]
    outcome: NDArray[np.uint8]
    started_ns: int
    ended_ns: int


class ScriptReply(Struct):
    """The answer of one operation; `status` 0 when it was done, 1 when it failed, then `body` says
    why."""

    outcome: int
    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]]
    detail: str


class _Told(Struct, frozen=True):
    """Rows of start, end (ns), status and bytes of the answer, and the outcome of the operation
    after them ('' where none was due)."""

    rows: NDArray[np.uint64]
    cut_short: str


class ScriptDriver:
    """One operation at a time of the host that listens on a unix socket; `bounds` are the valid
    lengths of each operation's answer."""

    def __init__(
        self,
        path: Path,
        bounds: Sequence[LengthClass],
        *,
        max_failures: int = MAX_FAILURES_PER_SLOT,
        timeout_ns: int = RESPONSE_TIMEOUT_NS,
    ) -> None:
        self.concurrency = 1
        self.least_slot_ns = LEAST_SLOT_NS
        self._path = path
        self._least = np.asarray([each.least for each in bounds], dtype=np.uint64)
        self._most = np.asarray([each.most for each in bounds], dtype=np.uint64)
        self._max_failures = max_failures
        self._timeout_ns = timeout_ns
        self._channel: Channel | None = None

    def drive(self, sequence: NDArray[np.uint32]) -> ScriptSamples:
        """One slot: have the operations of `sequence` performed one after another. Raises
        IndexError for one that there is not."""
        if sequence.size and int(sequence.max()) >= self._least.size:
            raise IndexError(f"operation {int(sequence.max())} of {self._least.size}")
        started = time.monotonic_ns()
        told = self._run(sequence)
        return self._samples(sequence, told, started, time.monotonic_ns())

    def fetch(self, target: int) -> ScriptReply:
        """One operation, its answer kept. Raises IndexError for one that there is not."""
        if not 0 <= target < self._least.size:
            raise IndexError(f"operation {target} of {self._least.size}")
        try:
            answer = self._ask(b"F" + _WORD.pack(target)).receive(self._timeout_ns / 1e9)
        except TimeoutError:
            return self._no_reply("timed_out", f"it takes more than {self._timeout_ns / 1e9:.0f} s")
        except OSError as error:
            return self._no_reply("closed_early" if self._channel else "connect_failed", str(error))
        except BaseException:
            self.close()
            raise
        outcome = "wrong_status" if answer[0] else "ok"
        return ScriptReply(_CODE[outcome], answer[0], answer[1:], [], "")

    def close(self) -> None:
        """Hang up."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    # ---- the conversation -----------------------------------------------------------------------

    def _ask(self, message: bytes) -> Channel:
        if self._channel is None:
            self._channel = Channel(self._path)
        self._channel.send(message)
        return self._channel

    def _no_reply(self, outcome: str, detail: str) -> ScriptReply:
        self.close()
        return ScriptReply(_CODE[outcome], 0, b"", [], detail)

    def _run(self, sequence: NDArray[np.uint32]) -> _Told:
        parts: list[NDArray[np.uint64]] = []
        cut_short = ""
        try:
            channel = self._ask(b"R" + _WORD.pack(self._max_failures) + sequence.astype("<u4").tobytes())
            kind = _MORE
            while kind == _MORE:
                message = channel.receive((self._timeout_ns + FLUSH_NS) / 1e9)
                kind = message[:1]
                parts.append(np.frombuffer(message, dtype="<u8", offset=1).reshape(-1, _COLUMNS).astype(np.uint64))
            if kind == _DIES:
                raise ConnectionResetError
        except TimeoutError:
            cut_short = "timed_out"
        except OSError:
            cut_short = "closed_early" if self._channel else "connect_failed"
        except BaseException:
            self.close()
            raise
        if cut_short:
            self.close()
        return _Told(np.concatenate(parts) if parts else np.zeros((0, _COLUMNS), dtype=np.uint64), cut_short)

    def _samples(self, sequence: NDArray[np.uint32], told: _Told, started_ns: int, ended_ns: int) -> ScriptSamples:
        done = len(told.rows)
        if 0 < done == sequence.size:
            # Waking the process, and us, is no operation's time.
            started_ns, ended_ns = int(told.rows[0, 0]), int(told.rows[-1, 1])
        table = np.zeros((sequence.size, _COLUMNS), dtype=np.uint64)
        table[:done] = told.rows
        sent, end, status, length = table.T
        outcome = np.full(sequence.size, _CODE["abandoned"], dtype=np.uint8)
        outcome[:done] = _CODE["ok"]
        outcome[:done][end[:done] - sent[:done] > self._timeout_ns] = _CODE["timed_out"]
        outside = (length < self._least[sequence]) | (length > self._most[sequence])
        outcome[:done][outside[:done]] = _CODE["wrong_length"]
        outcome[:done][status[:done] != 0] = _CODE["wrong_status"]
        if told.cut_short and done < sequence.size:
            outcome[done] = _CODE[told.cut_short]
        return ScriptSamples(
            sent_ns=np.ascontiguousarray(sent),
            first_byte_ns=end.copy(),
            done_ns=end.copy(),
            status=status.astype(np.uint16),
            body_bytes=np.ascontiguousarray(length),
            target=sequence.astype(np.uint32),
            outcome=outcome,
            started_ns=started_ns,
            ended_ns=ended_ns,
        )
