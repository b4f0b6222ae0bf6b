"""php-fpm's pool: how many workers there are, and how many connections wait for them."""

from typing import Any

from phpdyno.knobs import proof, proof_servers
from phpdyno.knobs.domain import DURATION, Domain, choice, integer
from phpdyno.knobs.knob import Cost, Knob
from phpdyno.knobs.proof import Proof
from phpdyno.model.facts import HostFacts, WorkerFacts

MANUAL = "PHP manual: FastCGI Process Manager, Configuration"
ACCEPTED = "php-fpm accepts it; nothing in a worker shows it"
OF_DYNAMIC = "it means something to pm=dynamic only, and Debian's numbers are taken with that"
WORKER = "what a worker takes, times their number"


def _pool(name: str, domain: Domain, apply: Cost = "reload", seen_by: Proof = proof.accepted, **more: Any) -> Knob:
    options = {"seen": ACCEPTED, "reference": MANUAL, **more}
    return Knob(f"pool.{name}", domain, apply, seen_by, metric="throughput", **options)


def worker_counts(facts: WorkerFacts, host: HostFacts) -> tuple[str, ...]:
    """One, two and four workers per measured core."""
    cores = max(1, len(host.measured_cores))
    return tuple(str(cores * each) for each in (2, 4, 1))


POOL = (
    _pool(
        "pm",
        choice("static", "dynamic", "ondemand"),
        seen_by=proof_servers.process_manager,
        seen="the pool's status page names it",
        default="static",
        tries=("static", "dynamic", "ondemand"),
        price=WORKER,
    ),
    _pool(
        "pm.max_children",
        integer(1, 10_000),
        seen_by=proof_servers.worker_count,
        seen="as many workers run (static; one may be on its way), or no more",
        risk="workers that do not fit into memory bring the host down",
        tries=worker_counts,
        price=WORKER,
    ),
    _pool("pm.start_servers", integer(1, 10_000), untried=OF_DYNAMIC, price=WORKER),
    _pool("pm.min_spare_servers", integer(1, 10_000), untried=OF_DYNAMIC, price=WORKER),
    _pool("pm.max_spare_servers", integer(1, 10_000), untried=OF_DYNAMIC, price=WORKER),
    _pool("pm.process_idle_timeout", DURATION, default="10s", untried="under steady load no worker is idle for as long"),
    _pool(
        "pm.max_requests",
        integer(0, 1 << 31),
        default="0",
        untried="it is a cure for leaks, not a gain: a new worker starts with cold caches of its own",
    ),
    _pool(
        "listen.backlog",
        integer(-1, 65_535),
        "restart",
        proof_servers.backlog,
        seen="as many connections may wait at the pool's socket, or as net.core.somaxconn lets",
        default="511",
        untried="it decides what happens beyond saturation, where requests are refused; tune measures below that",
    ),
)
