"""Pools as production has them, loaded for real, and `phpdyno watch` beside them."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phpdyno._native import Engine, Target
from phpdyno.server_files.fastcgi import request_params
from tests.support.real.live import LivePhp

WAIT_S = 20.0
PAGES = {
    "sleep": "<?php usleep((int) ($_GET['us'] ?? 50000)); echo 'slept';",
    "spin": "<?php $t = hrtime(true); while (hrtime(true) - $t < 20_000_000); echo 'spun';",
    "hang": "<?php $c = stream_socket_client('tcp://127.0.0.1:' . $_GET['port']); fread($c, 1); echo 'answered';",
}


def pool_text(name: str = "www2", *, pm: str = "static", most: int = 2, listen: str = "127.0.0.1:{port}", more: str = "") -> str:
    """A pool's file; `{place}` and `{port}` are filled in where it is written."""
    spares = "pm.start_servers = 1\npm.min_spare_servers = 1\npm.max_spare_servers = 2\n" if pm == "dynamic" else ""
    return f"[{name}]\nuser = nobody\ngroup = nogroup\nlisten = {listen}\npm = {pm}\npm.max_children = {most}\n{spares}{more}"


def pages_in(place: Path) -> None:
    """The pages that a load asks for."""
    for name, text in PAGES.items():
        (place / f"{name}.php").write_text(text)


@contextmanager
def loaded(live: LivePhp, page: str, *, clients: int, address: str = "") -> Iterator[None]:
    """Requests by so many clients in closed loops, each with a connection of its own; they end with
    the context."""
    pages_in(live.place)
    over = threading.Event()
    path, _, query = page.partition("?")
    params = request_params(path=f"/{path}.php{f'?{query}' if query else ''}", host="localhost", docroot=live.place, script=f"/{path}.php")

    def ask() -> None:
        while not over.is_set():
            target = Target.fastcgi(params, status=200)
            Engine(address or f"tcp:127.0.0.1:{live.port}", [target], keep_alive=False, response_timeout_ns=3_000_000_000).fetch(0)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(WAIT_S)


class Watching:
    """A running `phpdyno watch --json`; its lines as they come."""

    def __init__(self, *argv: str, before: tuple[str, ...] = (), env: Mapping[str, str] | None = None, **how: Any) -> None:
        command = [*before, sys.executable, "-m", "phpdyno", "watch", *argv, "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, **how)
        self.lines: list[dict[str, Any]] = []
        self.errors = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        self._listener.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    def until(self, **wanted: Any) -> dict[str, Any]:
        """The first line, from now on or before, that has all these values; a value may be a
        condition."""
        end = time.monotonic() + WAIT_S
        seen = 0
        while True:
            for line in self.lines[seen:]:
                seen += 1
                if all(want(line.get(name)) if callable(want) else line.get(name) == want for name, want in wanted.items()):
                    return line
            ended = self.process.poll() is not None
            assert not (ended and seen == len(self.lines) and not self._reader.is_alive()), (wanted, self.errors, self.lines[-3:])
            assert time.monotonic() < end, (wanted, self.errors, self.lines[-3:])
            time.sleep(0.02)

    def end(self, number: int | None = None) -> int:
        """Signal it, or wait for its own end; the exit code. All lines are there then."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        self._listener.join(WAIT_S)
        return code


@contextmanager
def watching(*argv: str, before: tuple[str, ...] = (), env: Mapping[str, str] | None = None, **how: Any) -> Iterator[Watching]:
    """One, ended at the end whatever happened."""
    running = Watching(*argv, before=before, env={**os.environ, **(env or {})} if env is None else env, **how)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.end()
        for stream in (running.process.stdout, running.process.stderr):
            assert stream is not None
            stream.close()
