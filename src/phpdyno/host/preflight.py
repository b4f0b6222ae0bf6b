"""The host before measuring: facts for the journal and warnings for the user."""

import os
import re
import time
from pathlib import Path
from statistics import fmean

from phpdyno.host.checkup.readings import FOLLOWS_LOAD, read_host_files, siblings_beside
from phpdyno.host.checkup.trials import try_cycles, try_steal
from phpdyno.host.cores import Cores
from phpdyno.model.facts import HostFacts

STEAL_S = 0.6
"""One tick of /proc/stat is 1.7 % of it: less than what is worth a warning."""

UNKNOWN = "unknown"
STEAL_WARNING = 0.02
LOAD_WARNING_PER_CORE = 0.5
LOOKS = 10
LOOK_S = 0.01
_RUNNING = re.compile(r"^procs_running (\d+)$", re.MULTILINE)


def read_host(cores: Cores, cpu_source: str, versions: dict[str, str]) -> HostFacts:
    """Facts of this host; keeps the measured core busy for 0.6 s, as from an idle one nothing is
    stolen."""
    load_1min, running = os.getloadavg()[0], read_running()
    steal = try_steal(cores.measured, STEAL_S)
    host = read_host_files()
    return HostFacts(
        kernel=host.kernel.release,
        cpu_model=host.cpu.model or UNKNOWN,
        cores=len(host.cpu.allowed),
        memory_kib=host.memory.total_kib or 0,
        clock_source=host.cpu.clock_source or UNKNOWN,
        governor=", ".join(host.cpu.governors) or UNKNOWN,
        thp=host.memory.thp or UNKNOWN,
        hugetlb_pages=host.memory.hugetlb_pages or 0,
        hugepage_kib=host.memory.hugepage_kib or 2048,
        load_1min=load_1min,
        running=running,
        steal_fraction=steal.share or 0.0,
        cpu_source=cpu_source,
        measured_cores=cores.measured,
        helper_cores=cores.helpers,
        versions=versions,
        virtual=UNKNOWN if host.virtual is None else host.virtual,
        container=host.container,
        pmu=try_cycles().outcome,
        aslr=host.kernel.aslr,
        turbo=host.cpu.turbo,
        siblings=siblings_beside(host.cpu, cores.measured),
        cpu_quota_cores=host.limits.cpu_cores if host.limits else None,
    )


def read_running() -> float:
    """How many others want a core at this moment, on the mean of a few looks: the load average
    still tells of a minute ago, be it of a measurement of ours that has just ended."""
    seen = []
    for _ in range(LOOKS):
        found = _RUNNING.search(Path("/proc/stat").read_text())
        seen.append(float(found[1]) - 1.0 if found else 0.0)
        time.sleep(LOOK_S)
    return fmean(seen)


def warnings_for(host: HostFacts, max_steal: float) -> tuple[str, ...]:
    """What on this host makes figures worse, each with what it means; blocks with more steal than
    `max_steal` do not count."""
    found = []
    if host.cores < 2:
        found.append("only one core: generator, database and the instance under test share it, so intervals will be wide")
    if host.steal_fraction > max_steal:
        found.append(f"the hypervisor takes {host.steal_fraction:.1%} of a busy core (steal); blocks above {max_steal:.0%} do not count")
    elif host.steal_fraction > STEAL_WARNING:
        found.append(f"the hypervisor takes {host.steal_fraction:.1%} of a busy core (steal): expect wider intervals")
    now = host.load_1min if host.running is None else min(host.load_1min, host.running)
    if now > LOAD_WARNING_PER_CORE * host.cores:
        found.append(f"load average {host.load_1min:.1f} on {host.cores} cores: something else is running here")
    if not FOLLOWS_LOAD.isdisjoint(host.governor.split(", ")):
        found.append(f"CPU governor {host.governor}: the clock follows the load; `performance` gives narrower intervals")
    if host.cpu_quota_cores is not None and host.cpu_quota_cores < host.cores:
        found.append(f"a CPU quota of {host.cpu_quota_cores:.2f} of {host.cores} cores: when it is used up everything stands still")
    if set(host.siblings) & set(host.helper_cores):
        found.append("the measured core is a hardware thread beside one of the helpers': what runs there makes it dearer")
    if host.aslr == 0:
        found.append("address-space randomisation is off: the luck of one layout is in every block")
    if host.cpu_source == "schedstat":
        found.append("no permission to make cgroups: CPU time is read from each process's schedstat")
    return tuple(found)
