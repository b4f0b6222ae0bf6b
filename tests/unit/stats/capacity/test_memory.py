import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.model.runs.readings import PoolMemory
from phpdyno.stats.capacity.memory import PoolCost, Tenant, apart_saves_kib, cost_of, fit_cost, heavy_targets, share

MIB = 1024
POOL = PoolCost(16.5 * MIB, 0.826 * MIB, 32)


def reading(
    workers: int = 10, pss: int = 24_000, private: float | None = 1_000.0, master: int | None = 6_000, unread: int = 0
) -> PoolMemory:
    return PoolMemory(workers, pss, None, private, None, master, None, unread)


def test_a_reading_is_taken_apart_and_adds_up_again() -> None:
    cost = cost_of(reading())
    assert cost == PoolCost(20_000.0, 1_000.0, 10)
    assert cost.total_kib(10) == 30_000
    assert cost_of(reading(master=None)).once_kib == 14_000


def test_a_reading_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="2 worker"):
        cost_of(reading(unread=2))
    with pytest.raises(ValueError, match="could be read"):
        cost_of(reading(workers=0))
    with pytest.raises(ValueError, match="could be read"):
        cost_of(reading(private=None))


def test_a_line_through_pools_of_several_sizes() -> None:
    found = fit_cost([5, 10, 16, 32], [POOL.total_kib(size) for size in (5, 10, 16, 32)])
    assert found.once_kib == pytest.approx(POOL.once_kib)
    assert found.private_kib == pytest.approx(POOL.private_kib)
    assert found.measured == 32
    assert found.miss == pytest.approx(0.0, abs=1e-9)
    assert fit_cost([1, 2, 3], [10.0, 22.0, 30.0]).miss == pytest.approx(2 / 3 / 10, rel=0.1)


@pytest.mark.parametrize(
    ("sizes", "totals"), [([5], [1.0]), ([5, 5], [1.0, 2.0]), ([5, 10], [1.0]), ([0, 5], [1.0, 2.0]), ([5, 10], [2.0, 1.0])]
)
def test_a_line_refuses(sizes: list[int], totals: list[float]) -> None:
    with pytest.raises(ValueError, match=r"sizes|grow"):
        fit_cost(sizes, totals)


def test_shared_memory_is_counted_once() -> None:
    """32 workers with an RSS of 230 MB, 211 of which are shared: 0.8 GB and not 7.4."""
    pool = PoolCost(211 * MIB, 19 * MIB, 32)
    assert pool.total_kib(32) == 819 * MIB
    assert pool.most_workers(7360 * MIB) == 376


def test_a_pod_of_3_gb_does_not_hold_fifty_workers_of_250_mb() -> None:
    assert PoolCost(0.0, 250 * MIB, 1).most_workers(3 * MIB * MIB) == 12
    assert PoolCost(0.0, 250 * MIB, 1).most_workers(3 * MIB * MIB, 512 * MIB) == 10
    assert PoolCost(0.0, 250 * MIB, 1).most_workers(200 * MIB) == 0


@given(st.floats(0, 1e6), st.floats(1, 1e6), st.floats(1, 1e8), st.floats(0, 1e7))
def test_the_most_fit_and_one_more_does_not(once: float, private: float, limit: float, reserve: float) -> None:
    pool = PoolCost(once, private, 1)
    most = pool.most_workers(limit, reserve)
    assert pool.total_kib(most + 1) + reserve > limit * (1 - 1e-9)
    if most:
        assert pool.total_kib(most) + reserve <= limit * (1 + 1e-6) + 1e-6 * private


@pytest.mark.parametrize(("limit", "reserve", "private"), [(0.0, 0.0, 1.0), (1.0, -1.0, 1.0), (1.0, 0.0, 0.0), (math.nan, 0.0, 1.0)])
def test_the_most_refuses(limit: float, reserve: float, private: float) -> None:
    with pytest.raises(ValueError, match="no cap follows"):
        PoolCost(1.0, private, 1).most_workers(limit, reserve)


def test_the_worst_is_never_lighter() -> None:
    assert POOL.worst(5 * MIB).private_kib == 5 * MIB
    assert POOL.worst(1.0) == POOL


def test_sixty_pools_on_one_memory() -> None:
    """60 sites, 8 workers each: about 50 GB. On 16 GB two workers each."""
    pools = [Tenant(f"site{i}", PoolCost(20 * MIB, 100 * MIB, 8), 8) for i in range(60)]
    found = share(16 * MIB * MIB, pools)
    assert not found.fits
    assert found.total_kib == 60 * 820 * MIB
    assert set(found.most.values()) == {2}
    assert share(64 * MIB * MIB, pools).fits
    assert share(4 * MIB * MIB, pools).most == {}


@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(1, 1e5), st.integers(1, 50)), min_size=1, max_size=8), st.floats(1, 1e8))
def test_what_pools_get_fits(pools: list[tuple[float, float, int]], limit: float) -> None:
    tenants = [Tenant(str(i), PoolCost(once, private, 1), workers) for i, (once, private, workers) in enumerate(pools)]
    found = share(limit, tenants)
    if found.most:
        assert sum(each.cost.total_kib(found.most[each.name]) for each in tenants) <= limit * (1 + 1e-9)
        assert all(1 <= found.most[each.name] <= each.workers for each in tenants)
    else:
        assert sum(each.cost.total_kib(1) for each in tenants) > limit * (1 - 1e-9)


def test_sharing_refuses() -> None:
    one = Tenant("a", POOL, 1)
    for pools in ([], [one, one], [Tenant("a", POOL, 0)]):
        with pytest.raises(ValueError, match="sharing needs"):
            share(1e6, pools)
    with pytest.raises(ValueError, match="nothing is left"):
        share(1e6, [one], 1e6)


def test_a_heavy_target_is_named() -> None:
    assert heavy_targets({"/": 1000.0, "/post": 1100.0, "/admin": 4000.0, "/export": 9000.0}) == ("/export", "/admin")
    assert heavy_targets({"/": 1000.0, "/post": 1400.0}) == ()
    assert heavy_targets({"/": 1000.0}) == ()
    assert heavy_targets({}) == ()
    with pytest.raises(ValueError, match="positive"):
        heavy_targets({"/": 0.0})


def test_a_pool_of_its_own_saves_or_costs() -> None:
    pool = PoolCost(20_000.0, 1_000.0, 20)
    assert apart_saves_kib(pool, 9_000.0, 20, 2) == 18 * 8_000 - 20_000
    assert apart_saves_kib(pool, 9_000.0, 20, 2, 0.0) == 18 * 8_000
    assert apart_saves_kib(pool, 1_100.0, 20, 2) < 0
    with pytest.raises(ValueError, match="set apart"):
        apart_saves_kib(pool, 9_000.0, 20, 20)
