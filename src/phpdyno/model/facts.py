"""What was read from running processes and from the host. Proofs of effect are predicates over these, never over an ini file."""

from typing import Literal

from msgspec import Struct, field


class JitFacts(Struct, frozen=True):
    """`opcache_get_status()['jit']` of a running worker; `free_at_start_bytes` is what was free before the app's first request."""

    enabled: bool
    on: bool
    kind: int
    buffer_size_bytes: int
    buffer_free_bytes: int
    free_at_start_bytes: int = 0


class OpcacheFacts(Struct, frozen=True):
    """`opcache_get_status()` of a running worker; absent when opcache is off."""

    hits: int
    misses: int
    scripts: int
    used_bytes: int
    free_bytes: int
    preloaded_scripts: int
    restarts: int
    full: bool
    jit: JitFacts | None = None


class WorkerFacts(Struct, frozen=True):
    """One worker of a running arm, read after warm-up.

    `preloaded` are the libraries of its LD_PRELOAD that are really mapped.
    `ini` holds the values in force inside the worker. `exe`, `build_id`, `opcache_so` (the mapped file, or '') and the huge-page
    figures come from /proc/PID.
    """

    pid: int
    php_version: str
    exe: str
    build_id: str
    opcache_so: str
    socket_family: Literal["unix", "tcp"]
    workers: int
    ini: dict[str, str]
    env: dict[str, str]
    extensions: tuple[str, ...]
    realpath_cache_bytes: int
    anon_huge_kib: int
    hugetlb_kib: int
    opcache: OpcacheFacts | None = None
    preloaded: tuple[str, ...] = ()


class HostFacts(Struct, frozen=True):
    """The machine as the preflight saw it."""

    kernel: str
    cpu_model: str
    cores: int
    memory_kib: int
    clock_source: str
    governor: str
    thp: str
    hugetlb_pages: int
    load_1min: float
    steal_fraction: float
    cpu_source: str
    measured_cores: tuple[int, ...]
    helper_cores: tuple[int, ...]
    versions: dict[str, str] = field(default_factory=dict)
