"""What one look at one arm comes to per request, by the names that a page gives to the quantities.
Pure."""

from collections.abc import Sequence

from phpdyno.experiment.common.slot import SharedMeters, SlotReading
from phpdyno.explain.counting.userstat import UserStat
from phpdyno.model.facts import OpcacheFacts
from phpdyno.model.inside.explained import ON_CPU, Unit
from phpdyno.model.inside.memory_map import MapKind, MemoryMap
from phpdyno.model.inside.waits import Wait, WaitsSeen
from phpdyno.model.runs.study import SyscallCount

PHP, WEB, DATABASE, ALL_CPU = "PHP", "web server", "database", "all of it"
QUEUED, IN_WORKER, AT_CLIENT = "waiting for a core", "all of it, in the worker", "as the client sees it"
PSS, PRIVATE, RSS = "all of it (PSS)", "private to this worker", "resident (RSS)"
OF_MAP: dict[MapKind, str] = {
    "program": "PHP's code and data",
    "libraries": "libraries and extensions",
    "heap": "heap (malloc)",
    "anonymous": "anonymous (PHP's memory manager)",
    "shared": "shared (opcache, JIT, APCu)",
    "files": "other files",
    "stack": "stack",
}
HIT_RATE = "hit rate"
OPCACHE_UNITS: dict[str, Unit] = {
    "scripts": "count",
    "preloaded scripts": "count",
    HIT_RATE: "percent",
    "restarts": "count",
}
STAT_UNITS: tuple[tuple[str, Unit], ...] = (
    ("busy", "ms"),
    ("CPU", "ms"),
    ("rows read", "count"),
    ("rows sent", "count"),
    ("commands", "count"),
    ("connections", "count"),
)


def cpu_values(reading: SlotReading, *, web: bool, meters: SharedMeters) -> dict[str, float]:
    """Milliseconds of CPU per request, by component."""
    size = int(reading.samples.outcome.size)
    found = {PHP: reading.php_ns / size / 1e6}
    if web:
        found[WEB] = reading.web_ns / size / 1e6
    if meters.database is not None:
        found[DATABASE] = reading.database_ns / size / 1e6
    for name, spent in reading.services_ns.items():
        found[f"service {name}"] = spent / size / 1e6
    return {**found, ALL_CPU: sum(found.values())}


def wait_values(seen: WaitsSeen, requests: int, client_ns: float, *, idle_on_web: bool) -> dict[str, float]:
    """Milliseconds per request that a worker spent with it. `idle_on_web`: the web server keeps its
    connections, so that a worker waits there for the next request; `client_ns` is how long the
    client waited for an answer, on the mean."""
    per_request = 1e6 * requests
    found = {ON_CPU: seen.on_cpu_ns / per_request, QUEUED: seen.queued_ns / per_request}
    for wait in sorted(seen.waits, key=lambda each: -seen.waits[each]):
        if wait.kind == "idle" or (wait.kind == "web" and idle_on_web):
            continue
        name = wait_words(wait)
        found[name] = found.get(name, 0.0) + seen.blocked_ns(wait) / per_request
    return {**found, IN_WORKER: sum(found.values()), AT_CLIENT: client_ns / 1e6}


def wait_words(wait: Wait) -> str:
    """What a worker waits for, as a page calls it."""
    if wait.kind == "service":
        return f"service {wait.name}"
    if wait.kind in {"database", "network", "other"}:
        return f"{wait.kind} ({wait.name})" if wait.name else wait.kind
    return {"web": "web server (request in, answer out)", "process": "another process"}.get(wait.kind, wait.kind)


def stat_values(server: str, stat: UserStat, requests: int) -> dict[str, float]:
    """What a MariaDB did per request: milliseconds, and numbers."""
    values = (stat.busy_s * 1e3, stat.cpu_s * 1e3, stat.rows_read, stat.rows_sent, stat.commands, stat.connections)
    return {f"{server}: {name}": value / requests for (name, _), value in zip(STAT_UNITS, values, strict=True)}


def stat_unit(name: str) -> Unit:
    """The unit of a quantity that `stat_values` named."""
    return dict(STAT_UNITS)[name.rpartition(": ")[2]]


def syscall_values(counts: Sequence[SyscallCount], requests: int) -> dict[str, float]:
    """Calls per request by name, and all of them."""
    found = {each.name: each.calls / requests for each in counts}
    return {**found, "all calls": sum(found.values())}


def map_values(found: MemoryMap) -> dict[str, float]:
    """KiB of a worker: PSS by what is mapped, then the whole in three ways."""
    values = {OF_MAP[kind]: float(each.pss_kib) for kind, each in found.items()}
    return {
        **values,
        PSS: float(sum(each.pss_kib for each in found.values())),
        PRIVATE: float(sum(each.private_kib for each in found.values())),
        RSS: float(sum(each.rss_kib for each in found.values())),
    }


def opcache_values(found: OpcacheFacts | None) -> dict[str, float]:
    """Its state; nothing where opcache is off."""
    if found is None:
        return {}
    asked = found.hits + found.misses
    jit = found.jit
    values = {
        "scripts": float(found.scripts),
        "preloaded scripts": float(found.preloaded_scripts),
        "memory used": found.used_bytes / 1024,
        "memory free": found.free_bytes / 1024,
        "memory wasted": found.wasted_bytes / 1024,
        "interned strings used": (found.strings_bytes - found.strings_free_bytes) / 1024,
        "interned strings free": found.strings_free_bytes / 1024,
        HIT_RATE: 100 * found.hits / asked if asked else 0.0,
        "restarts": float(found.restarts),
    }
    if jit is not None:
        values |= {
            "JIT buffer used": (jit.buffer_size_bytes - jit.buffer_free_bytes) / 1024,
            "JIT buffer free": jit.buffer_free_bytes / 1024,
        }
    return values
