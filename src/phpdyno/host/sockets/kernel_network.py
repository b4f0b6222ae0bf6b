"""What the kernel spends in (soft) interrupts, per core, from /proc/stat and /proc/softirqs: 60 µs
per reading.

On loopback the receiving half of TCP runs at the end of the sender's system call, on the sender's
core. Where the kernel was built without IRQ_TIME_ACCOUNTING that time stays in the sender's own
account too: a process that sent 500,000 small messages per second had 95 % of a core by schedstat,
and /proc/stat called a third of that core `softirq`. So the figure is then a part of the processes'
time, as the tick sees it, and never to be added to it; with IRQ_TIME_ACCOUNTING it is exact and
taken out of theirs. A unix socket raises no soft interrupt.
"""

import gzip
import os
from collections.abc import Collection, Mapping

from phpdyno.host.files.small_files import SmallFiles, whole
from phpdyno.model.runs.readings import CoreNetwork, KernelNetwork

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_OPTION = "CONFIG_IRQ_TIME_ACCOUNTING"


def parse_interrupt_time(stat: str) -> dict[int, tuple[int, int]]:
    """Ticks in irq and softirq of each core, from /proc/stat."""
    told = {}
    for line in stat.splitlines():
        name, *fields = line.split() or [""]
        core = whole(name.removeprefix("cpu")) if name.startswith("cpu") else None
        if core is not None and len(fields) >= 7:
            told[core] = (int(fields[5]), int(fields[6]))
    return told


def parse_softirqs(table: str) -> dict[str, dict[int, int]]:
    """Counts by name and core, from /proc/softirqs."""
    head, *lines = table.splitlines() or [""]
    cores = [int(name.removeprefix("CPU")) for name in head.split()]
    told = {}
    for line in lines:
        name, *counts = line.split()
        told[name.rstrip(":")] = dict(zip(cores, map(int, counts), strict=False))
    return told


def read_kernel_network(tree: SmallFiles | None = None, *, apart: bool | None = None) -> KernelNetwork | None:
    """Totals since boot of each core; None where /proc does not tell. `apart` comes from
    `counts_interrupts_apart`, asked once."""
    tree = tree or SmallFiles()
    stat, table = tree.text("/proc/stat"), tree.text("/proc/softirqs")
    if stat is None:
        return None
    counts: Mapping[str, Mapping[int, int]] = {} if table is None else parse_softirqs(table)
    received, sent = counts.get("NET_RX", {}), counts.get("NET_TX", {})
    return KernelNetwork(
        tuple(
            CoreNetwork(core, irq * _NS_PER_TICK, softirq * _NS_PER_TICK, received.get(core, 0), sent.get(core, 0))
            for core, (irq, softirq) in sorted(parse_interrupt_time(stat).items())
        ),
        apart,
    )


def network_between(before: KernelNetwork, after: KernelNetwork) -> KernelNetwork:
    """What was spent on each core that was there all the time."""
    first = {each.core: each for each in before.cores}
    return KernelNetwork(
        tuple(
            CoreNetwork(
                last.core,
                last.irq_ns - first[last.core].irq_ns,
                last.softirq_ns - first[last.core].softirq_ns,
                last.net_rx - first[last.core].net_rx,
                last.net_tx - first[last.core].net_tx,
            )
            for last in after.cores
            if last.core in first
        ),
        after.apart,
    )


def interrupt_ns(network: KernelNetwork, cores: Collection[int] = ()) -> int:
    """Nanoseconds in interrupts of both kinds, on some cores or on all."""
    return sum(each.irq_ns + each.softirq_ns for each in network.cores if not cores or each.core in cores)


def counts_interrupts_apart(tree: SmallFiles | None = None, release: str | None = None) -> bool | None:
    """Whether this kernel takes time in interrupts out of the processes' (IRQ_TIME_ACCOUNTING);
    None where nothing tells."""
    tree = tree or SmallFiles()
    if tree.has("/proc/pressure/irq"):  # only there with the option
        return True
    built = _built(tree) or tree.text(f"/boot/config-{release or os.uname().release}")
    if built is None:
        return None
    return f"{_OPTION}=y" in built.splitlines()


def _built(tree: SmallFiles) -> str | None:
    try:
        return gzip.decompress(tree.path("/proc/config.gz").read_bytes()).decode(errors="replace")
    except (OSError, EOFError):
        return None
