"""What /proc and /sys say of the host. None where a file is missing or may not be read."""

import os
import resource

from msgspec import Struct

from phpdyno.host.files.small_files import SmallFiles, core_list, selected, whole
from phpdyno.host.surroundings import CgroupLimits, cgroup_limits, container, virtual_machine

_CPU = "/sys/devices/system/cpu"
_THP = "/sys/kernel/mm/transparent_hugepage/enabled"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"
SMT_CONTROL = f"{_CPU}/smt/control"

FOLLOWS_LOAD = frozenset({"powersave", "ondemand", "conservative", "schedutil"})
"""Governors that let the clock follow the load."""


class CpuReadings(Struct, frozen=True):
    """Cores and their clock.

    `siblings` maps a core to all hardware threads of its physical core. `turbo` is None where it is
    hidden, and `turbo_off` the command that turns it off. `smt` is the kernel's word on SMT: on,
    off, notsupported, ...; None where it says none.
    """

    model: str | None
    online: tuple[int, ...] | None
    allowed: tuple[int, ...]
    siblings: dict[int, tuple[int, ...]]
    governors: tuple[str, ...]
    turbo: bool | None
    turbo_off: str
    clock_source: str | None
    smt: str | None = None


class MemoryReadings(Struct, frozen=True):
    """Memory in KiB, huge pages in pages of `hugepage_kib`; `hugetlb_settable`: we may write
    vm.nr_hugepages."""

    total_kib: int | None
    available_kib: int | None
    swap_total_kib: int | None
    swap_free_kib: int | None
    thp: str | None
    hugetlb_pages: int | None
    hugepage_kib: int | None
    hugetlb_settable: bool


class KernelReadings(Struct, frozen=True):
    """Settings of the kernel, as numbers, and which of its figures are there."""

    release: str
    aslr: int | None
    perf_paranoid: int | None
    yama: int | None
    somaxconn: int | None
    schedstat: bool
    children: bool
    proc: bool


class Readings(Struct, frozen=True):
    """The host as its files show it; `open_files` is the soft and the hard limit."""

    cpu: CpuReadings
    memory: MemoryReadings
    kernel: KernelReadings
    limits: CgroupLimits | None
    virtual: str | None
    container: str
    root: bool
    open_files: tuple[int, int]


def read_host_files(tree: SmallFiles | None = None, *, allowed: tuple[int, ...] | None = None) -> Readings:
    """All readings below `tree`; `allowed` are the cores that we may run on, those of this process
    when not given."""
    tree = tree or SmallFiles()
    return Readings(
        cpu=read_cpu(tree, tuple(sorted(os.sched_getaffinity(0))) if allowed is None else allowed),
        memory=read_memory(tree),
        kernel=_kernel(tree),
        limits=cgroup_limits(tree),
        virtual=virtual_machine(tree),
        container=container(tree),
        root=os.geteuid() == 0,
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE),
    )


def read_cpu(tree: SmallFiles, allowed: tuple[int, ...]) -> CpuReadings:
    """Cores, hardware threads and clock."""
    siblings = {core: core_list(tree.text(f"{_CPU}/cpu{core}/topology/thread_siblings_list")) for core in allowed}
    turbo, turbo_off = _turbo(tree)
    governors = {tree.text(f"{_CPU}/cpu{core}/cpufreq/scaling_governor") for core in allowed}
    return CpuReadings(
        model=tree.field("/proc/cpuinfo", "model name"),
        online=core_list(tree.text(f"{_CPU}/online")),
        allowed=allowed,
        siblings={core: threads for core, threads in siblings.items() if threads is not None},
        governors=tuple(sorted(governor for governor in governors if governor)),
        turbo=turbo,
        turbo_off=turbo_off,
        clock_source=tree.text(f"{_CLOCK}/current_clocksource"),
        smt=tree.text(SMT_CONTROL),
    )


def siblings_beside(cpu: CpuReadings, measured: tuple[int, ...]) -> tuple[int, ...]:
    """Hardware threads that share a physical core with a measured one and are not measured
    themselves."""
    return tuple(sorted({thread for core in measured for thread in cpu.siblings.get(core, ()) if thread not in measured}))


def _turbo(tree: SmallFiles) -> tuple[bool | None, str]:
    """Whether the clock may rise above its nominal rate, and what forbids that: Intel's own driver
    turns the switch around."""
    for file, on in ((f"{_CPU}/intel_pstate/no_turbo", 0), (f"{_CPU}/cpufreq/boost", 1)):
        if (value := tree.number(file)) is not None:
            return value == on, f"echo {1 - on} | sudo tee {file}"
    return None, ""


def read_memory(tree: SmallFiles) -> MemoryReadings:
    """Memory, swap and huge pages."""
    meminfo = "/proc/meminfo"
    return MemoryReadings(
        total_kib=tree.kib(meminfo, "MemTotal"),
        available_kib=tree.kib(meminfo, "MemAvailable"),
        swap_total_kib=tree.kib(meminfo, "SwapTotal"),
        swap_free_kib=tree.kib(meminfo, "SwapFree"),
        thp=selected(tree.text(_THP)),
        hugetlb_pages=whole(tree.field(meminfo, "HugePages_Total")),
        hugepage_kib=tree.kib(meminfo, "Hugepagesize"),
        hugetlb_settable=os.access(tree.path("/proc/sys/vm/nr_hugepages"), os.W_OK),
    )


def _kernel(tree: SmallFiles) -> KernelReadings:
    # The number of nanoseconds on a CPU stays 0 in a kernel that was built without the accounting.
    used = whole((tree.text("/proc/self/schedstat") or "").partition(" ")[0])
    return KernelReadings(
        release=os.uname().release,
        aslr=tree.number("/proc/sys/kernel/randomize_va_space"),
        perf_paranoid=tree.number("/proc/sys/kernel/perf_event_paranoid"),
        yama=tree.number("/proc/sys/kernel/yama/ptrace_scope"),
        somaxconn=tree.number("/proc/sys/net/core/somaxconn"),
        schedstat=bool(used),
        children=tree.text(f"/proc/self/task/{os.getpid()}/children") is not None,
        proc=tree.has("/proc/self"),
    )
