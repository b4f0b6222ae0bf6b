"""A php-fpm worker's memory, read through /proc while it runs, and where PHP's globals lie in
it."""

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from phpdyno.errors import DynoError

GLOBALS, OF_THREADS = "executor_globals", "executor_globals_offset"
RUNNING = b"running"
MAY_NOT = "run phpdyno as root; in a container give it the capability SYS_PTRACE"


class CannotProfile(DynoError):  # noqa: N818 (it names the finding: PHP functions cannot be sampled here)
    """PHP functions of this arm cannot be sampled. Whatever else was asked for goes on."""


def globals_in(program: Path) -> tuple[int, int]:
    """Address in the file and size of PHP's globals. Raises CannotProfile: it has none, as a PHP
    for threads has not."""
    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            for section in elf.iter_sections():
                if not isinstance(section, SymbolTableSection):
                    continue
                for symbol in section.get_symbol_by_name(GLOBALS) or ():
                    if symbol["st_value"]:
                        return int(symbol["st_value"]), int(symbol["st_size"])
                if section.get_symbol_by_name(OF_THREADS):
                    raise CannotProfile("this PHP is for threads, and the stack of one is not looked for", where=str(program))
    except (OSError, ELFError) as error:
        raise CannotProfile(f"this program cannot be read: {error}", where=str(program)) from error
    raise CannotProfile(f"this PHP tells nobody where its {GLOBALS} are", where=str(program))


_SEIZE, _INTERRUPT, _CONTINUE, _DETACH = 0x4206, 0x4207, 7, 17
_ANY_CHILD = 0x40000000
_EVENT_STOP = 128
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


class Halter:
    """Makes a process stand still for a moment, again and again, by ptrace. All of it in one
    thread: the kernel knows a tracer by that.

    Neither the process nor its parent is told anything. A sleep, a poll or an accept that is met
    goes on afterwards. When we die, the process runs on.
    """

    def __init__(self, pid: int) -> None:
        """Raises OSError: it may not be traced."""
        self._pid = pid
        self._ptrace(_SEIZE, 0)

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """The process stands still for the length of a block. Raises OSError when it is gone."""
        self._ptrace(_INTERRUPT, 0)
        while True:
            _, status = os.waitpid(self._pid, _ANY_CHILD)
            if not os.WIFSTOPPED(status):
                raise OSError(errno.ESRCH, "the worker ended")
            if status >> 16 == _EVENT_STOP:
                break
            # A signal that came just then is passed on.
            self._ptrace(_CONTINUE, os.WSTOPSIG(status))
        try:
            yield
        finally:
            self._ptrace(_CONTINUE, 0)

    def let_go(self) -> None:
        """End the tracing; no matter whether the process is still there."""
        with contextlib.suppress(OSError), self.still():
            _libc.ptrace(_DETACH, self._pid, None, None)

    def _ptrace(self, request: int, data: int) -> None:
        if _libc.ptrace(request, self._pid, None, data) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


class PhpWorkerMemory:
    """Open files of one worker; `read` gives b'' for what is not mapped."""

    def __init__(self, pid: int) -> None:
        """Raises CannotProfile where it may not be read."""
        self.pid = pid
        try:
            self._mem = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise CannotProfile(f"the memory of a worker may not be read: {error.strerror}", next_step=MAY_NOT) from error
        try:
            self._syscall = os.open(f"/proc/{pid}/syscall", os.O_RDONLY | os.O_CLOEXEC)
            self.runs()
        except OSError as error:
            self.close()
            raise CannotProfile(f"what a worker waits for may not be read: {error.strerror}", next_step=MAY_NOT) from error

    def read(self, address: int, size: int) -> bytes:
        """Some of its memory."""
        try:
            return os.pread(self._mem, size, address)
        except (OSError, OverflowError):
            return b""

    def runs(self) -> bool:
        """Whether it is on a CPU or wants one, and so does not wait for anything else. Raises
        OSError when it is gone."""
        return os.pread(self._syscall, 64, 0).startswith(RUNNING)

    def globals(self) -> tuple[int, int]:
        """Address and size of PHP's globals in it. Raises CannotProfile."""
        address, size = globals_in(Path(f"/proc/{self.pid}/exe"))
        try:
            program = Path(f"/proc/{self.pid}/exe").readlink()
            lines = Path(f"/proc/{self.pid}/maps").read_bytes().splitlines()
        except OSError as error:
            raise CannotProfile(f"a worker's memory map may not be read: {error.strerror}", next_step=MAY_NOT) from error
        starts = [int(line.partition(b"-")[0], 16) for line in lines if line.endswith(b" " + os.fsencode(program))]
        if not starts:
            raise CannotProfile("a worker's program is not in its memory map", where=str(program))
        return address + (min(starts) if _may_lie_anywhere(Path(f"/proc/{self.pid}/exe")) else 0), size

    def close(self) -> None:
        """Close its files."""
        for name in ("_mem", "_syscall"):
            number = getattr(self, name, -1)
            setattr(self, name, -1)
            if number >= 0:
                os.close(number)


@contextlib.contextmanager
def opened(pid: int) -> Iterator[PhpWorkerMemory]:
    """A worker's memory for the length of a block. Raises CannotProfile."""
    memory = PhpWorkerMemory(pid)
    try:
        yield memory
    finally:
        memory.close()


def _may_lie_anywhere(program: Path) -> bool:
    with program.open("rb") as file:
        return str(ELFFile(file).header["e_type"]) == "ET_DYN"
