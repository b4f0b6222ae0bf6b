"""Arrivals of an open loop: none is lost, their order is kept, and they follow their profile."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from phpdyno.drive.arrivals import Phase, arrivals_of, bursts, constant, evenly, poisson, ramp, seconds_of

patient = settings(deadline=None)  # the machine is shared
RATES = st.one_of(st.just(0.0), st.floats(0.01, 500.0))
PROFILES = st.lists(st.builds(Phase, st.floats(1e-3, 5.0), RATES, RATES), min_size=0, max_size=6).map(tuple)
SEEDS = st.integers(0, 2**32)


def offered_until(profile: tuple[Phase, ...], second: float) -> float:
    """Requests offered up to a moment, by the trapezium of each phase."""
    total = 0.0
    for phase in profile:
        time = min(second, phase.seconds)
        total += time * (phase.start_rate + (phase.end_rate - phase.start_rate) * time / phase.seconds / 2.0)
        second -= time
    return total


def check(profile: tuple[Phase, ...], offsets: NDArray[np.uint64]) -> None:
    offered = sum(phase.offered for phase in profile)
    assert offsets.dtype == np.uint64
    assert offsets.size == arrivals_of(profile)
    assert abs(offsets.size - offered) <= 0.5 + 1e-6
    assert np.all(offsets[1:] >= offsets[:-1])
    assert not offsets.size or offsets[-1] <= math.ceil(seconds_of(profile) * 1e9)


@patient
@given(PROFILES)
def test_even_arrivals_are_where_so_many_requests_were_offered(profile: tuple[Phase, ...]) -> None:
    offsets = evenly(profile)
    check(profile, offsets)
    for number, offset in enumerate(offsets[:: max(1, offsets.size // 50)].tolist()):
        # 1 ns of rounding is 5e-7 requests at the highest rate; near a rate of 0 the root loses
        # more.
        expected = number * max(1, offsets.size // 50) + 0.5
        assert offered_until(profile, offset / 1e9) == pytest.approx(expected, abs=1e-4)


@patient
@given(PROFILES, SEEDS)
def test_random_arrivals_are_as_many_and_the_same_for_the_same_seed(profile: tuple[Phase, ...], seed: int) -> None:
    offsets = poisson(profile, np.random.default_rng(seed))
    check(profile, offsets)
    assert np.array_equal(offsets, poisson(profile, np.random.default_rng(seed)))


@patient
@given(PROFILES, SEEDS)
def test_nothing_arrives_while_nothing_is_offered(profile: tuple[Phase, ...], seed: int) -> None:
    pause = (*profile, Phase(1.0, 0.0, 0.0), *profile)
    begin = seconds_of(profile) * 1e9
    for offsets in (evenly(pause), poisson(pause, np.random.default_rng(seed))):
        assert not np.any((offsets > begin + 2) & (offsets < begin + 1e9 - 2))


@patient
@given(st.integers(1, 2000), st.integers(1, 5))
def test_a_constant_rate_has_exact_counts_and_gaps(rate: int, seconds: int) -> None:
    offsets = evenly(constant(float(rate), float(seconds)))
    assert offsets.size == rate * seconds
    assert np.all(np.abs(np.diff(offsets.astype(np.float64)) - 1e9 / rate) <= 1.0)
    assert abs(int(offsets[0]) - 0.5e9 / rate) <= 1.0


def test_gaps_of_a_poisson_process_are_exponential() -> None:
    gaps = np.diff(poisson(constant(1000.0, 200.0), np.random.default_rng(1)).astype(np.int64)) / 1e6
    assert gaps.mean() == pytest.approx(1.0, rel=0.01)
    assert gaps.std() == pytest.approx(1.0, rel=0.02)
    for quantile in (0.1, 0.5, 0.9, 0.99):
        assert np.quantile(gaps, quantile) == pytest.approx(-math.log(1 - quantile), rel=0.03)


def test_a_ramp_from_nothing_has_a_quarter_of_its_arrivals_in_its_first_half() -> None:
    for offsets in (evenly(ramp(0.0, 1000.0, 20.0)), poisson(ramp(0.0, 1000.0, 20.0), np.random.default_rng(2))):
        assert offsets.size == 10_000
        assert (offsets < 10e9).sum() == pytest.approx(2500, abs=150)
    down = evenly(ramp(1000.0, 0.0, 20.0))
    assert (down < 10e9).sum() == 7500


def test_bursts_come_between_quiet_stretches() -> None:
    profile = bursts(10.0, 1000.0, quiet_s=1.0, burst_s=0.5, count=3)
    assert seconds_of(profile) == 5.5
    offsets = evenly(profile) / 1e9
    assert offsets.size == 4 * 10 + 3 * 500
    for begin in (1.0, 2.5, 4.0):
        assert ((offsets >= begin) & (offsets < begin + 0.5)).sum() == 500


@pytest.mark.parametrize("values", [(0.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, math.nan), (math.inf, 1.0, 1.0)])
def test_a_phase_that_cannot_be(values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="a phase needs"):
        Phase(*values)


def test_more_arrivals_than_memory_are_refused_before_they_are_made() -> None:
    with pytest.raises(ValueError, match="arrivals are over"):
        evenly(constant(1e9, 1e6))
