"""Makes a bottle and puts processes into it. Runs in the guardian and in what it forks."""

import contextlib
import errno
import os
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from phpdyno.host import namespaces as kernel
from phpdyno.servers.bottle.view import Step

NETWORK_SETTINGS = (
    "core/somaxconn",
    "core/wmem_default",
    "ipv4/ip_local_port_range",
    "ipv4/tcp_congestion_control",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_rmem",
    "ipv4/tcp_wmem",
    "ipv4/tcp_tw_reuse",
    "ipv4/tcp_fin_timeout",
    "ipv4/tcp_syncookies",
    "ipv4/tcp_abort_on_overflow",
    "unix/max_dgram_qlen",
)
"""Settings that a network namespace has for itself: the bottle's are the host's, so that its
servers listen and connect as there."""
UNPRIVILEGED = "ipv4/ip_unprivileged_port_start"
SYSCTL = Path("/proc/sys/net")


class Bottle:
    """The namespaces of one run, held by open files; they are gone when these are closed and no
    process is in them any more."""

    def __init__(self, *, host: int, mounts: int, network: int, ipc: int) -> None:
        self.host = host
        """The host's mounts as they were, in a mount namespace of ours: here the sources of later
        mounts are opened."""
        self.mounts = mounts
        self.network = network
        self.ipc = ipc
        self._addresses: list[str] = []

    @classmethod
    def make(cls, root: str, steps: list[Step]) -> "Bottle":
        """New namespaces with this file system; `root` is an empty directory for it to be put
        together at. Raises OSError."""
        host = _held(_host_mounts, ("mnt",))
        made = _held(lambda: _inside(root, steps), ("mnt", "net", "ipc"))
        return cls(host=host[0], mounts=made[0], network=made[1], ipc=made[2])

    def add(self, steps: list[Step]) -> None:
        """Carry out further steps; processes that are started from then on see them. Raises
        OSError."""

        def add() -> None:
            kernel.setns(self.host, kernel.NEWNS)
            trees = _open_sources(steps)
            kernel.setns(self.mounts, kernel.NEWNS)
            _carry_out("", steps, trees)

        kernel.forked(add)

    def add_addresses(self, addresses: list[str]) -> None:
        """Give the bottle's loopback further addresses. Raises OSError."""
        first = len(self._addresses)
        fresh = [address for address in addresses if address not in self._addresses]

        def add() -> None:
            kernel.setns(self.network, kernel.NEWNET)
            for number, address in enumerate(fresh, first):
                kernel.add_address(number, address)

        kernel.forked(add)
        self._addresses += fresh

    def look(self, work: Callable[[], Any], place: str, account: list[int] | None) -> Any:
        """What `work` returns in a directory of the bottle, with the rights of `account` (None: our
        own, without privileges).

        Raises OSError.
        """

        def look() -> Any:
            kernel.setns(self.mounts, kernel.NEWNS)
            os.chdir(place)
            if account is not None:
                os.setgroups([])
                os.setgid(account[1])
                os.setuid(account[0])
            kernel.drop_capabilities()
            return work()

        return kernel.forked(look)

    def listen(self, places: list[tuple[str, int]]) -> list[socket.socket]:
        """Sockets that listen in the bottle at these IP addresses and ports, for a process outside.
        Raises OSError.

        Made by a forked process: an ordinary user's cannot come back from the bottle's network.
        """
        ours, theirs = socket.socketpair()

        def listen() -> None:
            kernel.setns(self.network, kernel.NEWNET)
            made = [_listening(*place) for place in places]
            socket.send_fds(theirs, [b"0"], [each.fileno() for each in made])

        with ours, theirs:
            kernel.forked(listen)
            _, descriptors, _, _ = socket.recv_fds(ours, 1, len(places), socket.MSG_CMSG_CLOEXEC)
        return [socket.socket(fileno=each) for each in descriptors]

    def set_network(self, file: str, value: str | None) -> str:
        """Write a setting of the bottle's network (None: only read it); what it holds then. Raises
        OSError."""

        def set_it() -> str:
            kernel.setns(self.network, kernel.NEWNET)
            if value is not None:
                Path(file).write_text(value)
            return Path(file).read_text().strip()

        return str(kernel.forked(set_it))

    def enter_as_first(self) -> None:
        """Put the calling process into the bottle, so that what others there see of it is nothing
        of the host."""
        kernel.setns(self.ipc, kernel.NEWIPC)
        kernel.setns(self.network, kernel.NEWNET)
        kernel.setns(self.mounts, kernel.NEWNS)

    def enter(self, binds: list[list[str]]) -> None:
        """Put the calling process, which is in a PID namespace of its own, into the bottle, with
        its own /proc.

        `binds` are pairs of paths in the bottle, what lies where and where it is to be seen, for
        this process and what it starts.
        """
        self.enter_as_first()
        kernel.unshare(kernel.NEWNS)
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV)
        for source, target in binds:
            kernel.attach_tree(kernel.clone_tree(source), target)
        kernel.read_only("/")


