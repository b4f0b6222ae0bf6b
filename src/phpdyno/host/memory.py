"""Memory of a process, shared pages in equal parts (PSS), from /proc/PID/smaps_rollup."""

from phpdyno.errors import DynoError
from phpdyno.host.tree import Tree
from phpdyno.model.readings import WorkerMemory

NEEDED = ("Pss", "Private_Clean", "Private_Dirty", "Shared_Clean", "Shared_Dirty")


class MemoryUnreadable(DynoError):  # noqa: N818 (it names what is the matter)
    """The process is there, but its memory may not be read (another user's, or a kernel before 4.14)."""


def parse_memory(pid: int, text: str) -> WorkerMemory:
    """A smaps_rollup. Raises ValueError when it lacks what every kernel writes, or a number is none."""
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


def read_memory_of(pid: int, tree: Tree | None = None) -> WorkerMemory | None:
    """Of one process, 0.2 ms for a php-fpm worker. None when it has ended; raises MemoryUnreadable when it may not be read."""
    tree = tree or Tree()
    place = f"/proc/{pid}"
    try:
        return parse_memory(pid, tree.path(f"{place}/smaps_rollup").read_text(encoding="ascii"))
    except ProcessLookupError:  # what a process without memory (a zombie) answers
        return None
    except FileNotFoundError as error:
        if not tree.has(place):
            return None
        raise MemoryUnreadable("this kernel has no smaps_rollup", where=place, next_step="use Linux 4.14 or newer") from error
    except PermissionError as error:
        raise MemoryUnreadable(
            "its memory may not be read", where=place, next_step="measure as root, or as the user that php-fpm runs as"
        ) from error
    except (OSError, ValueError) as error:
        raise MemoryUnreadable(f"its smaps_rollup cannot be read: {error}", where=place) from error
