"""Samples what a pool's workers wait for, without a tracer: /proc/PID/syscall of each, many times a
second, beside schedstat."""

import os
import platform
import random
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.explain.waits.descriptors import Descriptors, KnownEnds, address_words
from phpdyno.explain.waits.parked import Parked, parked_in, subject_of
from phpdyno.explain.waits.syscall_numbers import BY_MACHINE
from phpdyno.model.inside.waits import Wait, WaitsSeen

EVERY_S = 0.0005
"""On the mean; each pause is drawn, so that nothing that ticks is met in step."""
LOOK_FOR_WORKERS = 64
"""Sweeps after which new workers are looked for."""
_MOST_POLLED = 16
_POLLFD = struct.Struct("ihh")
_FAMILY = struct.Struct("=H")
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10


class CannotSeeWaits(DynoError):  # noqa: N818 (it names the finding: this host does not let us look)
    """What workers wait for cannot be seen here. Whatever else was asked for goes on."""


class WaitSampling(Struct):
    """Filled when the sampling ends."""

    seen: WaitsSeen = WaitsSeen(0, 0, 0, 0)


@contextmanager
def sampling_waits(
    workers: Callable[[], tuple[int, ...]], known: KnownEnds, *, every_s: float = EVERY_S, machine: str = ""
) -> Iterator[WaitSampling]:
    """Sample `workers()` (asked for again now and then) while the block lasts, in a thread of this
    process's own cores.

    Costs some 5 µs a worker and sample. Raises CannotSeeWaits: another account's processes, ptrace
    forbidden, an unknown machine, or a worker whose waits may not be read meanwhile.
    """
    numbers = BY_MACHINE.get(machine or platform.machine())
    if numbers is None:
        raise CannotSeeWaits(f"the numbers of the system calls of {machine or platform.machine()} are not known here")
    sampler = _Sampler(workers, known, numbers, every_s)
    found = WaitSampling()
    sampler.begin()
    try:
        yield found
    finally:
        found.seen = sampler.end()
    if sampler.refused:
        raise _refusal(sampler.refused)


class _Watched:
    """One worker with its open files."""

    def __init__(self, pid: int, known: KnownEnds) -> None:
        """Raises OSError."""
        self.pid = pid
        self.files: list[int] = []
        self.descriptors = Descriptors(pid, known)
        try:
            for name in ("syscall", "schedstat", "mem"):
                self.files.append(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC))
            self.first = self.scheduled()
        except BaseException:
            self.close()
            raise
        self.last = self.first

    def parked(self) -> Parked | None:
        return parked_in(os.pread(self.files[0], 256, 0))

    def scheduled(self) -> tuple[int, int]:
        """Nanoseconds on a CPU and in a run queue so far."""
        ran, waited, _ = os.pread(self.files[1], 128, 0).split()
        return int(ran), int(waited)

    def memory(self, address: int, size: int) -> bytes:
        """Some of its memory, b'' where that is gone."""
        try:
            return os.pread(self.files[2], size, address)
        except (OSError, OverflowError):
            return b""

    def close(self) -> None:
        for each in self.files:
            os.close(each)
        self.files.clear()
        self.descriptors.close()


