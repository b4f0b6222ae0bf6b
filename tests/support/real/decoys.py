"""Decoys on the host for a hostile app: whatever of them it reaches, reads or changes is seen here,
and all of them end by themselves.

Servers that greet like MariaDB, Redis, SMTP and HTTP, directories that everybody may write, System
V and POSIX objects, a process of the servers' account. Each holds a secret that no file of the
app's holds.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import secrets
import select
import selectors
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

LIFE_S = 280.0
MOST_CALLERS = 2000
"""A decoy server answers no more, so that nothing can go on for ever."""
PLACES = ("/srv", "/var/www", "/home", "/tmp", "/var/tmp", "/dev/shm", "/run")
"""Where other sites, homes, sockets of services and files of other programs lie on a host."""
SHARED_PLACES = (
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/run",
    "/run/lock",
    "/dev/mqueue",
    "/var/lib/php/sessions",
    "/var/log",
    "/var/mail",
    *PLACES,
)

_libc = ctypes.CDLL(None, use_errno=True)
_IPC_CREAT, _IPC_RMID = 0o1000, 0
_RECORDER = """
$| = 1;
for my $name (qw(URG CONT USR1 USR2 WINCH TERM HUP INT QUIT ALRM)) { $SIG{$name} = sub { print "$name\\n" } }
print "ready\\n";
my $until = time + $ARGV[1];
select undef, undef, undef, 0.5 while time < $until;
"""


def new_secret() -> str:
    """A secret as attempts.php recognises it."""
    return "DECOY-SECRET-" + secrets.token_hex(8)


def own_addresses() -> list[str]:
    """Addresses of this machine, without those of one link only, as a URL writes them; loopback
    first."""
    found = ["127.0.0.1"]
    asked = subprocess.run(["ip", "-j", "address"], capture_output=True, text=True, check=False) if shutil.which("ip") else None
    for interface in json.loads(asked.stdout or "[]") if asked else []:
        for address in interface["addr_info"]:
            if address.get("scope") != "link" and address["local"] not in found:
                found.append(address["local"])
    return [f"[{address}]" if ":" in address else address for address in found]


class Ears:
    """Sockets that listen, greet whoever comes, and remember it. A context manager; its thread ends
    with it or after `LIFE_S`."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(10.0)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def listen(self, what: str, family: int, kind: int, address: Any) -> socket.socket:
        """One more socket, which greets as `what`. Raises OSError."""
        ear = socket.socket(family, kind)
        ear.bind(address)
        if kind == socket.SOCK_STREAM:
            ear.listen(64)
        ear.setblocking(False)
        if family == socket.AF_UNIX and not str(address).startswith("\0"):
            Path(address).chmod(0o777)
        self._selector.register(ear, selectors.EVENT_READ, what)
        return ear

    def _serve(self) -> None:
        deadline = time.monotonic() + LIFE_S
        while not self._stop.is_set() and time.monotonic() < deadline and len(self.heard) < MOST_CALLERS:
            for key, _ in self._selector.select(0.2):
                ear, what = key.fileobj, key.data
                assert isinstance(ear, socket.socket)
                with contextlib.suppress(OSError):
                    self._answer(ear, what)

    def _answer(self, ear: socket.socket, what: str) -> None:
        secret = new_secret().encode()
        if ear.type == socket.SOCK_DGRAM:
            asked, caller = ear.recvfrom(512)
            self.heard.append(f"{what}: {asked!r} from {caller}")
            ear.sendto(secret, caller)
            return
        connection, caller = ear.accept()
        self.heard.append(f"{what}: a connection from {caller!r}")
        with connection:
            connection.settimeout(0.5)
            if not what.startswith(("mariadb", "smtp")):
                with contextlib.suppress(OSError):
                    connection.recv(512)
            connection.sendall(_greeting(what, secret))


def _greeting(what: str, secret: bytes) -> bytes:
    if what.startswith("mariadb"):
        hello = b"\x0a5.5.5-10.11.6-MariaDB-" + secret + b"\0" + struct.pack("<I", 7) + b"12345678\0" + b"\xff\xf7\x21\x02\0" + b"\0" * 13
        return struct.pack("<I", len(hello)) + hello
    if what.startswith("redis"):
        return b"+PONG " + secret + b"\r\n"
    if what.startswith("smtp"):
        return b"220 decoy ESMTP " + secret + b"\r\n"
    return b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(secret), secret)


