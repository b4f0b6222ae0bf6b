"""The guardian: a small process that starts our servers and ends every one of them, grandchildren
included, when we vanish.

It is a child subreaper in a session of its own and holds one end of a socket pair. End of file on
it means that phpdyno is gone, by whatever cause, SIGKILL included: then every descendant is killed,
settings of the host get their old values back, the cgroups are removed and the live directory is
deleted. Parent-death signals alone would miss the workers of php-fpm and nginx, and they are
cleared on setuid.

With a bottle (namespaces of their own for mounts, network, processes and IPC) each process that is
put into it is in a PID namespace of its own, together with all that it starts: when it ends, or the
guardian does, the kernel ends them all.

Standard library only: it must start in milliseconds and survive whatever breaks in the rest.
Protocol: one JSON object per line. `{"id", "op": "spawn" | "signal" | "own" | "set" | "bottle" | …,
…}` is answered by `{"id", …}`; an ended child is told by `{"event": "exit", "child", "status"}`:
the id of the request that started it, and its exit code (negative: the signal's number).
"""

import contextlib
import errno
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from phpdyno.host import namespaces
from phpdyno.package import PACKAGE
from phpdyno.servers.bottle.making import Bottle, end_pid_namespace, start_in_pid_namespace
from phpdyno.servers.bottle.overlay import extent, stand
from phpdyno.servers.bottle.survey import survey
from phpdyno.servers.supervision.becoming import become, carry, open_log
from phpdyno.servers.supervision.live_directory import make_live, remove_traces
from phpdyno.servers.supervision.processes import boot_id, descendants, start_ticks

PR_SET_CHILD_SUBREAPER = 36
SETTABLE = ("/proc/sys/vm/nr_hugepages", "/proc/sys/net/core/somaxconn")
"""Settings of the host that are ever changed, and so the only ones that a note may have
restored."""
OF_NETWORK = "/proc/sys/net/"
"""Settings that a network namespace has for itself: with a bottle, the host's stay as they are."""
KILL_DEADLINE_S = 10.0


