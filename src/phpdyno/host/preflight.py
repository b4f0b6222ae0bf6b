"""The host before measuring: facts for the journal and warnings for the user."""

import os
import platform
import time
from pathlib import Path

from phpdyno.host.clock import read_host_cpu, steal_fraction
from phpdyno.host.cores import Cores
from phpdyno.model.facts import HostFacts

SAMPLE_S = 0.3
STEAL_WARNING = 0.02
LOAD_WARNING_PER_CORE = 0.5


def _line(path: str, default: str = "unknown") -> str:
    try:
        return Path(path).read_text().strip() or default
    except OSError:
        return default


def _field(path: str, name: str, default: str = "unknown") -> str:
    for line in _line(path, "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return default


def _selected(text: str) -> str:
    """The bracketed choice of a kernel setting such as `always [madvise] never`."""
    return text.partition("[")[2].partition("]")[0] or text


def read_host(cores: Cores, cpu_source: str, versions: dict[str, str]) -> HostFacts:
    """Facts of this host; takes 0.3 s to look at the steal time."""
    before = read_host_cpu()
    time.sleep(SAMPLE_S)
    return HostFacts(
        kernel=platform.release(),
        cpu_model=_field("/proc/cpuinfo", "model name"),
        cores=len(os.sched_getaffinity(0)),
        memory_kib=int(_field("/proc/meminfo", "MemTotal", "0").split()[0]),
        clock_source=_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor=_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        thp=_selected(_line("/sys/kernel/mm/transparent_hugepage/enabled")),
        hugetlb_pages=int(_field("/proc/meminfo", "HugePages_Total", "0")),
        load_1min=os.getloadavg()[0],
        steal_fraction=steal_fraction(before, read_host_cpu()),
        cpu_source=cpu_source,
        measured_cores=cores.measured,
        helper_cores=cores.helpers,
        versions=versions,
    )


def warnings_for(host: HostFacts, max_steal: float) -> tuple[str, ...]:
    """What on this host makes figures worse, each with what it means; blocks with more steal than `max_steal` do not count."""
    found = []
    if host.cores < 2:
        found.append("only one core: generator, database and the instance under test share it, so intervals will be wide")
    if host.steal_fraction > max_steal:
        found.append(f"the hypervisor takes {host.steal_fraction:.1%} of the time (steal); blocks above {max_steal:.0%} do not count")
    elif host.steal_fraction > STEAL_WARNING:
        found.append(f"the hypervisor takes {host.steal_fraction:.1%} of the time (steal): expect wider intervals")
    if host.load_1min > LOAD_WARNING_PER_CORE * host.cores:
        found.append(f"load average {host.load_1min:.1f} on {host.cores} cores: something else is running here")
    if host.governor in {"powersave", "ondemand", "conservative", "schedutil"}:
        found.append(f"CPU governor {host.governor}: the clock follows the load; `performance` gives narrower intervals")
    if host.cpu_source == "schedstat":
        found.append("no permission to make cgroups: CPU time is read from each process's schedstat")
    return tuple(found)
