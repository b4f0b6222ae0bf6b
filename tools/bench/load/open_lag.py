"""Our generator's own lag in an open loop: how late it sends what it could have sent."""

import random
import statistics

from tools.bench.figures import Figure, Target, median_figure
from tools.bench.load.generator import Lag, OpenOrder, Ours
from tools.bench.results import Missing, Say, Sizes

SATURATING = 50
"""Requests in flight of the closed loop that finds saturation, and connections of the open one."""
OF_SATURATION = 0.7
PUNCTUAL = Target("p99 ≤ 200 µs", at_most=200.0)


def measure_lag(ours: Ours, sizes: Sizes, chance: random.Random, say: Say, *, own_core: bool) -> Figure:
    """The 99th percentile of the lag at 70 % of saturation, slot by slot. Raises Missing where the
    generator has no core of its own.

    Each slot has the saturation that a closed loop finds right before it, so that a host that slows
    down does not raise the share.
    """
    if not own_core:
        raise Missing("with one core our generator has none of its own")
    say(f"lag in an open loop: {sizes.open_slots} slots of {sizes.open_slot_s:g} s")
    requests = ours.size_for("hello", seconds=sizes.slot_s, concurrency=SATURATING)
    saturations: list[float] = []
    lags: list[Lag] = []
    for _ in range(sizes.open_slots):
        saturations.append(ours.drive("hello", requests=requests, concurrency=SATURATING).per_s)
        rate = OF_SATURATION * saturations[-1]
        lags.append(ours.drive_open(OpenOrder("hello", rate, sizes.open_slot_s, SATURATING, chance.getrandbits(32))))
    return lag_figure(saturations, lags, sizes.open_slot_s)


def lag_figure(saturations: list[float], lags: list[Lag], slot_s: float) -> Figure:
    """The median of the slots' 99th percentiles, microseconds; the worst of them in words.

    All slots count. What the hypervisor took is told: it is lag that no generator can avoid.
    """
    total = sum(lag.requests for lag in lags)
    detail = (
        f"the worst slot {max(lag.lag_p99_ns for lag in lags) / 1e3:.1f} µs; "
        f"{statistics.median(lag.requests for lag in lags) / slot_s:.0f} of {statistics.median(saturations):.0f} requests per second; "
        f"p99 of the response time {statistics.median(lag.response_p99_ns for lag in lags) / 1e6:.1f} ms; "
        f"{sum(lag.queued for lag in lags)} of {total} requests had to wait for one of {SATURATING} connections; "
        f"the hypervisor took {100 * statistics.median(lag.stolen for lag in lags):.1f} % of the generator's core"
    )
    name = f"lag of our generator, p99 of a slot: open loop, Poisson, {100 * OF_SATURATION:.0f} % of saturation, hello through nginx"
    return median_figure(name, [lag.lag_p99_ns / 1e3 for lag in lags], unit="µs", target=PUNCTUAL, detail=detail)