class Guardian:
    """Owns all processes of one run; `serve` returns when the other side is gone."""

    def __init__(self, channel: socket.socket, live: Path, boot: str) -> None:
        self.channel = channel
        self.live = live
        self.boot = boot
        self.started = start_ticks(os.getpid())
        self.cgroups: list[str] = []
        self.sessions: list[dict[str, Any]] = []
        self.settings: dict[str, str] = {}
        """Files of the host's settings that we changed, with what they held before."""
        self.buffer = b""
        self.children: dict[int, int] = {}
        """Process id to the id of the request that started it."""
        self.bottle: Bottle | None = None
        self.firsts: dict[int, int] = {}
        """Of each process in a PID namespace of its own, the first process of that."""
        self.network: dict[str, str] = {}
        """Settings of the bottle's network that we changed, with what they held before."""
        self.relays: list[int] = []
        """Processes that carry connections out of the bottle."""

    def serve(self) -> None:
        """Answer requests and report ended children until end of file."""
        waker, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.remember()
        self.tell({"event": "live", "path": str(self.live)})
        while True:
            readable, _, _ = select.select([self.channel.fileno(), waker], [], [])
            if waker in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(waker, 4096)
                self.reap()
            if self.channel.fileno() in readable and not self.receive():
                return

    def receive(self) -> bool:
        """Handle what has arrived; False at end of file."""
        try:
            data = self.channel.recv(1 << 16)
        except ConnectionError:
            return False
        if not data:
            return False
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            self.handle(json.loads(line))
        return True

    def handle(self, request: dict[str, Any]) -> None:
        """Carry out one request; an OSError becomes its answer."""
        answer: dict[str, Any] = {"id": request["id"]}
        try:
            if request["op"] == "spawn":
                answer["pid"] = self.spawn(request)
            elif request["op"] == "signal":
                self.signal(request["pid"], request["signal"])
            elif request["op"] == "own":
                self.cgroups += request["cgroups"]
                self.remember()
            elif request["op"] == "set":
                answer["value"] = self.set(request["file"], request["value"])
            elif request["op"] == "bottle":
                answer["network"] = self.make_bottle(request["steps"])
            elif request["op"] == "through" and self.bottle is not None:
                self.let_through(request, self.bottle)
            elif self.bottle is not None:
                answer["value"] = in_bottle(self.bottle, request)
        except OSError as error:
            answer["error"] = error.strerror or str(error)
            answer["errno"] = error.errno
            answer["file"] = str(error.filename or "")
        self.tell(answer)

    def tell(self, message: dict[str, Any]) -> None:
        """Send one line; a vanished reader shows as end of file in `serve`."""
        with contextlib.suppress(OSError):
            self.channel.sendall(json.dumps(message).encode() + b"\n")

    def spawn(self, request: dict[str, Any]) -> int:
        """Fork and exec with log, cgroups, cores and account applied; an exec failure is raised
        here, in the parent."""
        log = open_log(request["log"])
        output = log
        if request["output"]:
            output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        elif request["uid"] is not None:
            os.fchown(log, request["uid"], request["gid"])  # php-fpm opens /proc/self/fd/2 anew
        read_end, write_end = os.pipe()
        try:
            pid, first = self.fork(request, (output, log), write_end)
        except OSError:
            os.close(read_end)
            raise
        finally:
            for descriptor in {write_end, output, log}:
                os.close(descriptor)
        with os.fdopen(read_end, "rb") as pipe:
            failure = pipe.read()
        if failure:
            os.waitpid(pid, 0)
            if first:
                end_pid_namespace(first)
            number, _, place = failure.decode().partition(" ")
            raise OSError(int(number), os.strerror(int(number)), place)
        self.children[pid] = request["id"]
        if first:
            self.firsts[pid] = first
        executable = str(Path(shutil.which(request["argv"][0]) or request["argv"][0]).resolve())
        self.sessions.append({"leader": pid, "started": start_ticks(pid), "exe": executable, "log": request["log"]})
        self.remember()
        return pid

    def fork(self, request: dict[str, Any], outputs: tuple[int, int], report: int) -> tuple[int, int]:
        """Fork what becomes the program; its number, and that of the first process of its PID
        namespace (0 outside the bottle)."""
        if request["bottled"] and (bottle := self.bottle) is not None:
            return start_in_pid_namespace(lambda: become(request, outputs, report, bottle=bottle), bottle.enter_as_first)
        us = os.getpid()
        pid = os.fork()
        if pid == 0:
            become(request, outputs, report, guardian=us)
        return pid, 0

    def make_bottle(self, steps: list[dict[str, Any]]) -> str:
        """Make the bottle; the file that stands for its network namespace. Raises OSError: this
        host lets us make none."""
        if os.geteuid() != 0:
            namespaces.enter_user_namespace()
        root = self.live / "root"
        root.mkdir(exist_ok=True)
        self.bottle = Bottle.make(str(root), steps)
        return f"/proc/{os.getpid()}/fd/{self.bottle.network}"

    def let_through(self, request: dict[str, Any], bottle: Bottle) -> None:
        """Carry connections to places in the bottle to peers outside, in a process of their own;
        all such processes run on the cores that are named, where any are. Raises OSError."""
        passages = request["passages"]
        if passages:
            listening = bottle.listen([(address, port) for address, port, _, _ in passages])
            try:
                log = open_log(request["log"])
                us, peers = os.getpid(), [(host, port) for _, _, host, port in passages]
                pid = os.fork()
                if pid == 0:
                    carry(request, list(zip(listening, peers, strict=True)), log, guardian=us)
                os.close(log)
            finally:
                for each in listening:
                    each.close()
            self.relays.append(pid)
        for pid in self.relays if request["cores"] else ():
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                    os.sched_setaffinity(int(thread), request["cores"])

    def signal(self, pid: int, number: int) -> None:
        """Signal the process group that a child leads, or what is left of its session below us when
        it has ended itself."""
        if pid in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
            return
        for left in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(left) == pid:
                    os.kill(left, number)

    def set(self, file: str, value: str | None) -> str:
        """Write a setting of the host, None: what it held before; give what it holds then. What it
        was is written down first."""
        if file not in SETTABLE:
            raise OSError(errno.EPERM, "not a setting that we change", file)
        if self.bottle is not None and file.startswith(OF_NETWORK):
            self.network.setdefault(file, self.bottle.set_network(file, None))
            return self.bottle.set_network(file, self.network[file] if value is None else value)
        if value is None:
            if file in self.settings:
                restore_settings({file: self.settings.pop(file)})
                self.remember()
        else:
            self.settings.setdefault(file, Path(file).read_text().strip())
            self.remember()
            Path(file).write_text(value)
        return Path(file).read_text().strip()

    def reap(self) -> None:
        """Collect every ended child and report those that we started (adopted grandchildren are
        only collected)."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:
                if first := self.firsts.pop(pid, 0):
                    end_pid_namespace(first)
                self.tell({"event": "exit", "child": self.children.pop(pid), "status": os.waitstatus_to_exitcode(status)})

    def remember(self) -> None:
        """Write down what we own, for the next start to clear in case we die as well."""
        note = {
            "guardian": os.getpid(),
            "started": self.started,
            "boot": self.boot,
            "sessions": self.sessions,
            "cgroups": self.cgroups,
            "settings": self.settings,
        }
        with contextlib.suppress(OSError):
            temporary = self.live / "owner.json.new"
            temporary.write_text(json.dumps(note))
            temporary.replace(self.live / "owner.json")

    def end(self) -> None:
        """Kill every descendant until none is left, then remove cgroups and the live directory."""
        deadline = time.monotonic() + KILL_DEADLINE_S
        while (left := descendants(os.getpid())) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            self.reap()
            time.sleep(0.005)
        restore_settings(self.settings)
        remove_traces(self.cgroups, self.live)


def in_bottle(bottle: Bottle, request: dict[str, Any]) -> Any:
    """What is asked of the bottle itself. Raises OSError."""
    if request["op"] == "extent":
        return extent(bottle, request)
    if request["op"] == "stand":
        return stand(bottle, request)
    if request["op"] == "survey":
        return bottle.look(lambda: survey(request["known_as"]), request["path"], request["account"])
    if request["op"] == "addresses":
        bottle.add_addresses(request["addresses"])
    elif request["op"] == "show":
        bottle.add(request["steps"])
    return None


def restore_settings(settings: dict[str, str]) -> None:
    """Give settings of the host back what they held; nothing else than `SETTABLE` is ever
    written."""
    for file, value in settings.items():
        if file in SETTABLE and value.isdecimal():
            with contextlib.suppress(OSError):
                Path(file).write_text(value)


START = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); from phpdyno.servers.supervision.guardian import main; main()"
"""What a Python without site directories is given to run."""


def main() -> None:
    """`-c START FD ROOT`: make a live directory below ROOT and serve on the inherited socket FD.

    The directory is made here and not by our owner: whoever makes it must be there to remove it.
    """
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)  # a server that held it would keep our death from being seen, and could speak in our name
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    namespaces.libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        boot = boot_id()
        live = make_live(sys.argv[2])
    except OSError:
        sys.exit(1)  # our owner sees the end of file and says it in words
    guardian = Guardian(channel, live, boot)
    try:
        guardian.serve()
    finally:
        guardian.end()
