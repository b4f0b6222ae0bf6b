"""The real command without the half second that Python takes to load it: one process has loaded all
of phpdyno, and each command is a fork of it.

Everything after `import` happens as ever: `phpdyno.cli.main` in a process of its own with its own
outputs, environment and end. Tests of the start itself, and those that signal the command, start
an interpreter (`tests.support.real.command`).
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.places import ROOT

SOCKET = "PHPDYNO_TEST_PRELOADED"
"""Where this process listens, in its environment."""
AT_THE_START = ("PYTHON", "LC_", "LANG", "VIRTUAL_ENV")
"""Beginnings of variables that an interpreter reads once."""


class Preloaded:
    """Commands by one loaded process, which ends with this one."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="pd-preloaded-"))
        self._address = str(self._place / "socket")
        self._from = at_the_start(os.environ)
        self._network = network()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", SOCKET: self._address},  # as the command itself sets it
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"loaded\n", "phpdyno cannot be loaded"

    def suits(self, env: Mapping[str, str]) -> bool:
        """Whether a command with this environment starts as the loaded process did."""
        return self._process.poll() is None and at_the_start(env) == self._from and network() == self._network

    def run(self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        """The command's end. Raises TimeoutExpired, after it was killed."""
        with (
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking,
        ):
            asking.connect(self._address)
            asked = json.dumps({"argv": list(argv), "env": dict(env), "cwd": str(Path.cwd())}).encode()
            socket.send_fds(asking, [asked], [output.fileno(), errors.fileno()])
            pid = int(asking.recv(64))
            asking.settimeout(timeout_s)
            try:
                code = int(asking.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(argv), timeout_s, _text(output.fileno()), _text(errors.fileno())) from None
            return subprocess.CompletedProcess(list(argv), code, _text(output.fileno()), _text(errors.fileno()))

    def end(self) -> None:
        """End the loaded process."""
        self._process.communicate(timeout=10.0)
        Path(self._address).unlink(missing_ok=True)
        self._place.rmdir()


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


def _serve() -> list[str]:
    """Fork for each that asks, until whoever started us is gone; in the fork, the arguments of the
    command that it is to be."""
    place = os.environ.pop(SOCKET)
    _load()
    # An interrupt from the keyboard is for the tests, which end this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, selectors.DefaultSelector() as selector:
        listener.bind(place)
        listener.listen(16)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        os.write(1, b"loaded\n")
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if 0 in ready:
                sys.exit(0)
            asker, _ = listener.accept()
            if os.fork() == 0:
                break
            asker.close()
            _reap()
    return _accompany(asker)


def _accompany(asker: socket.socket) -> list[str]:
    """Fork the command, tell its number and how it ends; in the fork, its arguments."""
    message, descriptors, _, _ = socket.recv_fds(asker, 1 << 20, 2)
    asked = json.loads(message)
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        asker.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):  # whoever ran out of patience does not listen any more
            asker.send(str(os.waitstatus_to_exitcode(status)).encode(), socket.MSG_NOSIGNAL)
        os._exit(0)
    asker.close()
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    for number, descriptor in zip((1, 2), descriptors, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments: list[str] = asked["argv"]
    return arguments


def _reap() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                return
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.argv[1:] = _serve()
    from phpdyno.cli import main

    main()
