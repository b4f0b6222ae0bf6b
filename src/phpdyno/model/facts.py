"""What was read from running processes and from the host. Proofs of effect are predicates over
these, never over an ini file."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field


class JitFacts(Struct, frozen=True):
    """`opcache_get_status()['jit']` of a running worker; `free_at_start_bytes` is what was free
    before the app's first request."""

    enabled: bool
    on: bool
    kind: int
    buffer_size_bytes: int
    buffer_free_bytes: int
    free_at_start_bytes: int = 0


class OpcacheFacts(Struct, frozen=True):
    """`opcache_get_status()` of a running worker; absent when opcache is off.

    `keys` of `most_keys` entries of the hash table are taken. `strings_bytes` is the room for
    interned strings, `strings_free_bytes` what is left of it; both are 0 where there is none.
    """

    hits: int
    misses: int
    scripts: int
    used_bytes: int
    free_bytes: int
    preloaded_scripts: int
    restarts: int
    full: bool
    jit: JitFacts | None = None
    wasted_bytes: int = 0
    keys: int = 0
    most_keys: int = 0
    strings_bytes: int = 0
    strings_free_bytes: int = 0


class ServerFacts(Struct, frozen=True):
    """What the servers around a worker show of themselves; None (for the manager '') where it was
    not asked for or cannot be read.

    `process_manager` is the pool's `pm` as its status page says. `listen_limit` is how many
    connections may wait at the pool's socket, `kept_connections` how many are open to it while no
    request is under way. `web_workers` are nginx's, 0 where no nginx runs; `access_log_bytes` is
    the size of its access log.
    """

    process_manager: str = ""
    listen_limit: int | None = None
    kept_connections: int | None = None
    web_workers: int | None = None
    access_log_bytes: int | None = None


class KernelFacts(Struct, frozen=True):
    """What the kernel says of a worker's surroundings; None where it cannot be read.

    `thp_off`: transparent huge pages are switched off for this process. `text_kib` is the program's
    own code on small pages and `code_huge_kib` code on huge pages of either kind, which is of no
    file any more; the JIT's is left aside. `hugepages` is how many huge pages the host reserves,
    `somaxconn` the longest listen queue of the worker's network namespace. `lazy` are the mapped
    ELF files that leave the binding of their functions for later; read only where LD_BIND_NOW is
    asked for.
    """

    thp_off: bool | None = None
    text_kib: int = 0
    code_huge_kib: int = 0
    hugepages: int | None = None
    somaxconn: int | None = None
    lazy: tuple[str, ...] | None = None


class WorkerFacts(Struct, frozen=True):
    """One worker of a running arm, read after warm-up.

    `preloaded` are the libraries of its LD_PRELOAD that are really mapped, `mapped_extensions` the
    files of shared extensions. `ini_files` are the php.ini ('' when there is none) and the scanned
    files that it read. `app` holds the app's settings as its environment has them, by name.
    `source` is the commit whose files it was given to serve, `served_files` how many files below
    that document root it has opened; `preloaded_elsewhere` is the script that it preloaded from
    outside its app's copy, '' for none. `ini` holds the values in force inside the worker. `exe`,
    `build_id`, `opcache_so` (the mapped file, or '') and the huge-page figures come from /proc/PID.
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
    preloaded_elsewhere: str = ""
    servers: ServerFacts = ServerFacts()
    kernel: KernelFacts = KernelFacts()


class HostFacts(Struct, frozen=True):
    """The machine as the preflight saw it."""

    kernel: Annotated[str, Meta(description="Release of the kernel.")]
    cpu_model: Annotated[str, Meta(description="Model of the processor.")]
    cores: Annotated[int, Meta(description="Cores that phpdyno may use.")]
    memory_kib: Annotated[int, Meta(description="Memory in KiB.")]
    clock_source: Annotated[str, Meta(description="The kernel's clock source.")]
    governor: Annotated[str, Meta(description="CPU governors, `unknown` where none is shown.")]
    thp: Annotated[str, Meta(description="Transparent huge pages: the mode in force.")]
    hugetlb_pages: Annotated[int, Meta(description="Reserved huge pages.")]
    load_1min: Annotated[float, Meta(description="Load average over one minute, before measuring.")]
    steal_fraction: Annotated[float, Meta(description="Share of the time that the hypervisor took before measuring, 0 to 1.")]
    cpu_source: Annotated[str, Meta(description="Where CPU time is read: `cgroup` or `schedstat`.")]
    measured_cores: Annotated[tuple[int, ...], Meta(description="Cores of the instance under test.")]
    helper_cores: Annotated[tuple[int, ...], Meta(description="Cores of everything else.")]
    versions: Annotated[dict[str, str], Meta(description="Versions of the servers, as they print them.")] = field(default_factory=dict)
    virtual: Annotated[str, Meta(description="Kind of virtual machine; empty without one.")] = "unknown"
    container: Annotated[str, Meta(description="Kind of container; empty without one.")] = ""
    pmu: Annotated[str, Meta(description="What came of counting cycles: counts, absent, forbidden or unknown.")] = "unknown"
    aslr: Annotated[int | None, Meta(description="Address-space randomisation (`randomize_va_space`); null where it cannot be read.")] = (
        None
    )
    turbo: Annotated[bool | None, Meta(description="Whether the clock may rise above its nominal rate; null where it cannot be read.")] = (
        None
    )
    siblings: Annotated[tuple[int, ...], Meta(description="Hardware threads beside the measured cores.")] = ()
    cpu_quota_cores: Annotated[float | None, Meta(description="Cores' worth of time that our cgroup gets; null without a limit.")] = None
    hugepage_kib: Annotated[int, Meta(description="Size of a reserved huge page in KiB: the kernel's default size.")] = 2048
    running: Annotated[float | None, Meta(description="How many others wanted a core just before measuring, on the mean.")] = None
