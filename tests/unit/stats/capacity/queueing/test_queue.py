import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.stats.capacity.queueing.flow_equivalent import closed_queue, open_queue


def erlang_c(servers: int, offered: float) -> float:
    """From the textbook's sum, with whole numbers' factorials."""
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(offered**k / math.factorial(k) for k in range(servers)) + last)


@pytest.mark.parametrize(("servers", "offered"), [(1, 0.5), (2, 1.8), (5, 0.3), (8, 7.5), (20, 18.0)])
def test_m_m_c_is_erlang_c(servers: int, offered: float) -> None:
    service_s = 0.04
    found = open_queue([k / service_s for k in range(1, servers + 1)], offered / service_s)
    waits = erlang_c(servers, offered)
    assert found.stable
    assert found.waits == pytest.approx(waits, rel=1e-10)
    assert found.waiting == pytest.approx(waits * offered / (servers - offered), rel=1e-10)
    assert found.busy == pytest.approx(offered, rel=1e-10)
    assert found.response_s == pytest.approx(service_s + waits * service_s / (servers - offered), rel=1e-10)
    assert found.utilisation == pytest.approx(offered / servers)


def test_m_m_1() -> None:
    found = open_queue([10.0], 8.0)
    assert found.in_system == pytest.approx(4.0)
    assert found.response_s == pytest.approx(0.5)
    assert found.wait_s == pytest.approx(0.4)
    assert found.distribution == pytest.approx((0.2, 0.16))


def test_cores_shared_by_more_workers_are_m_m_1_ps() -> None:
    """X(k) the same for every k: any number of workers has the queue of one in the system."""
    for workers in (1, 2, 7):
        assert open_queue([10.0] * workers, 8.0).in_system == pytest.approx(4.0)


@pytest.mark.parametrize("load", [0.5, 0.999999, 1.0, 3.0])
def test_m_m_1_k_refuses(load: float) -> None:
    found = open_queue([10.0], 10.0 * load, backlog=4)
    weights = np.array([load**n for n in range(6)])
    assert found.refused == pytest.approx(weights[5] / weights.sum())
    assert found.waiting == pytest.approx(float(weights[2:] @ np.arange(1, 5)) / weights.sum())
    assert found.waits == pytest.approx(weights[1:5].sum() / weights[:5].sum())
    assert found.throughput_per_s == pytest.approx(10.0 * (1 - 1 / weights.sum()))


def test_erlang_b_is_a_backlog_of_nothing() -> None:
    offered, servers = 6.0, 8
    found = open_queue([float(k) for k in range(1, servers + 1)], offered, backlog=0)
    weights = [offered**k / math.factorial(k) for k in range(servers + 1)]
    assert found.refused == pytest.approx(weights[-1] / sum(weights))
    assert found.waits == 0.0
    assert found.wait_s == 0.0


def test_a_long_backlog_is_as_good_as_none() -> None:
    rates = [100.0, 180.0, 220.0]
    finite, infinite = open_queue(rates, 150.0, backlog=4096), open_queue(rates, 150.0)
    assert finite.refused == pytest.approx(0.0, abs=1e-12)
    assert finite.response_s == pytest.approx(infinite.response_s)
    assert finite.waits == pytest.approx(infinite.waits)


def test_more_than_it_can_do_is_not_stable() -> None:
    for rate in (10.0, 11.0):
        found = open_queue([6.0, 10.0], rate)
        assert not found.stable
        assert found.response_s == math.inf
        assert (found.waits, found.throughput_per_s, found.busy) == (1.0, 10.0, 2.0)


def test_a_pool_that_is_slower_when_full_is_judged_by_its_full_speed() -> None:
    assert not open_queue([6.0, 12.0, 9.0], 10.0).stable
    assert open_queue([6.0, 12.0], 10.0).stable


def test_large_pools_do_not_overflow() -> None:
    rates = np.arange(1, 3001) / 0.2
    found = open_queue(rates, 14_000.0)
    assert found.busy == pytest.approx(2800.0, rel=1e-6)
    assert 0.0 <= found.waits < 0.01
    assert sum(found.distribution) == pytest.approx(1.0 - found.waits, abs=1e-3)
    assert open_queue(rates, 14_990.0, backlog=65_535).refused < 1e-12
    assert open_queue(rates, 30_000.0, backlog=65_535).refused == pytest.approx(0.5, rel=1e-6)


