"""Our side of the guardian: start, watch and stop the processes of one run, in a live directory
that vanishes with them."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self

from phpdyno.errors import DynoError
from phpdyno.host.files.plain import open_folder
from phpdyno.host.sockets import network
from phpdyno.model.services.service import Passage
from phpdyno.paths import service_user
from phpdyno.servers.bottle.view import SYSTEM, Step, base_view, bind, directory, link, private, show, way_to
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.guardian_channel import GuardianChannel
from phpdyno.servers.supervision.leftovers import sweep_leftovers

BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

SEEN = tuple(Path(place) for place in SYSTEM)
"""What every process in the bottle sees of the host."""
THROUGH_LOG = "network.log"
"""What could not be reached of the peers that are let through."""
MOST_LOOKED_AT = 2_000
"""Files of a tree by which it is known whose it is."""
NO_BINDS: Mapping[Path, Path] = MappingProxyType({})

Account = tuple[int, int]
"""User and primary group by number."""


def make_folder(path: Path) -> bool:
    """Make a directory, and those above it, where there is none; whether this one was made. Raises
    OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


class Stood(NamedTuple):
    """A tree that stands in the bottle: its path there, where in the live directory lies what is
    written to it, and what in it may not be read."""

    seen: Path
    written: Path
    unreadable: tuple[str, ...]


def _asked_of_kernel(answer: dict[str, Any]) -> Any:
    """What the guardian answered, or the OSError that it met."""
    if "error" in answer:
        raise OSError(answer["errno"], answer["error"], answer["file"] or None)
    return answer["value"]


def _is_seen(place: Path) -> bool:
    """Whether every process in the bottle sees it as it is on the host."""
    return any(place.is_relative_to(shown) for shown in SEEN)


