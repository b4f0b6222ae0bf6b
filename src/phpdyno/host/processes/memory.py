"""Memory of a process: shared pages in equal parts (PSS) from /proc/PID/smaps_rollup, what is its
own from /proc/PID/smaps."""

from collections.abc import Callable
from typing import TypeVar

from phpdyno.errors import DynoError
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.model.runs.readings import WorkerMemory

Parsed = TypeVar("Parsed")
NEEDED = ("Pss", "Private_Clean", "Private_Dirty", "Shared_Clean", "Shared_Dirty")


class MemoryUnreadable(DynoError):  # noqa: N818 (it names what is the matter)
    """The process is there, but its memory may not be read (another user's, or a kernel before
    4.14)."""


def parse_memory(pid: int, text: str) -> WorkerMemory:
    """A smaps_rollup. Raises ValueError when it lacks what every kernel writes, or a number is
    none."""
    kib = {}
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(":")
        value = rest.split()
        if len(value) == 2 and value[1] == "kB":
            kib[name] = int(value[0])
    if missing := [name for name in NEEDED if name not in kib]:
        raise ValueError(f"no {', '.join(missing)}")
    if any(value < 0 for value in kib.values()):
        raise ValueError("a negative size")
    return WorkerMemory(
        pid=pid,
        pss_kib=kib["Pss"],
        pss_shmem_kib=kib.get("Pss_Shmem"),
        private_kib=kib["Private_Clean"] + kib["Private_Dirty"],
        shared_kib=kib["Shared_Clean"] + kib["Shared_Dirty"],
        hugetlb_kib=kib.get("Shared_Hugetlb", 0) + kib.get("Private_Hugetlb", 0),
        swap_kib=kib.get("SwapPss", 0),
    )


def parse_own_kib(text: str) -> int:
    """KiB of a smaps that belong to the process alone and would with any number of siblings: pages
    of private mappings, those of a file only when it has written them.

    Pages of a shared mapping (opcache's memory, the JIT's buffer), and those of a program that it
    only reads, count as private, too, while one worker alone has touched them. Raises ValueError
    for what is no smaps.
    """
    total, shared, of_file, seen = 0, False, False, False
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in {"Private_Clean", "Private_Dirty"}:
            total += 0 if shared or (of_file and name == "Private_Clean") else int(rest.split()[0])
            seen = True
        elif " " in name:  # the head of a mapping: addresses, permissions, offset, device, inode
            _, permissions, _, _, inode, *_ = line.split()
            shared, of_file = permissions.endswith("s"), inode != "0"
    if not seen:
        raise ValueError("no mapping")
    return total


def read_memory_of(pid: int, tree: SmallFiles | None = None) -> WorkerMemory | None:
    """Read the memory of one process, 0.2 ms for a php-fpm worker. None when it has ended.

    Raises MemoryUnreadable when it may not be read.
    """
    return _read(pid, "smaps_rollup", lambda text: parse_memory(pid, text), tree)


def read_own_kib_of(pid: int, tree: SmallFiles | None = None) -> int | None:
    """`parse_own_kib` of one process. None when it has ended.

    Raises MemoryUnreadable when it may not be read.
    """
    return _read(pid, "smaps", parse_own_kib, tree)


def _read(pid: int, name: str, parse: Callable[[str], Parsed], tree: SmallFiles | None) -> Parsed | None:
    tree = tree or SmallFiles()
    place = f"/proc/{pid}"
    try:
        return parse(tree.path(f"{place}/{name}").read_text(encoding="utf-8", errors="replace"))
    except ProcessLookupError:  # what a process without memory (a zombie) answers
        return None
    except FileNotFoundError as error:
        if not tree.has(place):
            return None
        raise MemoryUnreadable(f"this kernel has no {name}", where=place, next_step="use Linux 4.14 or newer") from error
    except PermissionError as error:
        # Of a php-fpm that root started the worker's own account is refused as well: the kernel
        # does not let it look into what was root.
        raise MemoryUnreadable("its memory may not be read", where=place, next_step="run phpdyno as root") from error
    except (OSError, ValueError) as error:
        raise MemoryUnreadable(f"its {name} cannot be read: {error}", where=place) from error
