"""What the section makes of loads and lags, with a fake generator and fake rivals that answer from
numbers."""

import random
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from tools.bench.figures import reached
from tools.bench.load.generator import Lag, Load, OpenOrder, Order, Ours
from tools.bench.load.load_core import ALPHA_ASIDE, ALPHA_EACH, CALLED, CASES, METERED, Course, compare_cpu, compare_throughput
from tools.bench.load.open_lag import lag_figure, measure_lag
from tools.bench.load.rivals import Ask, Rival
from tools.bench.results import Missing, Sizes

from phpdyno.servers.instance import Instance


class FakeOurs:
    """1000 requests per second at 10 µs each; in an open loop a lag that the seed decides."""

    def __init__(self) -> None:
        self.opened: list[OpenOrder] = []

    def size_for(self, route: str, *, seconds: float, concurrency: int) -> int:
        return 1000

    def drive(self, route: str, *, requests: int, concurrency: int) -> Load:
        return Load(requests, 10_000 * requests, 1_000_000 * requests)

    def drive_open(self, order: OpenOrder) -> Lag:
        self.opened.append(order)
        return Lag(round(order.rate * order.seconds), 50_000 + order.seed % 1000, 9_000_000, 1, 0.02)


class FakeRival:
    """As fast as ours; `cpu_us` per request, and a start-up of 5 ms with ten requests in it."""

    def __init__(self, cpu_us: float) -> None:
        self._cpu_us = cpu_us

    def drive(self, ask: Ask) -> Load:
        return Load(ask.requests, round(1e3 * self._cpu_us * (ask.requests - 10)) + 5_000_000, 1_000_000 * ask.requests)

    def start_up(self, ask: Ask, times: int) -> Load:
        return Load(10, 5_000_000, 0)


def course(**rivals: Rival) -> Course:
    instance = cast(Instance, SimpleNamespace(http="tcp:127.0.0.1:1"))
    return Course(cast(Ours, FakeOurs()), rivals, instance, Sizes(), random.Random(1), lambda text: None)


def test_cpu_is_compared_with_every_rival_that_is_there_and_only_that_with_wrk_is_a_target() -> None:
    figures = compare_cpu(course(wrk=FakeRival(20.0), ab=FakeRival(1.0), oha=FakeRival(5.0)))
    assert len(figures) == 2 * len(CASES)
    first, second = figures[:2]
    assert first.name == "CPU of our generator / wrk's per request: nginx, a file of 1 kB, c = 10"
    assert first.estimate == pytest.approx(0.5)
    assert (reached(first), first.basis) == ("yes", "30 pairs")
    assert first.detail.startswith("10.00 µs against 20.00 µs, with wrk's start-up 24.80 µs")
    assert second.name.startswith("CPU of our generator / oha's")
    assert second.estimate == pytest.approx(2.0)
    assert reached(second) == "–"
    assert ALPHA_ASIDE < ALPHA_EACH
    assert {"ab"} == set(CALLED) - set(METERED)


def test_throughput_is_compared_with_every_rival_that_is_there() -> None:
    figures = compare_throughput(course(ab=FakeRival(1.0), h2load=FakeRival(1.0)))
    assert [figure.name.partition(":")[0] for figure in figures] == [
        "throughput by our generator / by `ab -k`",
        "throughput by our generator / by h2load",
    ]
    assert [reached(figure) for figure in figures] == ["yes", "yes"]


def test_without_rivals_there_is_nothing_to_compare_with() -> None:
    assert compare_cpu(course()) == compare_throughput(course()) == []


def test_the_lag_is_taken_at_70_percent_of_the_saturation_that_each_slot_found() -> None:
    ours = FakeOurs()
    figure = measure_lag(cast(Ours, ours), Sizes(), random.Random(1), lambda text: None, own_core=True)
    assert {(order.route, order.rate, order.seconds, order.concurrency) for order in ours.opened} == {("hello", 700.0, 3.0, 50)}
    assert len({order.seed for order in ours.opened}) == len(ours.opened) == Sizes().open_slots
    assert (figure.unit, figure.basis, reached(figure)) == ("µs", "median of 20", "yes")
    assert figure.low is not None
    assert 50.0 <= figure.low <= figure.estimate <= 51.0


def test_a_lag_above_200_microseconds_misses_the_target() -> None:
    figure = lag_figure(
        [7000.0] * 6, [Lag(14700, lag, 8_000_000, 0, 0.05) for lag in (201_000, 230_000, 250_000, 260_000, 300_000, 900_000)], 3.0
    )
    assert (figure.estimate, figure.low, figure.high, reached(figure)) == (255.0, 201.0, 900.0, "no")
    assert figure.detail.startswith(
        "the worst slot 900.0 µs; 4900 of 7000 requests per second; p99 of the response time 8.0 ms; 0 of 88200"
    )
    assert figure.detail.endswith("; the hypervisor took 5.0 % of the generator's core")


def test_without_a_core_of_its_own_the_lag_is_not_measured() -> None:
    with pytest.raises(Missing, match="has none of its own"):
        measure_lag(cast(Ours, FakeOurs()), Sizes(), random.Random(1), lambda text: None, own_core=False)


@pytest.mark.parametrize("order", [Order("hello", 700, 5), OpenOrder("hello", 700.0, 3.0, 5, 1)])
def test_the_generator_tells_orders_of_both_kinds_apart(order: Order | OpenOrder) -> None:
    assert msgspec.json.decode(msgspec.json.encode(order), type=Order | OpenOrder) == order
