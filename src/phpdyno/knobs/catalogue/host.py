"""Settings of the host; servers/host_settings.py sets and restores them."""

from collections.abc import Mapping

from phpdyno.knobs import proof_servers
from phpdyno.knobs.catalogue.jit import BUFFER
from phpdyno.knobs.catalogue.opcache import pages_for
from phpdyno.knobs.contrast import reserved_huge, without_huge
from phpdyno.knobs.domain import choice, integer, size_bytes
from phpdyno.knobs.knob import Knob
from phpdyno.model.facts import HostFacts, WorkerFacts

PAGES, MEMORY = "os.vm.nr_hugepages", "ini.opcache.memory_consumption"
PAGE_KIB = 2048
"""Huge pages as PHP takes them for granted; the kernel's own default size may be another one: on
arm64 with pages of 64 KiB it is 512 MiB."""
HUGETLB = "Linux kernel documentation: HugeTLB Pages"
MOST_SHARE_OF_MEMORY = 0.02
"""For one instance: a search has a dozen of them beside each other."""


def enough_pages(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """As many as one instance takes: all of opcache's shared memory, the JIT's buffer and the code,
    where memory has room for them."""
    # Code goes to pages of the size that PHP takes for granted, or nowhere.
    text_kib = facts.kernel.text_kib if host.hugepage_kib == PAGE_KIB else 0
    pages = pages_for(facts.opcache, text_kib, 1, huge_kib=host.hugepage_kib)
    return (str(pages),) if 0 < pages * host.hugepage_kib < MOST_SHARE_OF_MEMORY * host.memory_kib else ()


def with_room(settings: Mapping[str, str], huge_kib: int = PAGE_KIB) -> dict[str, str]:
    """A combination's settings, with reserved pages (of `huge_kib`) for what it shares besides what
    the control does: a JIT buffer or opcache memory of its own. Shared memory takes all of them or
    none."""
    pages = int(settings.get(PAGES, "0"))
    if not pages:
        return dict(settings)
    shared_kib = (size_bytes(settings.get(BUFFER, "0")) or 0) // 1024 + 1024 * int(settings.get(MEMORY, "0"))
    return {**settings, PAGES: str(pages + -(-shared_kib // huge_kib))}


def _never(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Where the control has any: there is nothing to switch off otherwise."""
    return ("never",) if facts.anon_huge_kib > 0 else ()


HOST = (
    Knob(
        PAGES,
        integer(0, 1 << 24),
        "restart",
        proof_servers.reserved_pages,
        "these pages are taken from all other memory; on a host in use there may be fewer to be had",
        default="0",
        contrast=reserved_huge,
        seen="the host reserves as many, and more of them are in the worker than in the control's, which started before. opcache's shared "
        "memory takes them unasked, all of it or nothing; opcache.huge_code_pages takes them for the code",
        tries=enough_pages,
        drawn=True,
        untried="tried as root, where opcache's memory is a fiftieth of the host's at most",
        price="as many pages as it says, of Hugepagesize in /proc/meminfo each: 2 MiB on x86-64, 512 MiB on arm64 with 64 KiB pages",
        reference=HUGETLB,
    ),
    Knob(
        "os.thp",
        choice("host", "never"),
        "restart",
        proof_servers.transparent_pages,
        default="host",
        contrast=without_huge,
        seen="the kernel says so of the worker (THP_enabled), and it has fewer anonymous huge pages than the control's",
        tries=_never,
        untried="tried where the control's worker has transparent huge pages",
        price="up to 2 MiB less per worker",
        reference="prctl(2): PR_SET_THP_DISABLE; Linux kernel documentation: Transparent Hugepage Support",
    ),
    Knob(
        "os.net.core.somaxconn",
        integer(1, (1 << 31) - 1),
        "restart",
        proof_servers.longest_queue,
        default="4096",
        metric="throughput",
        seen="its value in the worker's network namespace",
        untried="it decides what happens beyond saturation, where requests are refused; tune measures below that",
        reference="Linux kernel documentation: /proc/sys/net/core, somaxconn",
    ),
)
