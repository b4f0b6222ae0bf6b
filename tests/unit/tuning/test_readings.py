import math

import pytest
from msgspec import structs

from phpdyno.model.observation import Cost, Observation
from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.screening.effects import RowReading
from phpdyno.tuning.goals import GoalReadings
from phpdyno.tuning.readings import by_block, goal_ratio, measured, noise_of, screen_readings, side_of, sides


def cost(cpu_ns: int = 30_000, p99_ns: int = 7_000, worker_kib: int | None = None) -> Cost:
    return Cost(
        requests=10,
        php_cpu_ns=cpu_ns,
        web_cpu_ns=1,
        database_cpu_ns=1,
        host_cpu_ns=1,
        wall_ns=60_000,
        service_p50_ns=3_000,
        service_p99_ns=p99_ns,
        failed=1,
        drive_ns=50_000,
        worker_kib=worker_kib,
    )


def seen(treatment: str, block: int, log_ratio: float, *, excluded: str = "") -> Observation:
    return Observation(treatment, block, log_ratio, 0.0, 0.01, 8, cost(), cost(20_000), excluded=excluded)


def test_blocks_of_different_batches_are_different_blocks() -> None:
    first = [seen("row 1", 0, 0.1), seen("row 2", 0, 0.2), seen("row 1", 1, 0.3)]
    second = [seen("row 3", 0, 0.4), seen("row 3", 1, 0.5, excluded="steal 12%"), seen("A/A", 0, 0.6)]
    assert screen_readings("cpu", [first, second], {"row 1": 0, "row 2": 1, "row 3": 2}) == (
        RowReading(0, 0, 0.1, 8),
        RowReading(1, 0, 0.2, 8),
        RowReading(0, 1, 0.3, 8),
        RowReading(2, 2, 0.4, 8),
    )


def test_log_ratios_by_block() -> None:
    observations = [seen("a", 0, 0.1), seen("b", 0, 0.2), seen("a", 3, 0.3), seen("a", 4, 0.4, excluded="generator late")]
    assert by_block("cpu", [observations], "a") == {0: 0.1, 3: 0.3}


def aa(p99_ns: int, worker_kib: int | None, pairs: int = 9) -> Observation:
    treated = cost(p99_ns=p99_ns, worker_kib=worker_kib)
    return Observation("A/A", 0, 0.0, 0.0, 0.01, pairs, cost(worker_kib=worker_kib and 1000), treated)


def test_a_percentile_and_memory_have_noise_of_their_own() -> None:
    mean = Noise(0.03, 0.004)
    blocks = [aa(14_000, 1010), aa(3_500, 990)]
    assert noise_of("cpu", mean, blocks) is mean
    assert noise_of("throughput", mean, blocks) is mean
    p99 = noise_of("p99", mean, blocks)
    assert p99.sigma_pair == pytest.approx(3 * math.log(2))
    assert p99.of_block(9) > math.log(2)
    memory = noise_of("memory", mean, blocks)
    assert memory.of_block(1) == pytest.approx(0.01, rel=0.1)


def test_noise_that_was_not_seen_is_not_taken_for_none() -> None:
    mean = Noise(0.03, 0.004)
    assert noise_of("memory", mean, [aa(7_000, None)]) is mean
    assert noise_of("p99", mean, []) is mean
    assert noise_of("p99", mean, [aa(7_000, 1000)]) == mean
    assert noise_of("memory", mean, [aa(7_000, 1000)]).sigma_start > 0.0


def test_what_goals_see_of_an_arm() -> None:
    assert measured(cost(worker_kib=20_000)) == GoalReadings(10, 1, 30_000, 50_000, 7_000, 20_000, 30_002)
    assert measured(cost(p99_ns=0)) == GoalReadings(10, 1, 30_000, 50_000, stack_ns=30_002)


def test_both_sides_of_every_block_that_counts() -> None:
    control, treated = sides([seen("a", 0, 0.1), seen("b", 0, 0.2), seen("a", 1, 0.3, excluded="steal 12%")], "a")
    assert [each.cpu_ns for each in control] == [30_000]
    assert [each.cpu_ns for each in treated] == [20_000]


def test_blocks_of_later_heats_follow_those_of_earlier_ones() -> None:
    first = [seen("a", 0, 0.1), seen("b", 0, 0.2), seen("b", 1, 0.2)]
    second = [seen("a", 0, 0.3), seen("a", 1, 0.4)]
    assert by_block("cpu", [first, second], "a") == {0: 0.1, 2: 0.3, 3: 0.4}


def test_ratios_by_other_goals_than_the_one_that_was_driven() -> None:
    light, heavy = cost(p99_ns=5_000, worker_kib=10_000), cost(p99_ns=10_000, worker_kib=20_000)
    made = Observation("a", 0, 0.7, 0.7, 0.01, 8, heavy, light)
    assert goal_ratio("cpu", made) == 0.7
    assert goal_ratio("p99", made) == pytest.approx(math.log(2))
    assert goal_ratio("memory", made) == pytest.approx(math.log(2))
    assert goal_ratio("memory", Observation("a", 0, 0.7, 0.7, 0.01, 8, cost(), light)) is None


def test_one_arm_before_and_after() -> None:
    many = [structs.replace(each, requests=101) for each in (cost(worker_kib=10_000), cost(p99_ns=9_000, worker_kib=12_000), cost())]
    found = side_of(many)
    assert found.cpu_ms == pytest.approx(3 * 30_000 / 300 / 1e6)
    assert (found.p50_ms, found.p99_ms, found.worker_kib) == (0.003, 0.007, 11_000)
    assert side_of([cost()]).worker_kib is None
    # Of nine valid answers the 99th percentile is the greatest.
    assert (side_of([cost()] * 3).p50_ms, side_of([cost()] * 3).p99_ms) == (0.003, None)
    with pytest.raises(ValueError, match="block"):
        side_of([])
