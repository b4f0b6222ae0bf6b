"""Proofs of what pool, web server and host show. Pure predicates over WorkerFacts; where nothing
was read, they say so."""

from phpdyno.knobs.proof import accepted
from phpdyno.model.facts import WorkerFacts

NO_NGINX = "no nginx stands in front of this pool, so this setting does nothing"


def process_manager(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The pool's status page names it."""
    told = facts.servers.process_manager
    if not told:
        return accepted(facts, wanted)
    return told == wanted.strip().lower(), f"the status page says {told}; {facts.workers} workers run"


def worker_count(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """As many workers run as are wanted (a pool that is known to be static), or no more (any
    other)."""
    most = int(wanted)
    # The one that answered may have ended since (pm.max_requests), and its successor be on its way.
    least = max(1, most - 1) if facts.servers.process_manager == "static" else 1
    return least <= facts.workers <= most, f"{facts.workers} workers run"


def backlog(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """As many connections may wait at the socket as are wanted, or as net.core.somaxconn lets;
    below 0 as many as that."""
    limit, most = facts.servers.listen_limit, facts.kernel.somaxconn
    if limit is None or most is None:
        return accepted(facts, wanted)
    asked = int(wanted)
    return limit == (most if asked < 0 else min(asked, most)), f"{limit} connections may wait at the socket, {most} at any socket here"


def nginx_workers(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """nginx has so many child processes."""
    running = facts.servers.web_workers
    if running is None:
        return accepted(facts, wanted)
    return (running == int(wanted), f"{running} nginx workers run") if running else (False, NO_NGINX)


def kept_connections(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """Connections to the pool stay open while nothing is asked; 0: none does."""
    if facts.servers.web_workers == 0:
        return False, NO_NGINX
    kept = facts.servers.kept_connections
    if kept is None:
        return accepted(facts, wanted)
    detail = f"{kept} connections to the pool are kept"
    return (kept > 0 if int(wanted) else kept == 0), detail


def nginx_accepted(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """nginx runs with it; what it does with its own memory shows nowhere."""
    if facts.servers.web_workers == 0:
        return False, NO_NGINX
    return True, f"nginx accepted {wanted!r}; nothing shows what it does with it"


def access_log(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """A log is there and grows (`on`), is there (`buffered`: lines may be in memory still), or is
    not there."""
    if facts.servers.web_workers == 0:
        return False, NO_NGINX
    if facts.servers.web_workers is None:
        return accepted(facts, wanted)
    size = facts.servers.access_log_bytes
    detail = "nginx writes no access log" if size is None else f"nginx's access log holds {size} bytes"
    low = wanted.strip().lower()
    return (size is None if low == "off" else size is not None and (low == "buffered" or size > 0)), detail


def reserved_pages(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """The host reserves that many huge pages or more: instances beside each other have as many
    each."""
    found = facts.kernel.hugepages
    if found is None:
        return False, "HugePages_Total cannot be read"
    return found >= int(wanted), f"the host reserves {found} huge pages; {facts.hugetlb_kib} KiB of them in the worker"


def transparent_pages(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """`never`: they are switched off for this process; `host`: they are not, so that the host's
    mode holds."""
    off = facts.kernel.thp_off
    if off is None:
        return False, "the kernel does not tell whether this process may have transparent huge pages"
    words = "switched off" if off else "not switched off"
    return off == (wanted.strip().lower() == "never"), f"transparent huge pages are {words} for the worker"


def longest_queue(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """net.core.somaxconn of the worker's network namespace."""
    found = facts.kernel.somaxconn
    return found == int(wanted), f"net.core.somaxconn is {'unknown' if found is None else found} where the worker runs"


def bound_now(facts: WorkerFacts, wanted: str) -> tuple[bool, str]:
    """LD_BIND_NOW is set, and something is mapped that would have bound its functions later."""
    held = facts.env.get("LD_BIND_NOW", "(unset)")
    if held != wanted:
        return False, f"LD_BIND_NOW={held} in the worker's environment"
    lazy = facts.kernel.lazy
    if lazy is None:
        return True, "LD_BIND_NOW is set in the worker's environment; which files it binds could not be read"
    if not lazy:
        return False, "the program and all that is mapped bind their functions at once anyway"
    return True, f"{len(lazy)} mapped files would bind later ({lazy[0].rpartition('/')[2]}, …); whether a function was left shows nowhere"