class Objects:
    """System V and POSIX objects that everybody may use. A context manager that removes them, and
    what the app left behind."""

    def __init__(self, name: str) -> None:
        numbers = [secrets.randbelow(1 << 30) + 1 for _ in range(4)]
        self.shm_key, self.sem_key, self.msg_key, self.left_key = numbers
        self.mq = f"/{name}"
        self._ids: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        self._ids = [
            ("shm", _checked("shmget", self.shm_key, 4096, _IPC_CREAT | 0o666)),
            ("sem", _checked("semget", self.sem_key, 1, _IPC_CREAT | 0o666)),
            ("msg", _checked("msgget", self.msg_key, _IPC_CREAT | 0o666)),
        ]
        _libc.shmat.restype = ctypes.c_void_p
        place = _libc.shmat(self._ids[0][1], None, 0)
        ctypes.memmove(place, new_secret().encode(), 29)
        _libc.shmdt(ctypes.c_void_p(place))
        before = os.umask(0)
        _libc.close(_checked("mq_open", self.mq.encode(), os.O_CREAT | os.O_RDWR, 0o666, None))
        os.umask(before)
        file = Path("/dev/shm" + self.mq)
        file.write_text(new_secret())
        file.chmod(0o666)
        return self

    def left(self) -> list[str]:
        """Shared memory of the app's that stays on the host."""
        return ["shared memory of the app stays on the host"] if _libc.shmget(self.left_key, 0, 0) >= 0 else []

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        left = _libc.shmget(self.left_key, 0, 0)
        if left >= 0:
            self._ids.append(("shm", left))
        for sort, number in self._ids:
            if sort == "sem":
                _libc.semctl(number, 0, _IPC_RMID)
            else:
                getattr(_libc, f"{sort}ctl")(number, _IPC_RMID, None)
        _libc.mq_unlink(self.mq.encode())
        Path("/dev/shm" + self.mq).unlink(missing_ok=True)


def _checked(name: str, *arguments: Any) -> int:
    number: int = getattr(_libc, name)(*arguments)
    if number < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return number


class Sleeper:
    """A process of the servers' account that writes down each signal it gets. A context manager; it
    ends by itself after `LIFE_S`."""

    def __init__(self, name: str, uid: int, place: Path) -> None:
        """`place` is its working directory and holds what it wrote down."""
        self.log = place / "signals.log"
        env = {"PATH": "/usr/bin:/bin", "DECOY": new_secret()}
        argv = ["perl", "-e", _RECORDER, name, str(int(LIFE_S))]
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(argv, stdout=output, env=env, user=uid, group=uid, extra_groups=[], cwd=place)
        try:
            deadline = time.monotonic() + 10.0
            while "ready" not in self.log.read_text():
                assert time.monotonic() < deadline, "the decoy process does not start"
                time.sleep(0.02)
            self._before = self._state()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self) -> Self:
        return self

    def _state(self) -> tuple[int, set[int], str]:
        pid = self.process.pid
        return os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), Path(f"/proc/{pid}/limits").read_text()

    def suffered(self) -> list[str]:
        """What was done to it."""
        if self.process.poll() is not None:
            return [f"the decoy process was ended: {self.process.returncode}"]
        signals = self.log.read_text().split()[1:]
        found = [f"the decoy process got SIG{name} {signals.count(name)} times" for name in sorted(set(signals))]
        if (now := self._state()) != self._before:
            found.append(f"the decoy process was changed from {self._before} to {now}")
        return found

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()


Entry = tuple[str, int, int, int, int, int, int, str]


def snapshot(tree: Path) -> dict[str, Entry]:
    """Every entry of a tree by its path: kind, mode, owner and group, links, times of content and
    of the entry itself, and content."""
    found: dict[str, Entry] = {}
    queue = [os.fsencode(tree)]
    while queue:
        path = queue.pop()
        held = os.lstat(path)
        content = ""
        if stat.S_ISDIR(held.st_mode):
            queue += [entry.path for entry in os.scandir(path)]
        elif stat.S_ISLNK(held.st_mode):
            content = os.fsdecode(os.readlink(path))  # noqa: PTH115 (its name may be no text)
        elif stat.S_ISREG(held.st_mode):
            with open(path, "rb") as stream:  # noqa: PTH123
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        kind = stat.filemode(held.st_mode)
        found[os.fsdecode(path)] = (
            kind, held.st_mode, held.st_uid, held.st_gid, held.st_nlink, held.st_mtime_ns, held.st_ctime_ns, content
        )  # fmt: skip
    return found


def changes(before: dict[str, Entry], after: dict[str, Entry]) -> list[str]:
    """What differs between two snapshots."""
    made = [f"made: {path!r}" for path in sorted(after.keys() - before.keys())]
    gone = [f"removed: {path!r}" for path in sorted(before.keys() - after.keys())]
    changed = [
        f"changed: {path!r}: {before[path]} -> {after[path]}" for path in sorted(before) if path in after and before[path] != after[path]
    ]
    return made + gone + changed


