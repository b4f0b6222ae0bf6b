import pytest

from phpdyno.stats.capacity.caps import all_caps, asked_cap, connections_cap, memory_cap, process_max_cap
from phpdyno.stats.capacity.memory import PoolCost, Tenant

POOL = PoolCost(20_000.0, 1_000.0, 20)


def test_the_tightest_decides() -> None:
    found = all_caps([memory_cap(POOL, 120_000.0), process_max_cap(64, 10), connections_cap(151, reserved=1, others=100), asked_cap(200)])
    assert [(cap.key, cap.workers) for cap in found.caps] == [("max_connections", 50), ("process_max", 54), ("memory", 100), ("asked", 200)]
    assert found.most == 50
    assert found.tightest is not None
    assert found.tightest.words == "the database's max_connections leaves this pool 50 workers"


def test_no_limit_is_no_cap_and_unreadable_is_not_no_limit() -> None:
    found = all_caps([memory_cap(POOL, None), process_max_cap(0)], unreadable=("memory.max",))
    assert found.caps == ()
    assert (found.most, found.tightest) == (None, None)
    assert found.unreadable == ("memory.max",)


def test_other_pools_and_a_reserve_take_their_part() -> None:
    found = memory_cap(POOL, 200_000.0, reserve_kib=30_000.0, others=[Tenant("shop", PoolCost(10_000.0, 2_000.0, 5), 20)])
    assert found is not None
    assert found.taken == 80_000.0
    assert found.workers == 100
    worst = memory_cap(POOL.worst(4_000.0), 200_000.0, worst=True)
    assert worst is not None
    assert (worst.key, worst.workers) == ("memory_worst", 45)
    assert "heaviest target" in worst.words


def test_what_is_too_little_leaves_none() -> None:
    assert process_max_cap(8, 10).workers == 0  # type: ignore[union-attr]
    assert connections_cap(10, others=20).workers == 0
    tight = memory_cap(POOL, 10_000.0)
    assert tight is not None
    assert tight.workers == 0


def test_workers_may_use_several_connections() -> None:
    assert connections_cap(151, reserved=1, each=2.0).workers == 75
    assert connections_cap(151, reserved=1, each=0.5).workers == 300


def test_full_cores_are_said_and_are_no_cap() -> None:
    assert all_caps([asked_cap(8)], cores_used=1.95, cores=2.0).cores_full is True
    assert all_caps([asked_cap(8)], cores_used=1.0, cores=2.0).cores_full is False
    assert all_caps([asked_cap(8)]).cores_full is None
    assert all_caps([asked_cap(8)], cores_used=2.0, cores=2.0).most == 8


def test_refuses() -> None:
    with pytest.raises(ValueError, match="negative"):
        process_max_cap(-1)
    with pytest.raises(ValueError, match="negative"):
        connections_cap(1, reserved=-1)
    with pytest.raises(ValueError, match="positive number of connections"):
        connections_cap(1, each=0.0)
    with pytest.raises(ValueError, match="at least one"):
        asked_cap(0)
    with pytest.raises(ValueError, match="busy"):
        all_caps([], cores=0.0)
    with pytest.raises(ValueError, match="busy"):
        all_caps([], cores_used=-1.0)
