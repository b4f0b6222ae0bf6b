"""The real command without the half second that Python takes to load it: one process has loaded all
of phpdyno, and each command is a fork of it.

Everything after `import` happens as ever: `phpdyno.cli.main` in a process of its own with its own
outputs, environment and end. Tests of the start itself, and those that signal the command, start
an interpreter (`tests.support.real.command`).
"""

import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

AT_THE_START = ("PYTHON", "LC_", "LANG", "VIRTUAL_ENV")
"""Beginnings of variables that an interpreter reads once."""


class Preloaded:
    """Commands by one loaded process, one after the other; it ends with this one."""

    def __init__(self) -> None:
        self._from = at_the_start(os.environ)
        self._network = network()
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # as the command itself sets it
                cwd=ROOT,
            )

    def suits(self, env: Mapping[str, str]) -> bool:
        """Whether a command with this environment starts as the loaded process did."""
        return self._process.poll() is None and at_the_start(env) == self._from and network() == self._network

    def run(self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        """The command's end. Raises TimeoutExpired, after it was killed."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            asked = json.dumps({"argv": list(argv), "env": dict(env), "cwd": str(Path.cwd())}).encode()
            socket.send_fds(self._asking, [asked], [output.fileno(), errors.fileno()])
            pid = int(self._asking.recv(64))
            self._asking.settimeout(timeout_s)
            try:
                code = int(self._asking.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._asking.settimeout(None)
                self._asking.recv(64)  # how it ended by that
                raise subprocess.TimeoutExpired(list(argv), timeout_s, _text(output.fileno()), _text(errors.fileno())) from None
            finally:
                self._asking.settimeout(None)
            return subprocess.CompletedProcess(list(argv), code, _text(output.fileno()), _text(errors.fileno()))

    def end(self) -> None:
        """End the loaded process."""
        self._asking.close()
        self._process.wait(10.0)


def at_the_start(env: Mapping[str, str]) -> dict[str, str]:
    """What of an environment an interpreter reads only when it starts."""
    return {name: value for name, value in env.items() if name.startswith(AT_THE_START)}


def network() -> int:
    """The network namespace of this thread, which what it starts begins in."""
    return Path("/proc/thread-self/ns/net").stat().st_ino


def _text(descriptor: int) -> str:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read().decode().replace("\r\n", "\n")


def _load() -> None:
    import phpdyno  # noqa: PLC0415 (a client of this process need not wait for it)

    for module in pkgutil.walk_packages(phpdyno.__path__, "phpdyno."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _serve(asker: socket.socket) -> list[str]:
    """Fork for each command that is asked for, and tell its number and how it ends, until whoever
    asks is gone; in the fork, its arguments."""
    # An interrupt from the keyboard is for the tests, which end this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(asker, 1 << 20, 2)
        if not message:
            sys.exit(0)
        pid = os.fork()
        if pid == 0:
            return _become(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        asker.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        asker.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: dict[str, Any], descriptors: Sequence[int]) -> list[str]:
    """Take on the outputs, environment and directory of a command; its arguments."""
    for number, descriptor in zip((1, 2), descriptors, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments: list[str] = asked["argv"]
    return arguments


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asker:
        _load()
        sys.argv[1:] = _serve(asker)
    from phpdyno.cli import main

    main()
