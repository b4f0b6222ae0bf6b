"""Other people's numbers of workers, to stand beside ours. Memory in KiB, times in seconds, cores
as a fraction allows."""

import math
from typing import Literal

from msgspec import Struct

CORES_TIMES = 2
PLATFORM_PER_CPU = 5

FormulaKey = Literal["cores2", "goetz", "rss", "pss", "platform", "heroku"]


class Facts(Struct, frozen=True):
    """What formulas are made of; None for what is not known (it is not guessed).

    `wait_s`: what a request waits for the database, the network or by sleeping; `service_s`: what
    it uses a core. `rss_kib`, `pss_kib`: of a median worker under load. `request_kib`: memory that
    a request takes, `memory_limit_kib`: php.ini's (None where it is unlimited). `reserve_kib`: what
    is left for others.
    """

    cores: float | None = None
    wait_s: float | None = None
    service_s: float | None = None
    ram_kib: float | None = None
    reserve_kib: float = 0.0
    rss_kib: float | None = None
    pss_kib: float | None = None
    request_kib: float | None = None
    memory_limit_kib: float | None = None


class Recommendation(Struct, frozen=True):
    """A formula of somebody else's: whose, in words, and its number of workers, or why there is
    none.

    `source` says where it is published.
    """

    key: FormulaKey
    name: str
    formula: str
    workers: int | None
    why_not: str
    source: str


def recommendations(facts: Facts) -> tuple[Recommendation, ...]:
    """All of them, always in the same order. Raises ValueError: a fact that is negative or not
    finite."""
    given = {name: getattr(facts, name) for name in Facts.__struct_fields__}
    for name, value in given.items():
        if value is not None and not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name} must be finite and not negative, not {value}")
    ram = None if facts.ram_kib is None else facts.ram_kib - facts.reserve_kib
    return (
        _made(
            "cores2",
            "cores × 2",
            "cores × 2",
            None if facts.cores is None else facts.cores * CORES_TIMES,
            _missing({"the number of cores": facts.cores}),
            "Saito, php-fpm worker tuning, 2017",
        ),
        _made(
            "goetz",
            "Goetz",
            "cores × (1 + waiting time / service time)",
            _goetz(facts),
            _missing({"the number of cores": facts.cores, "the waiting time": facts.wait_s}, {"the service time": facts.service_s}),
            "Goetz, Java Concurrency in Practice, 2006, 8.2",
        ),
        _made(
            "rss",
            "RAM / RSS",
            "RAM / RSS of a worker",
            _over(facts.ram_kib, facts.rss_kib),
            _missing({"the RAM": facts.ram_kib}, {"a worker's RSS": facts.rss_kib}),
            "common advice; counts shared memory once for each worker",
        ),
        _made(
            "pss",
            "RAM / PSS",
            "(RAM − reserve) / PSS of a worker",
            _over(ram, facts.pss_kib),
            _missing({"the RAM": facts.ram_kib}, {"a worker's PSS": facts.pss_kib}),
            "common advice",
        ),
        _made(
            "platform",
            "Platform.sh",
            f"the smaller of (RAM − reserve) / memory of a request and {PLATFORM_PER_CPU} × cores",
            _platform(ram, facts),
            _missing({"the RAM": facts.ram_kib, "the number of cores": facts.cores}, {"a request's memory": facts.request_kib}),
            "Platform.sh documentation, PHP-FPM sizing",
        ),
        _made(
            "heroku",
            "Heroku",
            "memory limit / PHP's memory_limit",
            _over(facts.ram_kib, facts.memory_limit_kib),
            _missing({"the memory limit": facts.ram_kib}, {"PHP's memory_limit": facts.memory_limit_kib}),
            "Heroku Dev Center, PHP application concurrency",
        ),
    )


def _made(key: FormulaKey, name: str, formula: str, value: float | None, why_not: str, source: str) -> Recommendation:  # noqa: PLR0917
    return Recommendation(key, name, formula, None if value is None else max(1, math.floor(value + 1e-9)), why_not, source)


def _missing(known: dict[str, float | None], divisors: dict[str, float | None] | None = None) -> str:
    """Why there is no number: what is not known, or what nothing can be divided by; empty where
    there is one."""
    every = known | (divisors or {})
    unknown = [what for what, value in every.items() if value is None]
    if unknown:
        return f"{' and '.join(unknown)} {'is' if len(unknown) == 1 else 'are'} not known"
    zero = [what for what, value in (divisors or {}).items() if value == 0.0]
    return f"{zero[0]} is 0" if zero else ""


def _goetz(facts: Facts) -> float | None:
    if facts.cores is None or facts.wait_s is None or not facts.service_s:
        return None
    return facts.cores * (1.0 + facts.wait_s / facts.service_s)


def _over(memory: float | None, each: float | None) -> float | None:
    return None if memory is None or not each else memory / each


def _platform(ram: float | None, facts: Facts) -> float | None:
    by_memory = _over(ram, facts.request_kib)
    return None if by_memory is None or facts.cores is None else min(math.floor(by_memory), PLATFORM_PER_CPU * facts.cores)
