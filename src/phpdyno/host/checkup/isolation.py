"""What the kernel and its limits do to the servers that are measured. Pure: readings and trials in,
lines out."""

from phpdyno.host.checkup.check import Check, cores_in_words, mib
from phpdyno.host.checkup.readings import CpuReadings, KernelReadings, MemoryReadings, Readings
from phpdyno.host.checkup.sample import Sample

LEAST_OPEN_FILES = 2_100
"""Two descriptors for each of 1000 requests in flight, and what a server holds anyway."""

BACKLOG = 511
"""What php-fpm and nginx ask for."""

PHP_HUGE_KIB = 2048
"""What PHP takes for the size of a huge page on every machine."""
LEAST_MEMORY_KIB = 512 * 1024
THP_ON = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
TRIED_KIB = 256 * 1024
"""What is worth reserving to try huge pages: the shared memory of an instance and its JIT's."""


def judge_isolation(host: Readings, sample: Sample | None, *, cgroups: str, account: str, account_problem: str) -> list[Check]:
    """One line for each; `account` is whom the servers run as, `account_problem` the kernel's words
    where that failed."""
    return [
        _account(host, account, account_problem),
        _cgroups(host, cgroups),
        _affinity(host.cpu),
        _aslr(host.kernel),
        _memory(host),
        _swap(host.memory, sample),
        _thp(host.memory),
        _hugetlb(host.memory),
        _open_files(host),
        _somaxconn(host.kernel),
    ]


def judge_bottle(problem: str, *, root: bool, container: str) -> Check:
    """Whether what is measured can be shut off from the host; `problem` is why not, '' where it was
    tried and can."""
    if not problem:
        return Check("isolation", "bottle", "ok", "namespaces for mounts, network, processes and IPC can be made (tried)")
    return Check(
        "isolation",
        "bottle",
        "limits",
        f"no namespaces can be made: {problem}",
        "an app of yours would reach this host's network and files: it is measured with --no-bottle only",
        "give the container CAP_SYS_ADMIN" if container else "allow user namespaces" if root else "allow user namespaces, or run as root",
    )


def _account(host: Readings, account: str, problem: str) -> Check:
    if problem:
        return Check(
            "isolation",
            "account",
            "missing",
            f"no process can be started as {account}: {problem}",
            "the servers must not run as root",
            "run phpdyno as an ordinary user, or give the container CAP_SETUID and CAP_SETGID",
            essential=True,
        )
    return Check("isolation", "account", "ok", f"servers run as {account}" + (" (tried)" if host.root else ", as phpdyno itself"))


def _cgroups(host: Readings, version: str) -> Check:
    if version:
        return Check("isolation", "cgroups", "ok", f"{version}, and we may make groups (tried)")
    who = "root" if host.root else "an ordinary user"
    return Check(
        "isolation",
        "cgroups",
        "limits",
        f"none that {who} may make here",
        "CPU time comes from /proc/PID/schedstat",
        "mount /sys/fs/cgroup writable in the container" if host.root else "run phpdyno as root",
    )


def _affinity(cpu: CpuReadings) -> Check:
    if cpu.online is None:
        return Check("isolation", "affinity", "unknown", f"we may run on {cores_in_words(cpu.allowed)}; which are online is not shown")
    if set(cpu.allowed) >= set(cpu.online):
        return Check("isolation", "affinity", "ok", "all cores that are online")
    said = f"limited to {cores_in_words(cpu.allowed)} of {len(cpu.online)} (taskset or a cpuset)"
    return Check("isolation", "affinity", "ok", said, "cores that others may use as well, unless the cpuset is exclusive")


def _aslr(kernel: KernelReadings) -> Check:
    if kernel.aslr is None:
        return Check("isolation", "ASLR", "unknown", "not readable")
    if kernel.aslr > 0:
        return Check("isolation", "ASLR", "ok", f"on ({kernel.aslr}): every start draws a layout, and blocks average over them")
    return Check(
        "isolation",
        "ASLR",
        "limits",
        "off: every start has the same layout",
        "the luck of one layout would be taken for the effect of the change",
        "sudo sysctl -w kernel.randomize_va_space=2",
    )


def _memory(host: Readings) -> Check:
    free, limit = host.memory.available_kib, host.limits.memory_kib if host.limits else None
    if host.memory.total_kib is None or free is None:
        return Check("isolation", "memory", "unknown", "/proc/meminfo cannot be read")
    said = f"{mib(free)} of {mib(host.memory.total_kib)} available"
    if limit is not None and limit < host.memory.total_kib:
        said += f", our cgroup may use {mib(limit)}"
    if min(free, limit or free) >= LEAST_MEMORY_KIB:
        return Check("isolation", "memory", "ok", said)
    means = "each live instance has an opcache of its own (128 MiB by default): several at once may be killed"
    return Check("isolation", "memory", "limits", said, means, "free some, or measure one treatment at a time")


