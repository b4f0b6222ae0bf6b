"""Our end of the line to the guardian: requests and answers, and what it tells by itself."""

import contextlib
import json
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from phpdyno.errors import DynoError
from phpdyno.paths import live_root
from phpdyno.servers.supervision.guardian import START

END_S = 15.0


class GuardianChannel:
    """A guardian that is started, and the line to it. Raises DynoError where it can make no live
    directory."""

    def __init__(self) -> None:
        self.exits: dict[int, int] = {}
        """Exit codes of ended processes (negative: the signal's number), by the number of the
        request that started each."""
        self._buffer = b""
        self._next_id = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._lost = False
        self._live_path = ""
        ours, theirs = socket.socketpair()
        self._line = ours
        with theirs:
            argv = [sys.executable, "-I", "-c", START, str(theirs.fileno()), str(live_root())]
            self.process = subprocess.Popen(argv, pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL)
        self.live = self._await_live()
        """The live directory that it made."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """What it answers: `error` in it is the kernel's reason, `errno` and `file` with it. Raises
        DynoError when it has ended."""
        self._next_id += 1
        number = self._next_id
        line = json.dumps({**request, "id": number}).encode() + b"\n"
        try:
            self._line.sendall(line)
        except OSError:
            self._lose()
        while number not in self._answers:
            self._receive()
        return self._answers.pop(number)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Take in what it has to say, waiting up to `timeout_s` for it."""
        if self._lost:
            return
        readable, _, _ = select.select([self._line], [], [], max(0.0, timeout_s))
        if readable:
            self._receive()

    def hang_up(self) -> bool:
        """End the line: it kills what is left, cleans up and ends. Idempotent; whether a Ctrl-C
        came meanwhile, which waits."""
        interrupted = False
        if self._line.fileno() < 0:
            return interrupted
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        deadline = time.monotonic() + END_S
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                time.sleep(0.005)
            except KeyboardInterrupt:
                interrupted = True
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        return interrupted

    def _await_live(self) -> Path:
        try:
            while not self._live_path:
                self._receive()
        except DynoError as error:
            raise DynoError("cannot make a live directory", where=str(live_root()), next_step="set PHPDYNO_LIVE to a short path") from error
        return Path(self._live_path)

    def _receive(self) -> None:
        while not select.select([self._line], [], [], 1.0)[0]:
            if self.process.poll() is not None:
                self._lose()
        try:
            data = self._line.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._lose()
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message["event"] == "live":
                self._live_path = message["path"]
            else:
                self.exits[message["child"]] = message["status"]

    def _lose(self) -> None:
        self._lost = True
        raise DynoError("the guardian process ended unexpectedly", next_step="the run can be resumed with --resume")