class Watch:
    """inotify on every directory of a tree: what changed even for a moment. A context manager."""

    _CHANGES: ClassVar = {
        0x2: "modified",
        0x4: "attributes changed",
        0x8: "closed after writing",
        0x40: "moved away",
        0x80: "moved in",
        0x100: "made",
        0x200: "removed",
        0x400: "itself removed",
        0x800: "itself moved",
    }
    _OVERFLOW = 0x4000

    def __init__(self, tree: Path) -> None:
        self._fd = _checked("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self._names: dict[int, str] = {}
        for folder, _, _ in os.walk(os.fsencode(tree)):
            self._names[_checked("inotify_add_watch", self._fd, folder, sum(self._CHANGES))] = os.fsdecode(folder)

    def __enter__(self) -> Self:
        return self

    def seen(self) -> list[str]:
        """What happened since the last call, each kind of it once."""
        found: dict[str, int] = {}
        while select.select([self._fd], [], [], 0)[0]:
            data = os.read(self._fd, 1 << 20)
            while data:
                number, mask, _, length = struct.unpack_from("iIII", data)
                name = os.fsdecode(data[16 : 16 + length].rstrip(b"\0"))
                data = data[16 + length :]
                kinds = [word for bit, word in self._CHANGES.items() if mask & bit]
                if mask & self._OVERFLOW:
                    kinds = ["more than could be counted"]
                if kinds:
                    line = f"{self._names.get(number, '')}/{name}: {', '.join(kinds)}"
                    found[line] = found.get(line, 0) + 1
        return [f"{line} ({count} times)" for line, count in found.items()]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._fd)