def _swap(memory: MemoryReadings, sample: Sample | None) -> Check:
    """Judged by the pages that move: what was swapped out long ago and stays there costs
    nothing."""
    if memory.swap_total_kib is None or memory.swap_free_kib is None:
        return Check("isolation", "swap", "unknown", "/proc/meminfo cannot be read")
    if not memory.swap_total_kib:
        return Check("isolation", "swap", "ok", "none")
    used = memory.swap_total_kib - memory.swap_free_kib
    said = f"{mib(used)} of {mib(memory.swap_total_kib)} in use"
    if sample is None:
        return Check("isolation", "swap", "unknown", f"{said}; whether pages move cannot be read")
    said += f", {sample.swapped_pages or 'no'} pages moved in {sample.seconds:.1f} s"
    if not sample.swapped_pages:
        return Check("isolation", "swap", "ok", said)
    means, fix = "a page that comes back from it costs more than a request", "stop what needs the memory"
    # With less memory than that the kernel would end processes instead.
    if used and memory.available_kib is not None and memory.available_kib > used:
        fix += "; what was swapped out fits into memory now: sudo swapoff -a && sudo swapon -a"
    return Check("isolation", "swap", "limits", said, means, fix)


def _thp(memory: MemoryReadings) -> Check:
    name = "huge pages (THP)"
    if memory.thp is None:
        return Check("isolation", name, "unknown", "not readable")
    if memory.thp == "never":
        means = "USE_ZEND_ALLOC_HUGE_PAGES and opcache.huge_code_pages can have no effect"
        return Check("isolation", name, "limits", "never", means, THP_ON)
    said = {"madvise": "madvise: PHP gets them where it asks", "always": "always: memory may turn into huge pages at any moment"}
    means = "measure with what your production has" if memory.thp == "always" else ""
    return Check("isolation", name, "ok", said.get(memory.thp, memory.thp), means)


def _hugetlb(memory: MemoryReadings) -> Check:
    name = "huge pages (hugetlb)"
    if memory.hugetlb_pages is None:
        return Check("isolation", name, "unknown", "/proc/meminfo shows none")
    size = f" of {mib(memory.hugepage_kib)}" if memory.hugepage_kib else ""
    if memory.hugetlb_pages:
        return Check("isolation", name, "ok", f"{memory.hugetlb_pages} reserved{size}")
    means = "needed only to try them for PHP's code or opcache's memory"
    reserve = f"sudo sysctl -w vm.nr_hugepages={max(1, TRIED_KIB // (memory.hugepage_kib or 2048))}"
    if (memory.hugepage_kib or PHP_HUGE_KIB) != PHP_HUGE_KIB:
        means += f"; PHP asks for pages of {mib(PHP_HUGE_KIB)}, so one of these holds its shared memory and none its code"
    if memory.hugetlb_settable:
        return Check("isolation", name, "ok", f"none reserved{size}, and we may reserve some", means, reserve)
    return Check("isolation", name, "limits", "none reserved, and we may not reserve any", means, reserve)


def _open_files(host: Readings) -> Check:
    soft, hard = host.open_files
    if soft < 0 or soft >= LEAST_OPEN_FILES:
        return Check("isolation", "open files", "ok", "no limit" if soft < 0 else f"up to {soft}")
    most = max(1, (soft - 100) // 2)
    fix = f"ulimit -n {LEAST_OPEN_FILES}" if hard < 0 or hard >= LEAST_OPEN_FILES else "raise nofile in /etc/security/limits.conf"
    return Check("isolation", "open files", "limits", f"up to {soft}", f"--concurrency above about {most} runs out of them", fix)


def _somaxconn(kernel: KernelReadings) -> Check:
    if kernel.somaxconn is None:
        return Check("isolation", "somaxconn", "unknown", "not readable")
    if kernel.somaxconn >= BACKLOG:
        return Check("isolation", "somaxconn", "ok", str(kernel.somaxconn))
    means = f"more than {kernel.somaxconn} connections at once are refused or wait: it caps throughput at a high --concurrency"
    return Check("isolation", "somaxconn", "limits", str(kernel.somaxconn), means, "sudo sysctl -w net.core.somaxconn=4096")
