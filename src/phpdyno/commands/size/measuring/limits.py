"""What limits a pool, read before it is measured: memory, php-fpm's own limit, the database's."""

from collections.abc import Iterator

from phpdyno.commands.size.measuring.running_pools import Neighbours
from phpdyno.commands.size.record import LimitsRead, PoolLimit
from phpdyno.commands.size.request import SizeRequest
from phpdyno.errors import DynoError
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.free_memory import free_kib
from phpdyno.host.surroundings import limits_of
from phpdyno.servers.database.client import ask
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.supervision.supervisor import Supervisor

KEPT_FREE = 0.10
"""Of the host's memory: what a pool never takes, for the kernel, its caches and whoever logs in."""
NOBODY = Neighbours({}, (), None)
RESERVED_CONNECTIONS = 1
"""MariaDB keeps one for its administrator."""


def read_limits(
    asked: SizeRequest, supervisor: Supervisor, database: Database | None, *, beside: Neighbours = NOBODY, tree: SmallFiles | None = None
) -> LimitsRead:
    """What limits a pool of the app, `beside` other pools of this host. What was asked for counts
    before what this host shows."""
    tree = tree or SmallFiles()
    here = _connections(supervisor, database)
    named = asked.limits.connections
    connections = [here] if here is not None and named is None else []
    connections += [PoolLimit("connections", named, "--max-connections")] if named is not None else []
    return LimitsRead(
        limits=(_memory(asked, tree), *_process_max(asked, beside), *connections),
        free_kib=free_kib(tree) or 0,
        others=_others(asked, beside),
        connections_here=here.value if here is not None else None,
    )


def _others(asked: SizeRequest, beside: Neighbours) -> dict[str, int]:
    """What others take of the memory. Memory that was named for this pool is this pool's."""
    if asked.limits.others_kib is not None:
        return {"named with --others": asked.limits.others_kib}
    return dict(beside.others) if asked.limits.memory_kib is None else {}


def _memory(asked: SizeRequest, tree: SmallFiles) -> PoolLimit:
    if asked.limits.memory_kib is not None:
        return PoolLimit("memory", asked.limits.memory_kib, "--memory")
    total, here = tree.kib("/proc/meminfo", "MemTotal"), limits_of(tree).memory
    limit = None if here.value is None else int(here.value)
    if limit is not None and (total is None or limit < total):
        return PoolLimit("memory", _usable(limit), f"the memory limit of this cgroup ({limit // 1024} MiB), less 10 %")
    if total is None:
        return PoolLimit("memory", None, "/proc/meminfo", unread="it does not tell the host's memory")
    if here.hidden:
        # What is hidden may be tighter: that is said, and the host's memory counts until somebody
        # names another.
        return PoolLimit("memory", _usable(total), "this host's memory, less 10 %", unread=f"{here.hidden}; name it with --memory")
    return PoolLimit("memory", _usable(total), f"this host's memory ({total // 1024} MiB), less 10 %")


def _usable(kib: int) -> int:
    """What of so much memory a pool may take, KiB."""
    return round((1 - KEPT_FREE) * kib)


def _process_max(asked: SizeRequest, beside: Neighbours) -> Iterator[PoolLimit]:
    if asked.limits.process_max is not None:
        yield PoolLimit("process_max", asked.limits.process_max, "--process-max")
    elif beside.process_max is not None:
        yield PoolLimit("process_max", beside.process_max, "process.max of the running master, over all of its pools")


def _connections(supervisor: Supervisor, database: Database | None) -> PoolLimit | None:
    """What the private database allows; None without one."""
    if database is None:
        return None
    try:
        found = int(ask(supervisor, database.socket, "SELECT @@max_connections"))
    except (DynoError, ValueError) as error:
        return PoolLimit("connections", None, "MariaDB", unread=f"it does not tell its max_connections: {error}")
    source = f"max_connections = {found} of the private database, one kept for its administrator; name production's with --max-connections"
    return PoolLimit("connections", found - RESERVED_CONNECTIONS, source)