class _Sampler:
    def __init__(self, workers: Callable[[], tuple[int, ...]], known: KnownEnds, numbers: Mapping[int, str], every_s: float) -> None:
        self._workers = workers
        self._known = known
        self._numbers = numbers
        self._every_s = every_s
        self._watched: dict[int, _Watched] = {}
        self._ended: list[tuple[int, int]] = []
        self._waits: Counter[Wait] = Counter()
        self._running = self._sweeps = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="waits", daemon=True)
        self._begun_ns = 0
        self.refused: OSError | ValueError | None = None

    def begin(self) -> None:
        """Raises CannotSeeWaits."""
        try:
            self._look_for_workers(strict=True)
            for each in self._watched.values():
                each.parked()
        except (OSError, ValueError) as error:
            self._close()
            raise _refusal(error) from error
        if not self._watched:
            raise CannotSeeWaits(
                "there is no worker to look at", next_step="where /proc hides the processes of others (hidepid), run phpdyno as root"
            )
        self._begun_ns = time.monotonic_ns()
        self._thread.start()

    def end(self) -> WaitsSeen:
        """Stop, and give what was seen."""
        self._stop.set()
        self._thread.join()
        wall_ns = time.monotonic_ns() - self._begun_ns
        for each in list(self._watched):
            self._let_go(each)
        ran, queued = (sum(each[place] for each in self._ended) for place in (0, 1))
        return WaitsSeen(self._sweeps, wall_ns, ran, queued, self._running, dict(self._waits))

    def _run(self) -> None:
        draw = random.Random(1).uniform  # noqa: S311 (pauses, no secrets)
        while not self._stop.is_set():
            try:
                if self._sweeps % LOOK_FOR_WORKERS == LOOK_FOR_WORKERS - 1:
                    self._look_for_workers()
                self._sweep()
            except (OSError, ValueError) as error:
                self.refused = error
                return
            time.sleep(self._every_s * draw(0.4, 1.6))

    def _sweep(self) -> None:
        self._sweeps += 1
        for each in tuple(self._watched.values()):
            try:
                parked = each.parked()
                if parked is None:
                    self._running += 1
                elif (wait := self._wait_of(each, parked)) is not None:
                    self._waits[wait] += 1
            except ProcessLookupError:
                self._let_go(each.pid)

    def _wait_of(self, worker: _Watched, parked: Parked) -> Wait | None:
        """What it waits for; None where that is over before it could be looked at."""
        subject, call = subject_of(parked, self._numbers)
        match subject:
            case "idle" | "sleep":
                return Wait(subject)
            case "disk" | "lock" | "process" | "other":
                return Wait(subject, call)
            case "descriptor":
                return worker.descriptors.wait_on(parked.arguments[0])
            case "connect":
                return worker.descriptors.end_named(address_in(worker.memory(parked.arguments[1], min(128, parked.arguments[2]))))
            case _:
                return self._one_of(worker, parked, call)

    def _one_of(self, worker: _Watched, parked: Parked, call: str) -> Wait | None:
        """The first of several descriptors that says whom; without any the call is a pause."""
        if call.startswith("epoll"):
            numbers = worker.descriptors.watched_by(parked.arguments[0])
        elif "poll" in call:
            count = min(parked.arguments[1], _MOST_POLLED)
            numbers = polled_in(worker.memory(parked.arguments[0], count * _POLLFD.size))
        else:
            size = (min(parked.arguments[0], 1024) + 63) // 64 * 8
            masks = [worker.memory(address, size) for address in parked.arguments[1:4] if address]
            numbers = tuple(dict.fromkeys(number for mask in masks for number in selected_in(mask)))
        if not numbers:
            return Wait("sleep")
        found = [each for number in numbers[:_MOST_POLLED] if (each := worker.descriptors.wait_on(number)) is not None]
        return next((each for each in found if each.kind not in {"other", "idle"}), next(iter(found), None))

    def _look_for_workers(self, *, strict: bool = False) -> None:
        for pid in self._workers():
            if pid in self._watched:
                continue
            try:
                self._watched[pid] = _Watched(pid, self._known)
            except (FileNotFoundError, ProcessLookupError):
                if strict:
                    raise

    def _let_go(self, pid: int) -> None:
        """Take in what the scheduler said of a worker last, and close its files."""
        worker = self._watched.pop(pid)
        try:
            now = worker.scheduled()
        except (OSError, ValueError):
            now = worker.last
        self._ended.append((now[0] - worker.first[0], now[1] - worker.first[1]))
        worker.close()

    def _close(self) -> None:
        for each in self._watched.values():
            each.close()
        self._watched.clear()


def polled_in(memory: bytes) -> tuple[int, ...]:
    """The descriptors of an array of pollfd. Pure."""
    return tuple(number for number, _, _ in _POLLFD.iter_unpack(memory[: len(memory) // _POLLFD.size * _POLLFD.size]) if number >= 0)


def selected_in(mask: bytes) -> tuple[int, ...]:
    """The descriptors of an fd_set. Pure."""
    return tuple(8 * place + bit for place, byte in enumerate(mask) for bit in range(8) if byte >> bit & 1)


def address_in(memory: bytes) -> str:
    """A sockaddr in words: the path of a unix socket, `HOST:PORT`, '' for another kind. Pure."""
    import socket  # noqa: PLC0415 (for two functions)

    if len(memory) < 4:
        return ""
    (family,) = _FAMILY.unpack_from(memory)
    if family == _AF_UNIX:
        return memory[2:].split(b"\0", 1)[0].decode(errors="replace")
    port = int.from_bytes(memory[2:4], "big")
    if family == _AF_INET and len(memory) >= 8:
        return address_words((socket.inet_ntop(socket.AF_INET, memory[4:8]), port))
    if family == _AF_INET6 and len(memory) >= 24:
        return address_words((socket.inet_ntop(socket.AF_INET6, memory[8:24]), port))
    return ""


def _refusal(error: OSError | ValueError) -> CannotSeeWaits:
    if isinstance(error, PermissionError):
        why = "the kernel does not show what another account's processes, or those that may not be traced, wait for"
        return CannotSeeWaits(f"{why}: {error.strerror}", where=str(error.filename or ""), next_step="run phpdyno as root")
    if isinstance(error, FileNotFoundError):
        return CannotSeeWaits(
            "this kernel does not show the call in which a process waits", where=str(error.filename), next_step="CONFIG_HAVE_ARCH_TRACEHOOK"
        )
    return CannotSeeWaits(f"what workers wait for cannot be read: {error}")
