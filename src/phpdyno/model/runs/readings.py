"""What is read beside throughput: memory, php-fpm's own counters, the listen queue, the kernel's
network."""

from msgspec import Struct


class WorkerMemory(Struct, frozen=True):
    """One process in KiB, from smaps_rollup. PSS charges a shared page to its users in equal parts.

    `pss_shmem_kib` is the part of PSS in shared memory (opcache, APCu, php-fpm's scoreboard), None
    where the kernel does not tell it. `hugetlb_kib` are pages of hugetlbfs, which no PSS contains.
    """

    pid: int
    pss_kib: int
    pss_shmem_kib: int | None
    private_kib: int
    shared_kib: int
    hugetlb_kib: int = 0
    swap_kib: int = 0


class PoolMemory(Struct, frozen=True):
    """The workers of one pool in KiB: sums, and medians per worker (None without a worker that
    could be read).

    `pss_kib` contains `pss_shmem_kib`. `master_kib` and `master_shmem_kib` are the same of
    php-fpm's master (much of it is code that it alone has mapped), None where it could not be read.
    `unread` workers were there, but their memory may not be read. `rss_median_kib` counts shared
    pages in each worker.
    """

    workers: int
    pss_kib: int
    pss_median_kib: float | None
    private_median_kib: float | None
    pss_shmem_kib: int | None
    master_kib: int | None
    master_shmem_kib: int | None = None
    unread: int = 0
    rss_median_kib: float | None = None


class PoolStatus(Struct, frozen=True):
    """php-fpm's status page. `max_active` and what follows it count since the pool's start.

    `listen_queue` and `max_listen_queue` are 0 on unix sockets whatever waits there: php-fpm reads
    TCP_INFO.
    """

    accepted: int
    listen_queue: int
    max_listen_queue: int
    listen_queue_len: int
    idle: int
    active: int
    total: int
    max_active: int
    max_children_reached: int
    slow_requests: int


class QueueLevel(Struct, frozen=True):
    """Connections that nobody has accepted yet, and the limit: the kernel lets one more than that
    wait."""

    waiting: int
    limit: int


class QueueLevels(Struct, frozen=True):
    """A listen queue over an interval; `share` of the samples saw at least one connection waiting.
    None without a sample.

    `full` is the share of samples in which no more fitted in: the next connection is refused (unix)
    or waits for a retry (TCP).
    """

    samples: int
    failed: int
    most: int | None
    mean: float | None
    share: float | None
    full: float | None
    limit: int | None


class CoreNetwork(Struct, frozen=True):
    """One core: time in interrupts and soft interrupts in nanoseconds (a tick's resolution), and
    how often the network's were raised."""

    core: int
    irq_ns: int
    softirq_ns: int
    net_rx: int
    net_tx: int


class KernelNetwork(Struct, frozen=True):
    """All cores, since boot or over an interval.

    `apart` is the kernel's accounting: True when time in soft interrupts is taken out of the
    processes' own (IRQ_TIME_ACCOUNTING), False when it is contained in them and must not be added,
    None where that is unknown.
    """

    cores: tuple[CoreNetwork, ...]
    apart: bool | None
