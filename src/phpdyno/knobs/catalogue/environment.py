"""Variables of php-fpm's environment that act on the process: memory allocation and linking."""

from msgspec import Struct

from phpdyno.knobs import proof, proof_servers
from phpdyno.knobs.contrast import any_huge, tunables
from phpdyno.knobs.domain import TEXT, choice, integer
from phpdyno.knobs.knob import Knob
from phpdyno.model.facts import HostFacts, WorkerFacts

UNSEEN = "the worker's environment holds the value; nothing in a process with one thread shows more"


class Allocator(Struct, frozen=True):
    """Another malloc as Debian packages it: where its library may lie, most likely place first."""

    name: str
    package: str
    paths: tuple[str, ...]


def _debian(library: str) -> tuple[str, ...]:
    return tuple(f"/usr/lib/{machine}-linux-gnu/{library}" for machine in ("x86_64", "aarch64"))


ALLOCATORS = (
    Allocator("mimalloc", "libmimalloc2.0", _debian("libmimalloc.so.2.0")),
    Allocator("mimalloc", "libmimalloc3", _debian("libmimalloc.so.3")),
    Allocator("jemalloc", "libjemalloc2", _debian("libjemalloc.so.2")),
)
"""Candidates. Whether a file is there, this table does not say."""


def _transparent(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """Only transparent pages: of reserved ones PHP's heap would take whatever is free, which is
    somebody's already."""
    return ("1",) if host.thp in {"always", "madvise"} and not host.hugetlb_pages else ()


def _tunables(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """The tunable to ask with; with `always` the kernel gives them unasked."""
    reserved = ("glibc.malloc.hugetlb=2",) if host.hugetlb_pages > 0 else ()
    return (*reserved, *(("glibc.malloc.hugetlb=1",) if host.thp == "madvise" else ()))


ENVIRONMENT = (
    Knob(
        "env.USE_ZEND_ALLOC_HUGE_PAGES",
        choice("0", "1"),
        "restart",
        proof.environment("USE_ZEND_ALLOC_HUGE_PAGES"),
        "a worker takes memory in steps of 2 MiB; of reserved pages where there are some; SIGBUS ends it when it writes and none is left",
        contrast=any_huge,
        seen="more huge pages than in the control's worker, in a request that takes 6 MiB",
        tries=_transparent,
        drawn=True,
        apart=("os.vm.nr_hugepages",),
        untried="tried where the host's transparent huge pages are not at never and no huge pages are reserved, nor to be",
        price="up to 2 MiB more per worker",
        reference="php-src: Zend memory manager, start-up",
    ),
    Knob(
        "env.GLIBC_TUNABLES",
        TEXT,
        "restart",
        proof.environment("GLIBC_TUNABLES"),
        contrast=tunables,
        seen="glibc.malloc.hugetlb=1: more anonymous huge pages than in the control's worker, =2: more reserved ones; of others, arenas "
        "included, nothing can be seen in a process with one thread",
        tries=_tunables,
        drawn=True,
        promise="little",
        untried="tried where the host has huge pages that glibc would have to ask for",
        price="memory in steps of 2 MiB, per worker",
        reference="The GNU C Library manual: Memory Allocation Tunables",
    ),
    Knob(
        "env.MALLOC_ARENA_MAX",
        integer(1, 1024),
        "restart",
        proof.environment("MALLOC_ARENA_MAX"),
        seen=UNSEEN,
        untried="a worker has one thread, so it has one arena whatever is allowed",
        reference="mallopt(3): environment variables",
    ),
    Knob(
        "env.LD_BIND_NOW",
        TEXT,
        "restart",
        proof_servers.bound_now,
        seen="something is mapped that would bind its functions later by its ELF flags; Debian's php-fpm and its extensions bind at once",
        untried="Debian's php-fpm binds at once without it",
        price="nothing: the master binds before it forks",
        reference="ld.so(8): environment",
    ),
    Knob(
        "env.LD_PRELOAD",
        TEXT,
        "restart",
        proof.environment("LD_PRELOAD"),
        "the library must be there on every host that gets this; PHP's own heap does not use malloc, only what lives longer does",
        seen="each of these files is mapped into the worker",
        tries=tuple(path for allocator in ALLOCATORS for path in allocator.paths),
        promise="little",
        files=True,
        price="the library's own caches, per worker",
        reference="ld.so(8): environment",
    ),
)
