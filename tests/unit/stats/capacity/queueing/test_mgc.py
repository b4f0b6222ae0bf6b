import math

import numpy as np
import pytest

from phpdyno.stats.capacity.curve import curve_of
from phpdyno.stats.capacity.queueing.flow_equivalent import open_queue
from phpdyno.stats.capacity.queueing.mgc import erlang_c, mgc
from phpdyno.stats.capacity.queueing.offered import Offered
from phpdyno.stats.capacity.queueing.simulation import assess
from phpdyno.stats.capacity.queueing.work import work_of

EXPONENTIAL = work_of(-np.log((np.arange(20_000) + 0.5) / 20_000) * 10_000_000)
FIXED = work_of([10_000_000])
HEAVY = work_of([2_000_000, 82_000_000], [9, 1])


def test_tables_of_erlang_c() -> None:
    assert erlang_c(1, 0.8) == pytest.approx(0.8)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.40918, abs=5e-6)
    assert erlang_c(3, 0.0) == 0.0
    assert erlang_c(3, 3.0) == 1.0
    assert erlang_c(5000, 4950.0) == pytest.approx(open_queue(np.arange(1, 5001), 4950.0).waits, rel=1e-9)


def test_exponential_work_is_the_queue() -> None:
    rates = np.arange(1, 9) * 100.0
    found, queue = mgc(rates, EXPONENTIAL, 600.0), open_queue(rates, 600.0)
    assert found.waits == pytest.approx(queue.waits)
    assert found.response_s == pytest.approx(queue.response_s, rel=1e-3)


def test_m_m_1_has_its_percentile() -> None:
    assert mgc([100.0], EXPONENTIAL, 70.0).p99_s == pytest.approx(math.log(100) / 30, rel=0.01)


def test_one_worker_is_pollaczek_and_khinchine() -> None:
    for work in (FIXED, HEAVY):
        assert mgc([100.0], work, 60.0).wait_s == pytest.approx(0.6 * 0.01 * (1 + work.cv2) / (2 * 0.4))


@pytest.mark.parametrize(("work", "within"), [(EXPONENTIAL, 0.03), (FIXED, 0.1), (HEAVY, 0.15)])
def test_the_simulation_agrees_where_workers_do_not_disturb_each_other(work: object, within: float) -> None:
    curve = curve_of([1, 8], [100.0, 800.0])
    assert isinstance(work, type(FIXED))
    check = mgc(curve.rates_per_s(8), work, 640.0)
    found = assess(curve, work, Offered(640.0), 8, seed=1)
    assert check.response_s == pytest.approx(found.mean_s, rel=within)
    assert check.p99_s == pytest.approx(found.p99_s, rel=within)


def test_without_waiting_it_is_the_measured_times() -> None:
    assert mgc(np.arange(1, 101) * 100.0, HEAVY, 10.0).p99_s == pytest.approx(HEAVY.quantile_s(99.0))


def test_more_than_it_can_do() -> None:
    assert mgc([100.0], FIXED, 100.0).p99_s == math.inf


@pytest.mark.parametrize(("rates", "rate"), [([], 1.0), ([0.0], 1.0), ([1.0], 0.0), ([1.0], math.nan)])
def test_refuses(rates: list[float], rate: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        mgc(rates, FIXED, rate)
    with pytest.raises(ValueError, match="Erlang"):
        erlang_c(0, 1.0)
