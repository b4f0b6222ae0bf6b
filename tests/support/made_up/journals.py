"""Synthetic journals: plausible numbers that nobody measured, from a seed. The host's name says so
in every report made of them."""

import math

import numpy as np
from msgspec import structs

from phpdyno.journal.records import (
    SCHEMA,
    Answers,
    BlockDone,
    Calibrated,
    Concluded,
    Ended,
    Header,
    Incident,
    Planned,
    Preflight,
    Proved,
    ReachedFor,
    Record,
    TargetAnswer,
)
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.facts import HostFacts, WorkerFacts
from phpdyno.model.inside.reach import Connection, Lookup, Program, Reached, Write
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import MAX_LAG_OF_CPU, Plan
from phpdyno.model.verdict import ProofOutcome, Verdict
from phpdyno.model.workload import Target, Workload
from phpdyno.stats.comparison.conclusion import conclude

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0-synthetic", build_id="5e17de71c0ffee00")
REQUESTS = 120


def arm(name: str, *, php: PhpBuild = PHP, **changed: str) -> Arm:
    """A treatment; underscores of the keywords stand for dots (`ini__opcache_jit` is
    `ini.opcache_jit`)."""
    settings = {key.replace("__", "."): value for key, value in changed.items()}
    return Arm(name, php, settings, settings)


CONTROL = arm("control")
AA = arm("control again")


def tuned(spec: str) -> Arm:
    """A treatment as the command line says it:
    `ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M`."""
    settings = dict(part.split("=", 1) for part in spec.split(";"))
    return Arm(spec, PHP, settings, settings)


def plan(*treatments: Arm, margin: float = 0.01, seed: int = 7, targets: tuple[Target, ...] = (Target("/"),)) -> Plan:
    made = Plan("wordpress", "6.1-synthetic", Workload(targets, "synthetic.test"), CONTROL, treatments, margin=margin, seed=seed)
    return structs.replace(made, max_lag_of_cpu=MAX_LAG_OF_CPU)


def header(*argv: str) -> Header:
    return Header(SCHEMA, "0.1.0", "compare", "2026-01-02T03:04:05+00:00", ("phpdyno", "compare", "wordpress", *argv))


def preflight(*warnings: str) -> Preflight:
    host = HostFacts(
        kernel="6.0.0-synthetic",
        cpu_model="Synthetic CPU 9000",
        cores=2,
        memory_kib=8 * 2**20,
        clock_source="tsc",
        governor="performance",
        thp="madvise",
        hugetlb_pages=0,
        load_1min=0.1,
        steal_fraction=0.0025,
        cpu_source="cgroup v2",
        measured_cores=(1,),
        helper_cores=(0,),
        versions={"php (/usr/sbin/php-fpm8.2)": "8.2.0-synthetic", "nginx": "nginx/1.22.0", "mariadb": "10.11.0"},
    )
    return Preflight(host, warnings)


def answers(name: str, *, equal: bool = True, detail: str = "2 targets agree") -> Answers:
    return Answers(name, equal, detail, (TargetAnswer("/", 200, 41_000, 0.004, "body"),))


def proved(of: Arm, *, works: bool = True, detail: str = "seen in the running worker") -> Proved:
    facts = WorkerFacts(4242, of.php.version, of.php.fpm, of.php.build_id, "", "unix", 1, {}, {}, (), 0, 0, 0)
    return Proved(of.name, facts, tuple(ProofOutcome(knob, value, works, detail) for knob, value in of.changed.items()))


def cost(php_ms: float, requests: int = REQUESTS, *, web_ms: float = 0.09, database_ms: float = 1.4) -> Cost:
    """Totals of one arm in a block from its CPU milliseconds per request."""
    total_ms = php_ms + web_ms + database_ms
    return Cost(
        requests=requests,
        php_cpu_ns=round(php_ms * requests * 1e6),
        web_cpu_ns=round(web_ms * requests * 1e6),
        database_cpu_ns=round(database_ms * requests * 1e6),
        host_cpu_ns=round(1.08 * total_ms * requests * 1e6),
        wall_ns=round(1.1 * total_ms * requests * 1e6),
        service_p50_ns=round(1.05 * total_ms * 1e6),
        service_p99_ns=round(1.6 * total_ms * 1e6),
        drive_ns=round(1.06 * total_ms * requests * 1e6),
    )


def blocks(
    effects: dict[str, float], number: int, *, sigma: float = 0.01, seed: int = 1, first: int = 0, stolen: int = -1
) -> list[BlockDone]:
    """`number` blocks in which every treatment's true ratio is `effects[name]`; block `stolen` is
    excluded for steal."""
    rng = np.random.default_rng([seed, first])
    made = []
    for block in range(first, first + number):
        base_ms = 21.0 * math.exp(0.04 * math.sin(block / 5) + rng.normal(0, 0.01))
        stole = block == stolen
        seen = []
        for name, effect in effects.items():
            control_ms = base_ms * math.exp(rng.normal(0, 0.003)) * (1.3 if stole else 1.0)
            log_ratio = math.log(effect) + rng.normal(0, sigma)
            seen.append(
                Observation(
                    treatment=name,
                    block=block,
                    log_ratio=log_ratio,
                    clipped_log_ratio=log_ratio + rng.normal(0, sigma / 10),
                    pair_sigma=0.08,
                    pairs=REQUESTS,
                    control=cost(control_ms),
                    treated=cost(control_ms / math.exp(log_ratio)),
                    steal_fraction=0.21 if stole else 0.002,
                    lag_fraction=0.01,
                    excluded="steal 21.0%" if stole else "",
                )
            )
        made.append(BlockDone(block, 12.0 + 5.0 * block, 16.5 + 5.0 * block, tuple(seen), f"samples/block-{block:04}.npz"))
    return made


