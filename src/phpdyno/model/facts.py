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

    `preloaded` are the libraries of its LD_PRELOAD that are really mapped, `mapped_extensions` the files of shared
    extensions. `ini_files` are the php.ini ('' when there is none) and the scanned files that it read.
    `app` holds the app's settings as its environment has them, by name. `source` is the commit whose files it was given to serve,
    `served_files` how many files below that document root it has opened.
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
    mapped_extensions: tuple[str, ...] = ()
    ini_files: tuple[str, ...] = ()
    app: dict[str, str] = field(default_factory=dict)
    source: str = ""
    served_files: int = 0


class HostFacts(Struct, frozen=True):
    """The machine as the preflight saw it.

    `virtual` and `container` are names, '' without. `pmu` is what came of counting cycles: counts, absent, forbidden or unknown. `siblings`
    are the hardware threads beside the measured cores. `cpu_quota_cores` is what our cgroup gets, None without a limit.
    """

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
    virtual: str = "unknown"
    container: str = ""
    pmu: str = "unknown"
    aslr: int | None = None
    turbo: bool | None = None
    siblings: tuple[int, ...] = ()
    cpu_quota_cores: float | None = None