@dataclass
class Decoys:
    """All decoys of one test, and what they know."""

    token: str
    """In the name of everything that is a decoy; no file of the app's but aim.json holds it."""
    spoor: str
    """In the name of everything that the app makes."""
    uid: int
    trees: dict[str, Path]
    ears: Ears
    objects: Objects
    sleeper: Sleeper
    aim: dict[str, Any]
    _before: dict[str, Entry] = field(default_factory=dict)

    def remember(self, *trees: Path) -> None:
        """Take what is there as what has to stay: the decoys' trees and these."""
        self._before = self._state(trees)

    def _state(self, trees: Sequence[Path]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for tree in (*self.trees.values(), *trees):
            found |= snapshot(tree)
        found.pop(str(self.sleeper.log), None)
        return found

    def suffered(self, *trees: Path) -> list[str]:
        """Everything that the app did to the host, in words; the same trees as were given to
        `remember`."""
        found = [f"heard: {line}" for line in _counted(self.ears.heard)]
        found += changes(self._before, self._state(trees))
        found += self.sleeper.suffered() + self.objects.left()
        found += [f"left in a shared place: {path}" for path in self.spoors()]
        return found

    def spoors(self) -> list[str]:
        """What bears the app's mark in a place that all programs of a host share."""
        return sorted({str(path) for place in SHARED_PLACES for path in Path(place).glob(f"*{self.spoor}*")})


def _counted(lines: Sequence[str]) -> list[str]:
    kinds: dict[str, int] = {}
    for line in lines:
        kind = line.split(": ")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    return [f"{kind} ({count} times)" for kind, count in kinds.items()]


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


def fill_tree(tree: Path, uid: int) -> None:
    """A directory like another site's, that everybody may read and write: only that it cannot be
    seen protects it."""
    tree.mkdir(exist_ok=True)
    for name in ("doomed.txt", "mode.txt", "moved.txt", "mailbox"):
        (tree / name).write_text("as it was\n")
    (tree / "secret.txt").write_text(new_secret() + "\n")
    (tree / "config.php").write_text(f"<?php return '{new_secret()}';\n")
    (tree / "sendmail").write_text(f"#!/bin/sh\ncat >> {tree}/mailbox\n")
    for path in (tree, *tree.iterdir()):
        os.lchown(path, uid, uid)
        path.chmod(0o777 if path.is_dir() or path.name == "sendmail" else 0o666)


@contextlib.contextmanager
def decoys(uid: int, *, beside: Path) -> Iterator[Decoys]:
    """Decoys for servers of this account; `beside` is the parent of the app's tree, which gets a
    neighbour and a `.git`."""
    token, spoor = f"pd-decoy-{secrets.token_hex(6)}", f"pd-spoor-{secrets.token_hex(6)}"
    with contextlib.ExitStack() as stack:
        trees = {"neighbour": beside / "other-site"}
        for place in PLACES:
            if Path(place).is_dir():
                tree = Path(tempfile.mkdtemp(prefix=f"{token}-", dir=place))
                stack.callback(_remove, tree)
                trees[place.strip("/").replace("/", "-")] = tree
        (beside / ".git").mkdir()
        (beside / ".git" / "config").write_text(f"[remote]\n\turl = https://{new_secret()}@example.com/\n")
        for tree in trees.values():
            fill_tree(tree, uid)
        objects = stack.enter_context(Objects(token))
        sleeper = stack.enter_context(Sleeper(token, uid, trees["run"]))
        ears = Ears()
        aim = _listening(ears, trees, token)
        stack.enter_context(ears)
        stack.callback(_remove_spoors, spoor)
        aim |= {
            "token": token,
            "spoor": spoor,
            "pid": sleeper.process.pid,
            "trees": {label: str(tree) for label, tree in trees.items()},
            "own": own_addresses(),
            "daemon_port": _free_port(),
            "shm_key": objects.shm_key,
            "sem_key": objects.sem_key,
            "msg_key": objects.msg_key,
            "left_key": objects.left_key,
            "mq": objects.mq,
        }
        yield Decoys(token, spoor, uid, trees, ears, objects, sleeper, aim)


def _listening(ears: Ears, trees: dict[str, Path], token: str) -> dict[str, Any]:
    aim: dict[str, Any] = {"tcp": [], "udp": [], "unix": [], "abstract": [f"{token}-redis"]}
    for host in own_addresses():
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        for kind in ("mariadb", "redis", "smtp", "http"):
            with contextlib.suppress(OSError):
                ear = ears.listen(f"{kind} on {host}", family, socket.SOCK_STREAM, (host.strip("[]"), 0))
                aim["tcp"].append({"kind": kind, "host": host, "port": ear.getsockname()[1]})
        with contextlib.suppress(OSError):
            ear = ears.listen(f"udp on {host}", family, socket.SOCK_DGRAM, (host.strip("[]"), 0))
            aim["udp"].append({"host": host, "port": ear.getsockname()[1]})
    for label, tree in trees.items():
        path = str(tree / "redis.sock")
        ears.listen(f"redis at a path in {label}", socket.AF_UNIX, socket.SOCK_STREAM, path)
        aim["unix"].append(path)
    ears.listen("redis at an abstract name", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{token}-redis")
    return aim


def _remove(tree: Path) -> None:
    subprocess.run(["rm", "-rf", "--", str(tree)], check=False)


def _remove_spoors(spoor: str) -> None:
    for place in SHARED_PLACES:
        for path in Path(place).glob(f"*{spoor}*"):
            _remove(path)


class Namespaces:
    """Watches which namespaces a process and what it starts live in, and asks on the side whether
    `probe` finds anything.

    A context manager; its thread looks every `EVERY_S`.
    """

    EVERY_S = 0.25
    KINDS = ("mnt", "net", "pid", "ipc", "user", "uts", "cgroup")

    def __init__(self, pid: int, descendants: Callable[[int], list[int]], probe: Callable[[], str | None]) -> None:
        self.ours = {_namespace(os.getpid(), kind) for kind in self.KINDS}
        self.seen: set[str] = set()
        self.found: set[str] = set()
        self.most = 0
        self._roots = {pid}
        self._descendants = descendants
        self._probe = probe
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(10.0)

    def look(self) -> None:
        """Look once."""
        found = {below for root in self._roots for below in self._descendants(root)}
        self._roots |= {below for below in found if _is_guardian(below)}  # it outlives who started it
        self.most = max(self.most, len(found))
        for pid in found | self._roots:
            self.seen |= {name for kind in self.KINDS if (name := _namespace(pid, kind))}
        self.seen -= self.ours
        if answer := self._probe():
            self.found.add(answer)

    def _watch(self) -> None:
        deadline = time.monotonic() + LIFE_S
        while not self._stop.wait(self.EVERY_S) and time.monotonic() < deadline:
            self.look()

    def left(self) -> list[str]:
        """What still holds one of the namespaces that were seen: a process, an open file, a
        mount."""
        mine = self.seen
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            held = {_namespace(int(process.name), kind) for kind in self.KINDS} & mine
            with contextlib.suppress(OSError):
                held |= {os.readlink(entry) for entry in (process / "fd").iterdir()} & mine  # noqa: PTH115
            if held:
                found.append(f"process {process.name} holds {sorted(held)}")
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        return found + [f"mount: {line}" for line in mounts if any(name in line for name in mine)]


def _is_guardian(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"/guardian.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _namespace(pid: int, kind: str) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/{kind}")  # noqa: PTH115
    return ""


def processes_naming(*marks: str) -> list[str]:
    """Processes whose command line or environment holds one of these words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                text = (process / file).read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if any(mark in text for mark in marks):
                    found.append(f"process {process.name} by its {file}: {text[:120]}")
                    break
    return found


def mounts_naming(*marks: str) -> list[str]:
    """Mounts of the host whose line holds one of these words."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [f"mount: {line}" for line in lines if any(mark in line for mark in marks)]