def paid_by_the_database(done: list[BlockDone], factor: int = 3) -> list[BlockDone]:
    """The same blocks in which the treatments keep the database busy so many times as long."""
    made = []
    for block in done:
        dearer = [structs.replace(each.treated, database_cpu_ns=factor * each.treated.database_cpu_ns) for each in block.observations]
        seen = tuple(structs.replace(each, treated=cost) for each, cost in zip(block.observations, dearer, strict=True))
        made.append(structs.replace(block, observations=seen))
    return made


def opening(made: Plan, *warnings: str, argv: tuple[str, ...] = ()) -> list[Record]:
    """Everything before the first block, with every proof and every answer as it should be."""
    arms = (made.control, *made.treatments)
    return [
        header(*argv),
        Planned(made),
        preflight(*warnings),
        *(answers(each.name) for each in arms),
        *(proved(each) for each in arms),
        Calibrated(
            1,
            23_500_000,
            21_000_000,
            {each.name: 30 for each in made.treatments},
            4.5,
            0.5,
            "1 request(s) per slot, blocks of about 4.5 s + 0.5 s",
        ),
    ]


def conclusion(made: Plan, done: list[BlockDone], of: Arm, *, reason: str = "", mixture: float | None = None) -> Concluded:
    """The verdict that the runner would write."""
    seen = [each for block in done for each in block.observations]
    proofs = proved(of).proofs
    metric = made.metric_of(of.name)
    margin = made.margin_of(of.name)
    return Concluded(conclude(of.name, seen, alpha=made.alpha, margin=margin, mixture=mixture, metric=metric, reason=reason, proofs=proofs))


JIT = tuned("ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M")
OPCACHE_OFF = tuned("ini.opcache.enable=0")
TIMESTAMPS = tuned("ini.opcache.validate_timestamps=0")
PRELOAD = tuned("ini.opcache.preload=/srv/app/preload.php")
HUGE = tuned("env.USE_ZEND_ALLOC_HUGE_PAGES=1")


REACHED = Reached(
    4,
    (
        Connection("api.stripe.com", 443, "", "inet", "tcp", "unreachable", "ENETUNREACH", 12),
        Connection("127.0.0.1", 6379, "", "inet", "tcp", "refused", "ECONNREFUSED", 4),
    ),
    (Lookup("api.shop.example", 4, resolved=False),),
    (Program("sendmail", mail=True, error="", calls=2),),
    (Write("/tmp/x", "written", "", 4),),
)


def with_services(done: list[BlockDone], **ms: float) -> list[BlockDone]:
    """The same blocks in which each service took so many milliseconds a request, under the
    treatments twice as many."""

    def served(held: Cost, factor: int) -> Cost:
        return structs.replace(held, services_cpu_ns={name: round(factor * each * held.requests * 1e6) for name, each in ms.items()})

    made = []
    for block in done:
        seen = (structs.replace(each, control=served(each.control, 1), treated=served(each.treated, 2)) for each in block.observations)
        made.append(structs.replace(block, observations=tuple(seen)))
    return made


def reaching(found: ReachedFor | None = None) -> list[Record]:
    """An app of a user's, with two services of its own, that reached for something; `found`: for
    this."""
    start = opening(plan(JIT))
    done = with_services(blocks({JIT.name: 1.07}, 12), cache=0.12, search=1.5)
    return [*start[:3], found or ReachedFor(REACHED), *start[3:], *done, Ended("finished", "", 61.0)]


NOT_EFFECTIVE = Verdict(
    HUGE.name,
    "invalid",
    proofs=(ProofOutcome("env.USE_ZEND_ALLOC_HUGE_PAGES", "1", proved=False, detail="AnonHugePages: 0 KiB"),),
    reason="env.USE_ZEND_ALLOC_HUGE_PAGES=1 is not effective: AnonHugePages: 0 KiB",
)


def finished() -> list[Record]:
    """A whole run: A/A, an improvement, a disaster, no effect, an undecided one, an invalid one; a
    lost and an excluded block."""
    treatments = (AA, JIT, OPCACHE_OFF, TIMESTAMPS, PRELOAD, HUGE)
    made = plan(*treatments, targets=(Target("/", 3.0), Target("/?p=1", 1.0, answers="status")))
    effects = {AA.name: 1.0, JIT.name: 1.073, OPCACHE_OFF.name: 0.212, TIMESTAMPS.name: 1.001, PRELOAD.name: 1.016}
    done = blocks(effects, 40, stolen=17)
    reasons = {PRELOAD.name: "budget spent"}
    verdicts = [conclusion(made, done, each, reason=reasons.get(each.name, "")) for each in treatments[:-1]]
    return [
        *opening(made, "load average 1.4: something else is running", argv=("--treatment", JIT.name, "--seed", "7")),
        *done[:20],
        Incident(20, JIT.name, "lost block", "a worker exited with signal 11; the block was started again"),
        *done[20:],
        *verdicts,
        Concluded(NOT_EFFECTIVE),
        Ended("finished", "", 214.4),
    ]