class Supervisor:
    """Starts processes through a guardian of its own. A context manager: leaving it ends all of
    them and removes `live`."""

    def __init__(self, logs: Path | None = None, *, bottle: bool = True) -> None:
        """`logs` None: in the live directory, so that nothing of them stays. `bottle`: what runs as
        the servers' account is put into one, where this host lets us make it (`no_bottle` says why
        not)."""
        sweep_leftovers()
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
        self.user = service_user()
        self._channel = GuardianChannel()
        self.live = self._channel.live
        self.logs = logs or self.live / "logs"
        self.logs.mkdir(exist_ok=True)
        if self.user.switch:
            # The servers' account may pass, nobody else: the copy of an app is as secret as the
            # app.
            os.chown(self.live, os.geteuid(), self.user.gid)
            self.live.chmod(0o710)
        self.no_bottle = network.NO_BOTTLE
        """Why what we start is not in a bottle; '' where it is."""
        self._shown: set[Path] = set()
        self._trees = 0
        self._writable: set[Path] = set()
        """Directories that the servers may write to."""
        self._through: set[Passage] = set()
        """Peers outside that are let through."""
        self._leave: Callable[[], None] | None = None
        if bottle:
            self.no_bottle = self._make_bottle()

    def _make_bottle(self) -> str:
        """Why there is none; '' once it is there and our own network is its."""
        if reason := network.refused():
            return reason
        account = f"{self.user.name}:{self.user.uid}:{self.user.gid}" if self.user.switch else ""
        answer = self._channel.ask({"op": "bottle", "steps": base_view(self.live, account=account)})
        if "error" in answer:
            return f"{answer['file'] or 'namespaces'}: {answer['error']}"
        try:
            self._leave = network.enter(answer["network"])
        except OSError as error:
            return f"its network cannot be entered: {error.strerror}"
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        interrupted = self.close()
        if interrupted and kind is None:
            raise KeyboardInterrupt

    def close(self) -> bool:
        """Hang up: the guardian kills what is left, cleans up and ends. Idempotent; whether a
        Ctrl-C came meanwhile, which waits."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()
        interrupted = self._channel.hang_up()
        sweep_leftovers()
        return interrupted

    # ---- processes ----------------------------------------------------------------------------

    @property
    def exits(self) -> dict[int, int]:
        """Exit codes of ended processes, by the number of the request that started each."""
        return self._channel.exits

    def poll(self, timeout_s: float = 0.0) -> None:
        """Take in what the guardian has to say, waiting up to `timeout_s` for it."""
        self._channel.poll(timeout_s)

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        cores: Sequence[int] = (),
        cgroups: Sequence[Path] = (),
        as_service: bool = True,
        account: Account | None = None,
        output: Path | None = None,
        thp_off: bool = False,
        binds: Mapping[Path, Path] = NO_BINDS,
    ) -> Child:
        """Start `argv`, its output appended to logs/NAME.log, as the service user unless
        `as_service` is False.

        `account` is somebody else to run as; `output` a new file, ours, for its standard output
        alone. `thp_off`: without transparent huge pages, nor those that it forks. What runs as the
        service user is in the bottle, where there is one; there `binds` are places (second) at
        which it, and what it starts, see what lies elsewhere in the live directory (first). The
        environment is exactly `env` plus PATH. Raises DynoError when it cannot be executed.
        """
        log = self.logs / f"{name}.log"
        log_start = log.stat().st_size if log.exists() else 0
        switch = account is None and as_service and self.user.switch
        uid, gid = account or ((self.user.uid, self.user.gid) if switch else (None, None))
        answer = self._channel.ask(
            {
                "op": "spawn",
                "argv": list(argv),
                "env": {"PATH": BASE_PATH, "LANG": "C.UTF-8", **(env or {})},
                "cwd": str(cwd) if cwd else None,
                "log": str(log),
                "cores": list(cores),
                "cgroups": [str(group) for group in cgroups],
                "output": str(output) if output else None,
                "uid": uid,
                "gid": gid,
                "thp_off": thp_off,
                "bottled": account is None and as_service and not self.no_bottle,
                "binds": [[str(source), str(target)] for source, target in binds.items()],
            }
        )
        if "error" in answer:
            whom = f" as {self.user.name}" if switch else ""
            raise DynoError(f"cannot start {name}{whom}: {answer['error']}", where=answer["file"] or argv[0])
        return Child(self, int(answer["id"]), name=name, pid=int(answer["pid"]), log=log, log_start=log_start)

    def run(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        as_service: bool = True,
        account: Account | None = None,
        output: Path | None = None,
        timeout_s: float = 300.0,
        binds: Mapping[Path, Path] = NO_BINDS,
    ) -> Child:
        """Run a short command to its end; its exit code is in `status`. Raises DynoError after
        `timeout_s`."""
        child = self.spawn(name, argv, env=env, cwd=cwd, as_service=as_service, account=account, output=output, binds=binds)
        if not child.wait(timeout_s):
            child.stop(timeout_s=1.0)
            raise DynoError(f"{name} did not end within {timeout_s:.0f} s", where=argv[0], next_step=f"see {child.log}")
        return child

    def signal(self, pid: int, number: int) -> None:
        """Signal the process group of one of our children."""
        self._channel.ask({"op": "signal", "pid": pid, "signal": int(number)})

    def own_cgroups(self, groups: Sequence[Path]) -> None:
        """Have the guardian remove these cgroups at the end. Call it before they are made."""
        self._channel.ask({"op": "own", "cgroups": [str(group) for group in groups]})

    def set_host(self, file: str, value: str | None) -> str:
        """Write a setting of the host, None: what it held before we changed it. Gives what it holds
        then. The guardian restores it in any case. Raises DynoError where it may not be written."""
        answer = self._channel.ask({"op": "set", "file": file, "value": value})
        if "error" in answer:
            raise DynoError(f"this setting of the host cannot be changed: {answer['error']}", where=file, next_step="run as root")
        return str(answer["value"])

    # ---- what is in the bottle ----------------------------------------------------------------

    def show(self, path: Path) -> None:
        """Let the bottle's processes see a file or directory of the host, read-only and at its own
        path."""
        if self.no_bottle or path in self._shown:
            return
        self._shown.add(path)
        steps, real = way_to(path)
        if not _is_seen(real) and not real.is_relative_to(self.live):
            steps.append(show(real))
        self._add(steps, path)

    def make_place(self, path: Path) -> Path:
        """Make an empty directory at a path in the bottle, for something to be seen there; its path
        without the links that the host has on the way."""
        steps, real = way_to(path)
        if not _is_seen(real):
            steps.append(directory(str(real)))
        self._add(steps, path)
        return real

    def lead(self, path: Path) -> Path:
        """Let a path of the host lead to the same place in the bottle, whatever is there; that
        place, by a path without links."""
        steps, real = way_to(path)
        if steps:
            self._add(steps, path)
        return real

    def make_private(self, path: Path) -> None:
        """An empty directory at a path in the bottle that everybody there may write to; what the
        host has there stays unseen."""
        if self.no_bottle or path in self._shown:
            return
        self._shown.add(path)
        steps, real = way_to(path)
        if real in SEEN or real.is_relative_to(self.live):
            return
        self._add([*steps, private(real)], path)

    def extent(self, source: Path, reader: Account | None, *, most_files: int) -> tuple[int, int, Account]:
        """How many files a tree of the host has, their bytes, and whose most of them are; not
        looked at beyond `most_files`.

        `reader` is as in `stand`. Raises OSError where it cannot be looked through.
        """
        answer = self._channel.ask({"op": "extent", "source": str(source), "reader": reader, "most_files": most_files})
        found = _asked_of_kernel(answer)
        return found["files"], found["bytes"], (found["owner"][0], found["owner"][1])

    def stand(self, source: Path, *, reader: Account | None, gone: Sequence[str] = (), emptied: Sequence[str] = ()) -> Stood:
        """Let a tree of the host stand in the bottle as the servers' own, without copying it.

        What they write goes to the live directory. As root it is read with the rights of `reader`
        (None: ours). `gone` are paths in it that are left out, `emptied` others of which, where one
        is a directory, that stays. Raises OSError where this kernel or disk cannot do that.
        """
        name = f"tree-{self._trees}"
        self._trees += 1
        cow = self.live / name
        cow.mkdir(mode=0o700)
        account = (self.user.uid, self.user.gid) if self.user.switch else None
        owner = None if reader or account is None else self.extent(source, None, most_files=MOST_LOOKED_AT)[2]
        rights = {"reader": reader, "owner": owner, "account": account}
        request = {"op": "stand", "source": str(source), "name": name, "cow": str(cow), **rights}
        found = _asked_of_kernel(self._channel.ask({**request, "gone": list(gone), "emptied": list(emptied)}))
        return Stood(Path(found["seen"]), cow / "upper-0", tuple(found["unreadable"]))

    def survey(self, seen: Path, known_as: Path) -> dict[str, Any]:
        """What is in a tree that stands in the bottle, as `stack.bottle.survey` tells of it. Raises
        OSError."""
        account = (self.user.uid, self.user.gid) if self.user.switch else None
        found: dict[str, Any] = _asked_of_kernel(
            self._channel.ask({"op": "survey", "path": str(seen), "known_as": str(known_as), "account": account})
        )
        return found

    def attach(self, seen: Path, place: Path) -> None:
        """Let what stands in the bottle be seen at a path there, a directory, as well. Raises
        DynoError."""
        self._add([bind(str(seen), place)], place)

    def add_addresses(self, addresses: Sequence[str], hosts: Sequence[str]) -> None:
        """Give the bottle's loopback further IP addresses, and its /etc/hosts these lines. Raises
        DynoError."""
        answer = self._channel.ask({"op": "addresses", "addresses": list(addresses)})
        if "error" in answer:
            raise DynoError(f"these addresses cannot be had in the bottle: {answer['error']}", where=", ".join(addresses))
        path = Path("/etc/hosts")
        self._add([{"do": "file", "path": str(path), "text": "".join(f"{line}\n" for line in hosts)}], path)

    def let_through(self, passages: Sequence[Passage], *, cores: Sequence[int] = ()) -> None:
        """Carry connections that are made in the bottle out to peers of the host's network, until
        the end; what does so runs on `cores`.

        The bottle must have the addresses. Raises DynoError.
        """
        if self.no_bottle:
            return
        fresh = [each for each in passages if each not in self._through]
        answer = self._channel.ask(
            {
                "op": "through",
                "passages": [[each.at.host, each.at.port, each.to.host, each.to.port] for each in fresh],
                "cores": list(cores),
                "uid": self.user.uid if self.user.switch else None,
                "gid": self.user.gid if self.user.switch else None,
                "log": str(self.logs / THROUGH_LOG),
            }
        )
        if "error" in answer:
            where = answer["file"] or ", ".join(str(each.to) for each in fresh)
            raise DynoError(f"no connection can be let through from here: {answer['error']}", where=where)
        self._through |= {*fresh}

    def not_reached(self) -> tuple[str, ...]:
        """What could not be reached of the peers that are let through, each with its reason."""
        if not self._through:
            return ()
        try:
            return tuple((self.logs / THROUGH_LOG).read_text(errors="replace").splitlines())
        except OSError:
            return ()

    def link(self, path: Path, to: Path) -> None:
        """Let a path in the bottle lead to another one, where nothing lies there yet. Raises
        DynoError."""
        self._add([link(str(path), str(to))], path)

    def let_write(self, path: Path) -> None:
        """Let the servers write to a directory in the live directory, as its owner and mode let
        them; to nothing else there."""
        if not self.no_bottle:
            self._add([show(path, write=True)], path)
            self._writable.add(path)

    def _add(self, steps: list[Step], path: Path) -> None:
        answer = self._channel.ask({"op": "show", "steps": steps})
        if "error" in answer:
            raise DynoError(f"this cannot be shown to the servers: {answer['error']}", where=str(path))

    def directory(self, name: str, *, private: bool = True) -> Path:
        """A directory in the live directory that the servers' account may write to, in one that
        only we may write to. Raises DynoError where something else lies there."""
        path = self.live / name
        try:
            # What is removed and made anew is another directory, though it may have the number of
            # the one before.
            fresh = make_folder(path)
            folder = open_folder(path)
            try:
                os.fchmod(folder, 0o700 if private else 0o755)
                if self.user.switch:
                    os.fchown(folder, self.user.uid, self.user.gid)
            finally:
                os.close(folder)
        except OSError as error:
            raise DynoError(f"cannot make this directory for the servers: {error.strerror}", where=str(path)) from error
        if fresh or path not in self._writable:
            self.let_write(path)
        return path
