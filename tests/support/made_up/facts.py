"""WorkerFacts made up for unit tests of the proofs: a plain worker of Debian's php8.2, opcache on,
no JIT."""

import msgspec

from phpdyno.model.facts import HostFacts, JitFacts, KernelFacts, OpcacheFacts, ServerFacts, WorkerFacts

JIT_OFF = JitFacts(enabled=False, on=False, kind=0, buffer_size_bytes=0, buffer_free_bytes=0)
JIT_ON = JitFacts(enabled=True, on=True, kind=5, buffer_size_bytes=67_108_848, buffer_free_bytes=60_000_000, free_at_start_bytes=67_106_600)
OPCACHE = OpcacheFacts(
    hits=100, misses=5, scripts=5, used_bytes=9_000_000, free_bytes=125_000_000, preloaded_scripts=0, restarts=0, full=False, jit=JIT_OFF
)
PLAIN = WorkerFacts(
    pid=4242,
    php_version="8.2.36",
    exe="/usr/sbin/php-fpm8.2",
    build_id="ab" * 20,
    opcache_so="/usr/lib/php/20220829/opcache.so",
    socket_family="unix",
    workers=1,
    ini={
        "opcache.enable": "1",
        "opcache.jit": "off",
        "opcache.jit_buffer_size": "0",
        "opcache.validate_timestamps": "1",
        "realpath_cache_size": "4096K",
        "realpath_cache_ttl": "120",
        "memory_limit": "128M",
    },
    env={},
    extensions=("Core", "Zend OPcache"),
    realpath_cache_bytes=5000,
    anon_huge_kib=0,
    hugetlb_kib=0,
    opcache=OPCACHE,
)
NO_OPCACHE = msgspec.structs.replace(PLAIN, opcache=None, ini={**PLAIN.ini, "opcache.enable": "0"})


def with_ini(facts: WorkerFacts, **values: str) -> WorkerFacts:
    """The same worker with other values in force; `__` stands for the dot of a name."""
    return msgspec.structs.replace(facts, ini={**facts.ini, **{name.replace("__", "."): value for name, value in values.items()}})


def with_jit(facts: WorkerFacts, jit: JitFacts, mode: str = "tracing", size: str = "64M") -> WorkerFacts:
    """The same worker with this JIT."""
    opcache = msgspec.structs.replace(facts.opcache or OPCACHE, jit=jit)
    return msgspec.structs.replace(with_ini(facts, opcache__jit=mode, opcache__jit_buffer_size=size), opcache=opcache)


def with_opcache(**values: int) -> WorkerFacts:
    """The plain worker with other figures of opcache."""
    return msgspec.structs.replace(PLAIN, opcache=msgspec.structs.replace(OPCACHE, **values))


def with_servers(**values: object) -> WorkerFacts:
    """The plain worker with such servers around it."""
    return msgspec.structs.replace(PLAIN, servers=ServerFacts(**values))  # type: ignore[arg-type]


def with_kernel(**values: object) -> WorkerFacts:
    """The plain worker on a kernel that says this of it."""
    return msgspec.structs.replace(PLAIN, kernel=KernelFacts(**values))  # type: ignore[arg-type]


HOST = HostFacts(
    kernel="6.1",
    cpu_model="x",
    cores=2,
    memory_kib=1 << 22,
    clock_source="tsc",
    governor="unknown",
    thp="madvise",
    hugetlb_pages=0,
    load_1min=0.0,
    steal_fraction=0.0,
    cpu_source="cgroup",
    measured_cores=(0,),
    helper_cores=(1,),
)
"""Two cores, transparent huge pages for whoever asks, none reserved."""
