"""The simulation against closed forms. Seeded: nothing here depends on luck or on the machine."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from phpdyno.stats.capacity.curve import Curve, CurvePoint, curve_of
from phpdyno.stats.capacity.idle import IdleCost
from phpdyno.stats.capacity.queueing.flow_equivalent import open_queue
from phpdyno.stats.capacity.queueing.offered import Offered, offered_by
from phpdyno.stats.capacity.queueing.replications import length_of
from phpdyno.stats.capacity.queueing.simulation import Assessment, assess
from phpdyno.stats.capacity.queueing.work import Work, work_of

MEAN_NS = 10_000_000
EXPONENTIAL = work_of(-np.log((np.arange(20_000) + 0.5) / 20_000) * MEAN_NS)
FIXED = work_of([MEAN_NS])
HEAVY = work_of([2_000_000, 82_000_000], [9, 1])
"""Mean 10 ms, squared variation 5.76."""
ONE = curve_of([1], [100.0])
CORE = curve_of([1, 2, 64], [100.0, 100.0, 100.0])
SLEEPING = curve_of([1, 64], [100.0, 6400.0])


def holds(found: Assessment, truth: float) -> bool:
    return found.p99_low_s <= truth <= found.p99_high_s


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_m_m_1(load: float) -> None:
    """The response time is exponential with mean 1 / (mu - lambda)."""
    found = assess(ONE, EXPONENTIAL, Offered(100.0 * load), 1, seed=1)
    mean = 1.0 / (100.0 - 100.0 * load)
    assert found.p99_s == pytest.approx(mean * math.log(100), rel=0.05)
    assert found.p50_s == pytest.approx(mean * math.log(2), rel=0.04)
    assert found.p95_s == pytest.approx(mean * math.log(20), rel=0.04)
    assert found.mean_s == pytest.approx(mean, rel=0.04)
    assert found.waits == pytest.approx(load, rel=0.02)
    assert holds(found, mean * math.log(100))
    assert found.load == pytest.approx(load)
    assert found.stretch == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("workers", "load"), [(4, 0.8), (16, 0.9)])
def test_m_m_c(workers: int, load: float) -> None:
    mu, rate = 100.0, 100.0 * workers * load
    queue = open_queue(SLEEPING.rates_per_s(workers), rate)
    drain = workers * mu - rate

    def beyond(t: float) -> float:
        """P(wait + service > t), the wait being 0 or exponential with the rate of the full pool's
        surplus."""
        mixed = (drain * math.exp(-mu * t) - mu * math.exp(-drain * t)) / (drain - mu)
        return (1.0 - queue.waits) * math.exp(-mu * t) + queue.waits * mixed

    found = assess(SLEEPING, EXPONENTIAL, Offered(rate), workers, seed=2)
    truth = brentq(lambda t: beyond(t) - 0.01, 1e-6, 10.0)
    assert found.p99_s == pytest.approx(truth, rel=0.03)
    assert holds(found, truth)
    assert found.waits == pytest.approx(queue.waits, rel=0.05)
    assert found.mean_s == pytest.approx(queue.response_s, rel=0.03)


@pytest.mark.parametrize("work", [EXPONENTIAL, FIXED, HEAVY])
def test_shared_cores_have_the_same_mean_for_any_work(work: Work) -> None:
    """M/G/1 with processor sharing: mean response E[S] / (1 - load), whatever the distribution."""
    found = assess(CORE, work, Offered(70.0), 300, seed=3)
    assert found.mean_s == pytest.approx(work.mean_s / 0.3, rel=0.04)
    assert found.waits < 1e-3


def test_m_d_1() -> None:
    """Pollaczek and Khinchine: the wait is half that of M/M/1."""
    found = assess(ONE, FIXED, Offered(80.0), 1, seed=4)
    assert found.mean_s == pytest.approx(0.01 + 0.8 * 0.01 / (2 * 0.2), rel=0.03)


def test_m_g_1() -> None:
    found = assess(ONE, HEAVY, Offered(60.0), 1, seed=5)
    assert found.mean_s == pytest.approx(0.01 + 0.6 * 0.01 * (1 + HEAVY.cv2) / (2 * 0.4), rel=0.06)


def test_full_cores_a_queue_before_few_is_better_than_sharing_for_equal_work() -> None:
    """Why more workers do not always lower the percentile, and why the search tries each size."""
    few, many = (assess(CORE, FIXED, Offered(80.0), workers, seed=6) for workers in (1, 40))
    assert few.p99_s < 0.9 * many.p99_s


def test_a_backlog_that_is_full_refuses() -> None:
    found = assess(ONE, EXPONENTIAL, Offered(90.0), 1, backlog=4, seed=7)
    queue = open_queue([100.0], 90.0, backlog=4)
    assert found.refused == pytest.approx(queue.refused, rel=0.05)
    assert found.mean_s == pytest.approx(queue.response_s, rel=0.03)
    assert found.p99_s == math.inf  # more than 1 % get no answer
    assert not found.passes(1e9)
    assert math.isfinite(assess(ONE, EXPONENTIAL, Offered(50.0), 1, backlog=12, seed=7).p99_s)


def test_more_than_it_can_do_has_no_percentile() -> None:
    found = assess(ONE, EXPONENTIAL, Offered(100.0), 1)
    assert found.p99_s == found.p99_high_s == math.inf
    assert not found.passes(1e9)
    full = assess(ONE, EXPONENTIAL, Offered(130.0), 1, backlog=10, quick=True)
    assert full.refused == pytest.approx(1 - 1 / 1.3, abs=0.03)
    assert not full.settled


def test_too_near_to_what_it_can_do_is_never_certain() -> None:
    rare = work_of([1_000_000, 10_000_000_000], [9999, 1])
    found = assess(SLEEPING, rare, Offered(1700.0), 32, quick=True)
    assert found.sigma_simulated < 1e-6
    assert not found.settled
    assert found.p99_high_s == math.inf


def test_unsure_rates_widen_the_interval_as_the_formula_says() -> None:
    """M/M/1: ln p99 = const - ln(mu - lambda), so its standard error is mu / (mu - lambda) times
    that of ln mu."""
    sigma = 0.02
    spread = math.exp(1.959964 * sigma)
    unsure = Curve((CurvePoint(1, 100.0, 100.0 / spread, 100.0 * spread),))
    found = assess(unsure, EXPONENTIAL, Offered(70.0), 1, seed=8)
    assert found.sigma_rates == pytest.approx(sigma / 0.3, rel=0.4)
    sure = assess(ONE, EXPONENTIAL, Offered(70.0), 1, seed=8)
    assert sure.p99_s == found.p99_s
    assert sure.sigma_rates == 0.0
    assert found.p99_high_s > 1.1 * sure.p99_high_s
    assert sure.passes(sure.p99_high_s)
    assert not found.passes(sure.p99_high_s)


def test_rates_that_may_be_too_low_leave_the_upper_end_open() -> None:
    unsure = Curve((CurvePoint(1, 100.0, 65.0, 154.0),))
    found = assess(unsure, EXPONENTIAL, Offered(70.0), 1, seed=9)
    assert math.isfinite(found.p99_s)
    assert found.p99_high_s == math.inf
    assert assess(ONE, EXPONENTIAL, Offered(70.0), 1, seed=9).p99_high_s < math.inf


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    truth = math.log(100) / 30.0
    held = sum(holds(assess(ONE, EXPONENTIAL, Offered(70.0), 1, seed=seed, quick=True), truth) for seed in range(200))
    assert 0.90 <= held / 200 <= 0.99


def test_a_seed_gives_the_same_again() -> None:
    first, again, other = (assess(CORE, HEAVY, Offered(50.0), 3, seed=seed, quick=True) for seed in (1, 1, 2))
    assert first == again
    assert first.p99_s != other.p99_s


def test_bursts_cost_more_than_the_same_rate_at_random() -> None:
    bursts = offered_by([0.0] * 9 + [0.2])
    assert bursts.rate_per_s == pytest.approx(50.0)
    assert assess(ONE, EXPONENTIAL, bursts, 1, seed=1).p99_s > 1.3 * assess(ONE, EXPONENTIAL, Offered(50.0), 1, seed=1).p99_s


def test_the_percentile_grows_with_the_load() -> None:
    curve = curve_of([1, 2, 4, 8], [100.0, 190.0, 300.0, 310.0])
    found = [assess(curve, HEAVY, Offered(rate), 6, seed=2, quick=True).p99_s for rate in (60, 120, 180, 240, 290)]
    assert found == sorted(found)


def test_sleeping_requests_are_not_stretched_by_full_cores() -> None:
    """5 ms of CPU after nothing or a sleep of 90 ms: company slows the CPU down, not the sleep; the
    throughput stays the measured one."""
    times, curve = ([5_000_000, 95_000_000], [9, 1]), curve_of([1, 4, 16], [1 / 0.014, 190.0, 200.0])
    together, apart = (work_of(*times, slowed_s=slowed) for slowed in (math.inf, 0.005))
    stretched, real = (assess(curve, work, Offered(150.0), 16, seed=1) for work in (together, apart))
    assert stretched.p95_s > 1.8 * 0.095
    assert 0.095 < real.p95_s < 0.15
    queue = open_queue(curve.rates_per_s(16), 150.0)
    for found in (stretched, real):
        assert found.mean_s == pytest.approx(queue.response_s, rel=0.1)


def test_times_are_stretched_to_the_measured_rates() -> None:
    """The times say 10 ms, one request at a time 80 per second: what the generator lost is in the
    rate, and the rate is believed."""
    found = assess(curve_of([1], [80.0]), FIXED, Offered(8.0), 1, seed=1, quick=True)
    assert found.stretch == pytest.approx(0.8)
    assert found.p50_s == pytest.approx(0.0125)


def test_idle_workers_make_requests_slower() -> None:
    idle = IdleCost(0.2, 1.0, 0.01, 0.18, 0.22, 8)
    assert assess(SLEEPING, FIXED, Offered(100.0), 40, idle=idle, seed=1).p50_s > 1.3 * FIXED.mean_s
    assert assess(SLEEPING, FIXED, Offered(100.0), 100, seed=1).beyond


def test_how_long_a_run_is_follows_the_load() -> None:
    assert length_of(0.5, 1.0).counted == 8_000
    assert length_of(0.95, 1.0).counted > 14_000
    assert length_of(0.95, 5.0).counted > 40_000
    assert not length_of(0.99, 1.0).settled
    assert not length_of(1.0, 1.0).settled
    with pytest.raises(ValueError, match="at least one"):
        assess(ONE, FIXED, Offered(1.0), 0)