def _held(work: Callable[[], None], names: tuple[str, ...]) -> tuple[int, ...]:
    """Run `work` in a forked process and hold the namespaces of these names that it is in by
    then."""
    told_read, told_write = os.pipe()
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(go_write)
            try:
                work()
                os.write(told_write, b"0")
            except OSError as error:
                os.write(told_write, f"{error.errno or errno.EIO} {error.filename or ''}".encode())
            except Exception as error:
                os.write(told_write, f"{errno.EIO} {type(error).__name__}: {error}".encode())
            os.close(told_write)
            os.read(go_read, 1)
        finally:
            os._exit(0)
    os.close(told_write)
    os.close(go_read)
    try:
        with os.fdopen(told_read, "rb") as pipe:
            number, _, told = pipe.read().decode(errors="surrogateescape").partition(" ")
        if number != "0":
            code = int(number or errno.EIO)
            raise OSError(code, os.strerror(code), told or None)
        return tuple(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names)
    finally:
        os.close(go_write)
        os.waitpid(pid, 0)


def _listening(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(socket.SOMAXCONN)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{address} port {port}") from error
    return made


def _host_mounts() -> None:
    kernel.unshare(kernel.NEWNS)
    kernel.apart_from_host()


def _inside(root: str, steps: list[Step]) -> None:
    host_network = {name: _setting(name) for name in NETWORK_SETTINGS}
    kernel.unshare(kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC)
    kernel.apart_from_host()
    kernel.loopback_up()
    for name, value in host_network.items():
        if value is not None and _setting(name) not in {None, value}:
            with contextlib.suppress(OSError):
                (SYSCTL / name).write_text(value)
    # The servers have no privileges there, and production's ports may be below 1024.
    (SYSCTL / UNPRIVILEGED).write_text("0")
    trees = _open_sources(steps)
    proc = kernel.clone_tree("/proc")
    kernel.mount("tmpfs", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755")
    kernel.pivot_root(root)
    _carry_out("", steps, trees)
    # A new /proc may be mounted in a user namespace only where one is to be seen whole; each
    # process gets its own on top of it.
    kernel.attach_tree(proc, "/proc")


def _setting(name: str) -> str | None:
    try:
        return (SYSCTL / name).read_text().strip()
    except OSError:
        return None


def _open_sources(steps: list[Step]) -> dict[int, int]:
    """The detached mounts of all steps that show something of the host, by the step's number."""
    trees = {}
    for number, step in enumerate(steps):
        if step["do"] == "show":
            tree = kernel.clone_tree(step["path"])
            trees[number] = tree
            attributes = kernel.NOSUID | (0 if step["path"].startswith("/dev/") else kernel.NODEV)
            kernel.set_attributes(tree, attributes | (0 if step["write"] else kernel.RDONLY))
    return trees


def _carry_out(root: str, steps: list[Step], trees: dict[int, int]) -> None:
    for number, step in enumerate(steps):
        path = root + step["path"]
        if step["do"] == "directory":
            os.makedirs(path, exist_ok=True)  # noqa: PTH103 (the guardian works on texts)
            os.chmod(path, step["mode"])  # noqa: PTH101
            if step["owner"]:
                os.chown(path, *step["owner"])
        elif step["do"] == "link":
            if not os.path.lexists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
                os.symlink(step["to"], path)  # noqa: PTH211
        elif step["do"] == "show":
            _make_place(path, trees[number])
            kernel.attach_tree(trees[number], path)
        elif step["do"] == "bind":
            kernel.attach_tree(kernel.clone_tree(step["from"]), path)
        elif step["do"] == "private":
            os.makedirs(path, exist_ok=True)  # noqa: PTH103
            kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"mode={step['mode']:o}")
        elif step["do"] == "file":
            _put_file(path, step["text"])


def _make_place(path: str, tree: int) -> None:
    """Something of the same kind to mount on, where there is nothing yet."""
    if os.path.lexists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.mkdir(path)  # noqa: PTH102
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def _put_file(path: str, text: str) -> None:
    """A file of our own, in the place of the host's where there is one."""
    own = f"/.phpdyno{path.replace('/', '-')}"
    with open(own, "w", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        file.write(text)
    os.chmod(own, 0o644)  # noqa: PTH101
    real = os.path.realpath(path)
    if not os.path.exists(real):  # noqa: PTH110 (a link to what does not exist here, as resolv.conf often is)
        os.makedirs(os.path.dirname(real), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(real, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    tree = kernel.clone_tree(own)
    kernel.set_attributes(tree, kernel.RDONLY | kernel.NOSUID | kernel.NODEV)
    kernel.attach_tree(tree, real)


def start_in_pid_namespace(become: Callable[[], None], enter: Callable[[], None]) -> tuple[int, int]:
    """Fork a process, the second one of a new PID namespace, that does `become`; its number and
    that of the first, both on the host.

    The first is put into the bottle by `enter`, and then does nothing but collect what is orphaned.
    The kernel ends all the others when it ends, and it ends when the calling process does, whatever
    that dies of. Raises OSError.
    """
    read_end, write_end = os.pipe()
    tether_read, tether_write = os.pipe()
    between = os.fork()
    if between == 0:
        try:
            kernel.unshare(kernel.NEWPID)
            first = os.fork()
            if first == 0:
                _collect(tether_read, enter)
            second = os.fork()
            if second == 0:
                os.close(read_end)
                os.close(write_end)
                become()
            os.write(write_end, f"{second} {first}".encode())
        except OSError as error:
            os.write(write_end, f"-{error.errno}".encode())
        finally:
            os._exit(0)
    os.close(write_end)
    os.close(tether_read)
    with os.fdopen(read_end, "rb") as pipe:
        told = pipe.read().split()
    os.waitpid(between, 0)
    if len(told) != 2:
        os.close(tether_write)
        number = -int(told[0]) if told else errno.EIO
        raise OSError(number, os.strerror(number), "PID namespace")
    _TETHERS[int(told[1])] = tether_write
    return int(told[0]), int(told[1])


_TETHERS: dict[int, int] = {}
"""The end of each first process's pipe that the guardian alone holds open."""


def end_pid_namespace(first: int) -> None:
    """End the first process of a namespace, and with it all others; return when they are gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(first, 0)
    tether = _TETHERS.pop(first, None)
    if tether is not None:
        os.close(tether)


def _collect(tether: int, enter: Callable[[], None]) -> NoReturn:
    """The first process of a PID namespace: it collects the orphans and ends at the end of
    `tether`. Never returns."""
    try:
        enter()
        kernel.closed_to_others()
        os.setsid()
        os.dup2(tether, 0)
        os.closerange(1, 1 << 16)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel collects them
        while os.read(0, 1):
            pass
    finally:
        os._exit(0)