def repairman(machines: int, repairmen: int, up: float, repair: float) -> np.ndarray:
    """Textbook: p(n) from binomials and factorials."""
    rho = up * repair
    weights = [
        math.comb(machines, n) * rho**n
        if n < repairmen
        else math.comb(machines, n) * rho**n * math.factorial(n) / (math.factorial(repairmen) * repairmen ** (n - repairmen))
        for n in range(machines + 1)
    ]
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize(("machines", "repairmen"), [(6, 1), (6, 3), (4, 8), (1, 1), (12, 12)])
def test_the_machine_repairman(machines: int, repairmen: int) -> None:
    think, repair = 1.5, 0.4
    found = closed_queue([k / repair for k in range(1, repairmen + 1)], machines, think)
    shares = repairman(machines, repairmen, 1 / think, repair)
    numbers = np.arange(machines + 1)
    assert found.in_system == pytest.approx(float(shares @ numbers))
    assert found.busy == pytest.approx(float(shares @ np.minimum(numbers, repairmen)))
    assert found.throughput_per_s == pytest.approx((machines - found.in_system) / think)
    assert found.throughput_per_s == pytest.approx(found.busy / repair)
    arriving = repairman(machines - 1, repairmen, 1 / think, repair)
    assert found.waits == pytest.approx(float(arriving[repairmen:].sum()))
    # Little for the whole loop: clients = throughput x (response + think).
    assert machines == pytest.approx(found.throughput_per_s * (found.response_s + think))


def test_without_think_time_all_clients_are_there() -> None:
    found = closed_queue([100.0, 180.0, 220.0], 5)
    assert (found.throughput_per_s, found.busy, found.waiting, found.waits) == (220.0, 3.0, 2.0, 1.0)
    assert found.response_s == pytest.approx(5 / 220)
    alone = closed_queue([100.0, 180.0, 220.0], 2)
    assert (alone.throughput_per_s, alone.waits) == (180.0, 0.0)


concave = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=12)


@given(concave, st.floats(0.05, 0.95))
def test_more_workers_never_make_more_wait_where_speed_does_not_fall(gains: list[float], load: float) -> None:
    rates = np.cumsum(sorted(gains, reverse=True)) * 100.0
    rate = load * float(rates[0])
    found = [open_queue(rates[:workers], rate) for workers in range(1, rates.size + 1)]
    for fewer, more in pairwise(found):
        assert more.waits <= fewer.waits + 1e-9
        assert more.response_s <= fewer.response_s * (1 + 1e-9)


@given(concave, st.floats(0.05, 3.0), st.integers(0, 300))
def test_what_comes_in_goes_out(gains: list[float], load: float, backlog: int) -> None:
    rates = np.cumsum(gains) * 100.0
    found = open_queue(rates, load * float(rates[-1]), backlog)
    assert 0.0 <= found.refused < 1.0
    assert 0.0 <= found.waits <= 1.0
    assert 0.0 <= found.busy <= rates.size * (1 + 1e-12)
    assert found.throughput_per_s <= float(rates.max()) * (1 + 1e-9)
    assert found.in_system == pytest.approx(found.throughput_per_s * found.response_s)


@given(concave, st.floats(0.1, 0.9), st.floats(1.01, 1.09))
def test_a_higher_load_waits_more(gains: list[float], load: float, more: float) -> None:
    rates = np.cumsum(gains) * 100.0
    low, high = open_queue(rates, load * float(rates[-1])), open_queue(rates, load * more * float(rates[-1]))
    assert high.waits >= low.waits - 1e-9
    assert high.in_system >= low.in_system * (1 - 1e-9)


@pytest.mark.parametrize(
    ("rates", "rate", "backlog", "what"),
    [
        ([], 1.0, None, "positive rate"),
        ([1.0, 0.0], 1.0, None, "positive rate"),
        ([math.nan], 1.0, None, "positive rate"),
        ([[1.0]], 1.0, None, "positive rate"),
        ([1.0], 0.0, None, "arrivals"),
        ([1.0], math.inf, None, "arrivals"),
        ([1.0], 1.0, -1, "backlog"),
        ([1.0], 1.0, 10**9, "backlog"),
    ],
)
def test_refuses(rates: list[float], rate: float, backlog: int | None, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        open_queue(rates, rate, backlog)


@pytest.mark.parametrize(("clients", "think"), [(0, 1.0), (3, -1.0), (3, math.inf)])
def test_a_closed_loop_refuses(clients: int, think: float) -> None:
    with pytest.raises(ValueError, match="closed loop"):
        closed_queue([1.0], clients, think)
