"""Synthetic journals of the whole protocol: both metrics, a calibration, carry-over. Plausible
numbers that nobody measured."""

import math

import numpy as np
from msgspec import structs

from phpdyno.journal.records import AllanPoint, BlockDone, Calibrated, CarriedOver, Ended, Planned, Record
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import AppSource, Metric, Plan
from phpdyno.model.workload import OPERATION_DONE, Target, Workload
from tests.support.made_up.journals import CONTROL, JIT, TIMESTAMPS, blocks, conclusion, cost, opening, plan, tuned

STATIC = tuned("pool.pm=static;pool.pm.max_children=10")
TCP = tuned("web.socket=tcp")
LOADED = structs.replace(CONTROL, name="control under load", settings={"pool.pm.max_children": "10"})


def loaded_cost(per_s: float, requests: int = 4000, *, failed: int = 0) -> Cost:
    """Totals of one arm in a block under load from its valid requests per second."""
    valid = requests - failed
    return structs.replace(
        cost(1.1, valid, web_ms=0.31, database_ms=0.02),
        requests=requests,
        service_p50_ns=round(9.2e9 / per_s),
        service_p99_ns=round(21e9 / per_s),
        failed=failed,
        drive_ns=round(valid / per_s * 1e9),
        kinds={"wrong_status (502)": failed - failed // 4, "timed_out": failed // 4} if failed else {},
    )


def aa_blocks(number: int, *, sigma: float = 0.006, seed: int = 5) -> tuple[Observation, ...]:
    """A/A blocks of a calibration: the control twice."""
    return tuple(block.observations[0] for block in blocks({"control": 1.0}, number, sigma=sigma, seed=seed))


def loaded_blocks(
    effects: dict[str, float], number: int, *, sigma: float = 0.02, first: int = 0, failing: dict[str, int] | None = None
) -> list[BlockDone]:
    """Blocks of throughput: ratios of requests per second, treatment / control; `failing` requests
    of an arm fail in each."""
    rng = np.random.default_rng([11, first])
    made = []
    for block in range(first, first + number):
        seen = []
        for name, effect in effects.items():
            per_s = 880.0 * math.exp(rng.normal(0, 0.03))
            log_ratio = math.log(effect) + rng.normal(0, sigma)
            seen.append(
                Observation(
                    treatment=name,
                    block=block,
                    log_ratio=log_ratio,
                    clipped_log_ratio=log_ratio,
                    pair_sigma=0.05,
                    pairs=20,
                    control=loaded_cost(per_s),
                    treated=loaded_cost(per_s * math.exp(log_ratio), failed=(failing or {}).get(name, 0)),
                    steal_fraction=0.004 + 0.002 * (block % 3),
                    lag_fraction=0.02 + 0.01 * (block % 4),
                )
            )
        made.append(BlockDone(block, 12.0 + 5.0 * block, 16.5 + 5.0 * block, tuple(seen), f"samples/block-{block:04}.npz"))
    return made


def calibrated(made: Plan, metric: Metric = "cpu", *, aa: int = 8, slot: int = 1) -> Calibrated:
    """A whole calibration of one metric: Allan curve, A/A blocks, forecast."""
    names = [each.name for each in made.treatments if made.metric_of(each.name) == metric]
    allan = tuple(
        AllanPoint(length, 0.0235 * length, 0.047 * length**-0.28, 2 * (0.047 * length**-0.28) ** 2 * (2 * 0.0235 * length + 0.002))
        for length in (1, 2, 4, 8, 16, 32)
    )
    return Calibrated(
        slot,
        23_500_000,
        21_000_000,
        dict.fromkeys(names, 30),
        4.5,
        0.5,
        f"{slot} request(s) per slot, blocks of about 4.5 s + 0.5 s",
        metric=metric,
        sigma_pair=0.066,
        sigma_start=0.005,
        sigma_block=0.0139,
        mixture=0.5,
        blocks=42,
        decidable=0.0088,
        eta_s=170.0,
        alive=3 if metric == "cpu" else 1,
        took_s=21.0,
        allan=allan if metric == "cpu" else (),
        aa=aa_blocks(aa) if metric == "cpu" else tuple(map(_under_load, aa_blocks(aa))),
    )


def _under_load(seen: Observation) -> Observation:
    """The same, of arms that are loaded."""
    return structs.replace(seen, control=loaded_cost(880.0), treated=loaded_cost(880.0))


def carried(name: str, slot: int, effect: float, number: int, *, sigma: float = 0.008) -> list[CarriedOver]:
    """One treatment's effect at another slot length in the first blocks."""
    rng = np.random.default_rng([3, slot])
    return [CarriedOver(block, name, slot, math.log(effect) + rng.normal(0, sigma), 12) for block in range(number)]


def full() -> list[Record]:
    """A run by the whole protocol: CPU and throughput rows, calibration of both, carry-over with a
    difference, failed requests."""
    cpu, loaded = (JIT, TIMESTAMPS), (STATIC, TCP)
    throughput: Metric = "throughput"
    made = structs.replace(
        plan(*cpu, *loaded), metrics={each.name: throughput for each in loaded}, loaded_control=LOADED, loaded_concurrency=10
    )
    first = blocks({JIT.name: 1.073, TIMESTAMPS.name: 1.001}, 24, stolen=9)
    second = loaded_blocks({STATIC.name: 1.11, TCP.name: 0.95}, 24, failing={TCP.name: 8})
    start = [record for record in opening(made) if not isinstance(record, Calibrated)]
    mixtures = {each.name: calibrated(made, made.metric_of(each.name)).mixture for each in made.treatments}
    return [
        *start,
        calibrated(made),
        calibrated(made, "throughput", aa=2, slot=200),
        *(structs.replace(one, observations=one.observations + two.observations) for one, two in zip(first, second, strict=True)),
        *carried(JIT.name, 20, 1.11, 12),
        *carried(TIMESTAMPS.name, 20, 1.002, 5),
        *(conclusion(made, [*first, *second], each, mixture=mixtures[each.name]) for each in made.treatments),
        Ended("finished", "", 171.0),
    ]


def of_a_script(records: list[Record]) -> list[Record]:
    """The same run, had it been one of a script with two operations."""
    operations = (Target("parse", 3.0, status=OPERATION_DONE), Target("render", 1.0, status=OPERATION_DONE))
    source = AppSource(script="/srv/jobs/bench.php")
    changed = {"app": "bench", "workload": Workload(operations), "transport": "script", "source": source}

    def changed_in(record: Record) -> Record:
        match record:
            case Planned(made):
                return Planned(structs.replace(made, **changed))
            case Calibrated(note=note):
                return structs.replace(record, note=note.replace("request(s)", "operation(s)"))
            case _:
                return record

    return [changed_in(record) for record in records]


def script() -> list[Record]:
    """A run of a script: CPU per operation, a calibration, carry-over with a difference."""
    made = plan(JIT, TIMESTAMPS)
    done = blocks({JIT.name: 1.073, TIMESTAMPS.name: 1.001}, 24)
    start = [record for record in opening(made) if not isinstance(record, Calibrated)]
    mixture = calibrated(made).mixture
    verdicts = [conclusion(made, done, each, mixture=mixture) for each in made.treatments]
    return of_a_script([*start, calibrated(made), *done, *carried(JIT.name, 20, 1.11, 12), *verdicts, Ended("finished", "", 171.0)])
