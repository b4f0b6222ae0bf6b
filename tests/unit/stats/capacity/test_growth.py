"""Shapes of memory over requests, each drawn many times: what they are called, and how often
wrongly."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from phpdyno.stats.capacity.growth import growth, growth_of

REQUESTS = np.arange(0.0, 4000.0, 40.0)
Draw = Callable[[np.random.Generator], np.ndarray]


def noise(random: np.random.Generator, kib: float) -> np.ndarray:
    return random.normal(0.0, kib, REQUESTS.size)


def kinds(draw: Draw, times: int = 60) -> Counter[str]:
    random = np.random.default_rng(7)
    return Counter(growth(REQUESTS, draw(random)).kind for _ in range(times))


def test_flat_memory_is_steady() -> None:
    assert kinds(lambda random: 20_000 + noise(random, 50)) == {"steady": 60}
    assert growth(REQUESTS, np.full(100, 9000.0)).kind == "steady"


def test_a_leak_is_found_with_its_slope() -> None:
    assert kinds(lambda random: 10_000 + 0.5 * REQUESTS + noise(random, 50)) == {"leaks": 60}
    found = growth(REQUESTS, 10_000 + 0.5 * REQUESTS + noise(np.random.default_rng(1), 50))
    assert found.kib_per_request == pytest.approx(0.5, rel=0.05)
    assert found.low < 0.5 < found.high
    assert found.base_kib == pytest.approx(10_500, rel=0.02)
    # A tenth of the base, about 1 MiB, at half a KiB for each request.
    assert 1900 < (found.max_requests(0.1) or 0) <= 2100


def test_a_heap_that_grows_in_chunks_leaks() -> None:
    assert kinds(lambda random: 10_000 + 2048 * np.floor((REQUESTS + random.uniform(0, 500)) / 500)) == {"leaks": 60}


def test_large_chunks_need_a_longer_look() -> None:
    """One of 2 MiB every 1,500 requests: two of them in what was seen look like a step, eight do
    not."""

    def eight(requests: np.ndarray) -> str:
        random = np.random.default_rng(3)
        return growth_of([(requests, 10_000 + 2048 * np.floor((requests + random.uniform(0, 1500)) / 1500)) for _ in range(8)]).kind

    assert eight(REQUESTS) == "once"
    assert eight(np.arange(0.0, 16_000.0, 40.0)) == "leaks"


def test_a_high_water_mark_is_no_leak() -> None:
    step = kinds(lambda random: 10_000 + 5000 * (random.uniform(0, 4000) < REQUESTS) + noise(random, 30))
    records = kinds(lambda random: 10_000 + np.maximum.accumulate(random.exponential(1000, REQUESTS.size)))
    assert "leaks" not in step
    assert step["once"] + step["steady"] >= 50
    assert "leaks" not in records
    assert growth(REQUESTS, 10_000 + 5000.0 * (REQUESTS > 2000)).max_requests(0.1) is None


def test_what_settles_is_no_leak() -> None:
    assert "leaks" not in kinds(lambda random: 10_000 + 5000 * (1 - np.exp(-REQUESTS / 800)) + noise(random, 50))
    assert kinds(lambda random: 10_000 + 1000 * np.log1p(REQUESTS / 100) + noise(random, 30))["settling"] >= 58


def test_caches_that_fill_at_the_beginning_do_not_count() -> None:
    assert growth(REQUESTS, 10_000 + np.minimum(REQUESTS, 900) * 20).kind == "steady"


def test_memory_that_wanders_is_rarely_called_a_leak() -> None:
    wandering = kinds(lambda random: 20_000 + np.cumsum(random.normal(0, 40, REQUESTS.size)), 200)
    assert wandering["leaks"] <= 20
    random = np.random.default_rng(5)
    pools = Counter(
        growth_of([(REQUESTS, 20_000 + np.cumsum(random.normal(0, 40, REQUESTS.size))) for _ in range(6)]).kind for _ in range(50)
    )
    assert pools["leaks"] <= 2


def test_workers_are_told_together_and_each_by_its_own_requests() -> None:
    random = np.random.default_rng(2)
    workers = [(REQUESTS + 100 * i, 10_000 + 3000 * i + 0.4 * REQUESTS + noise(random, 50)) for i in range(4)]
    found = growth_of(workers)
    assert (found.kind, found.workers) == ("leaks", 4)
    assert found.low < 0.4 < found.high
    assert found.requests == pytest.approx(2960)


def test_one_leaking_worker_of_many_is_not_all() -> None:
    random = np.random.default_rng(2)
    flat = [(REQUESTS, 10_000 + noise(random, 20)) for _ in range(5)]
    assert growth_of([*flat, (REQUESTS, 10_000 + 0.5 * REQUESTS)]).kind == "unclear"


def test_of_many_samples_some_are_taken() -> None:
    many = np.arange(0.0, 20_000.0)
    assert growth(many, 10_000 + 0.1 * many).kib_per_request == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("requests", "memory", "what"),
    [
        (range(15), [1.0] * 15, "16 samples"),
        (range(20), [1.0] * 19, "16 samples"),
        (range(20, 0, -1), [1.0] * 20, "ascend"),
        ([1] * 20, [1.0] * 20, "ascend"),
        (range(20), [0.0] * 20, "positive"),
        (range(20), [float("nan")] * 20, "finite"),
        ([*range(19), 10_000], [1.0] * 20, "first quarter"),
    ],
)
def test_refuses(requests: object, memory: list[float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        growth(np.array(requests, dtype=float), memory)


def test_refuses_nothing_at_all() -> None:
    with pytest.raises(ValueError, match="a worker"):
        growth_of([])
    with pytest.raises(ValueError, match="part of growth"):
        growth(REQUESTS, np.full(100, 1.0)).max_requests(0.0)
