"""Section `watch`: what `phpdyno watch` costs beside a pool of a hundred workers that are at
work."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support.real.live import live_php
from tests.support.real.services import free_port
from tests.support.real.watched import loaded, pool_text

from phpdyno.errors import DynoError
from phpdyno.host.lock import MeasuringLock
from phpdyno.servers.facts.meter import SchedstatMeter
from tools.bench.figures import Figure, Target, median_figure
from tools.bench.results import Room, Sizes

WORKERS = 100
CLIENTS = 20
SCRAPED_EVERY_S = 5.0
COST = Target("≤ 1 % of a core", at_most=0.01)
SETTLED_S = 4.0
"""Libraries are loaded and the pool is found by then: what is asked is what it costs to go on."""


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    if os.geteuid() != 0:
        room.skipped.append("watch, which reads another account's memory: run as root")
        return []
    figures = []
    with MeasuringLock(), live_php(www2=pool_text(most=WORKERS)) as live:
        live.start()
        with loaded(live, "sleep", clients=CLIENTS):
            for what, argv in (("on a terminal", ()), ("served, asked for metrics every 5 s", ("--serve", str(port := free_port())))):
                room.say(f"watching {WORKERS} workers, {what}")
                shares = _shares((f"{live.pid}:www2", *argv), sizes, port if argv else None)
                name = f"`phpdyno watch` of {WORKERS} workers, {what}, one line a second: share of a core"
                figures.append(median_figure(name, shares, unit="%", target=COST))
    return figures


def _shares(argv: Sequence[str], sizes: Sizes, port: int | None) -> list[float]:
    """CPU time per time of the process, in windows one after the other."""
    with _on_terminal(argv) as pid:
        meter = SchedstatMeter(pid)
        time.sleep(SETTLED_S)
        shares, scraped = [], 0.0
        for _ in range(sizes.watch_windows):
            start, before = time.monotonic(), meter.read_ns()
            while (now := time.monotonic()) < start + sizes.watch_window_s:
                if port is not None and now - scraped >= SCRAPED_EVERY_S:
                    scraped = now
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
                time.sleep(0.05)
            shares.append((meter.read_ns() - before) / 1e9 / (time.monotonic() - start))
        return shares


@contextmanager
def _on_terminal(argv: Sequence[str]) -> Iterator[int]:
    """The command on a terminal of 100 columns that somebody reads; its process number. Raises
    DynoError where it ends by itself."""
    reads, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    command = [sys.executable, "-m", "phpdyno", "watch", *argv]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm-256color"})
    os.close(terminal)
    said: list[bytes] = []

    def drain() -> None:
        try:
            while data := os.read(reads, 1 << 16):
                said[:] = [data]
        except OSError:
            return  # the other end is closed

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    try:
        yield process.pid
        if process.poll() is not None:
            raise DynoError(f"it ended by itself: {b''.join(said).decode(errors='replace')[-200:]}", where="phpdyno watch")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        reader.join(5)
        os.close(reads)
