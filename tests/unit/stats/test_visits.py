import math

import numpy as np
import pytest
from msgspec import structs
from scipy.stats import t as student

from phpdyno.model.runs.readings import QueueLevels
from phpdyno.model.runs.sweep import Point, VisitCpu
from phpdyno.stats.visits import (
    busy_workers,
    cpu_per_request,
    figure_of,
    histogram_of,
    load_over,
    pooled_times,
    queue_share,
    tally,
    throughput,
    times_at,
    times_by_target,
    visits_of,
)
from tests.support.made_up.sweeps.sweeps import MS, times_of, visit


def test_a_figure_is_the_geometric_mean_with_students_interval_of_the_logarithms() -> None:
    values = [90.0, 100.0, 115.0, 108.0]
    logs = np.log(values)
    half = student.ppf(0.975, 3) * logs.std(ddof=1) / 2.0
    found = figure_of(values, 0.95)
    assert found is not None
    assert found.rounds == 4
    assert (found.value, found.low, found.high) == pytest.approx(
        (math.exp(logs.mean()), math.exp(logs.mean() - half), math.exp(logs.mean() + half))
    )


def test_two_rounds_have_no_interval_and_none_have_no_figure() -> None:
    found = figure_of([100.0, 121.0], 0.95)
    assert found is not None
    assert (found.low, found.high, found.rounds) == (None, None, 2)
    assert found.value == pytest.approx(110.0)
    assert figure_of([], 0.95) is None


def test_a_zero_has_no_logarithm() -> None:
    found = figure_of([0.0, 10.0, 20.0], 0.95)
    assert found is not None
    assert found.value == pytest.approx(10.0)
    assert (found.low, found.high, found.rounds) == (None, None, 3)


@pytest.mark.parametrize(
    ("values", "confidence"), [([-1.0], 0.95), ([math.nan], 0.95), ([math.inf], 0.95), ([1.0], 0.0), ([1.0], 1.0), ([1.0], math.nan)]
)
def test_refuses(values: list[float], confidence: float) -> None:
    with pytest.raises(ValueError, match=r"value|confidence"):
        figure_of(values, confidence)


def test_rounds_that_agree_have_an_interval_of_no_width() -> None:
    found = figure_of([5.0, 5.0, 5.0], 0.95)
    assert found is not None
    assert (found.low, found.value, found.high) == pytest.approx((5.0, 5.0, 5.0))


def test_visits_are_those_of_one_arm_and_point_by_round() -> None:
    seen = [visit(2), visit(1), visit(1, name="other"), visit(1, point=Point(1)), visit(3, point=Point(5, 0.7))]
    assert [each.round for each in visits_of(seen, "control", Point(5))] == [1, 2]


def test_throughput_is_of_valid_completions_in_visits_that_count() -> None:
    seen = [visit(1, valid=900, failed=100), visit(2, valid=1000), visit(3, valid=1, excluded="steal 30.0%")]
    found = throughput(seen, 0.95)
    assert found is not None
    assert found.value == pytest.approx(math.sqrt(900 * 1000))
    assert found.rounds == 2


def test_a_round_without_a_valid_answer_counts_as_no_throughput() -> None:
    found = throughput([visit(1), visit(2), visit(3, valid=0, failed=20)], 0.95)
    assert found is not None
    assert found.value == pytest.approx(2000 / 3)
    assert found.low is None


def test_cpu_is_of_rounds_in_which_nothing_failed() -> None:
    seen = [visit(1, php_ns=1000 * MS), visit(2, php_ns=1000 * MS), visit(3, php_ns=9000 * MS, failed=1)]
    found = cpu_per_request(seen, "php", 0.95)
    assert found is not None
    assert found.value == pytest.approx(MS)
    assert found.rounds == 2
    assert cpu_per_request([visit(1, failed=1)], "php", 0.95) is None


def test_cpu_that_is_not_there_has_no_figure() -> None:
    assert cpu_per_request([visit(1), visit(2)], "web", 0.95) is None
    found = cpu_per_request([visit(number, cpu=VisitCpu(1000, 10, web_ns=2000)) for number in (1, 2, 3)], "web", 0.95)
    assert found is not None
    assert found.value == pytest.approx(2.0)


def test_a_percentile_is_pooled_and_its_interval_is_of_the_rounds() -> None:
    rounds = [[MS * (100 + k) for k in range(100)], [MS * (110 + k) for k in range(100)], [MS * (130 + k) for k in range(100)]]
    seen = [visit(number, times=[times_of(each)]) for number, each in enumerate(rounds, 1)]
    found = times_at(seen, 50.0, 0.95)
    assert found is not None
    assert found.value == pytest.approx(float(np.percentile(np.concatenate(rounds), 50, method="inverted_cdf")), rel=0.002)
    own = figure_of([149.0, 159.0, 179.0], 0.95)
    assert own is not None
    assert found.low == pytest.approx((own.low or 0.0) * MS, rel=0.002)
    assert found.high == pytest.approx((own.high or 0.0) * MS, rel=0.002)


def test_a_percentile_needs_an_answer_beyond_it() -> None:
    seen = [visit(number, times=[times_of([MS] * 50)]) for number in (1, 2, 3)]
    found = times_at(seen, 99.0, 0.95)
    assert found is not None  # 150 answers in all, 50 in each round
    assert (found.low, found.high, found.rounds) == (None, None, 3)
    assert times_at(seen, 99.9, 0.95) is None
    assert times_at([visit(1)], 50.0, 0.95) is None
    assert times_at([visit(1, times=[times_of([MS] * 1000)])], 99.9, 0.95) is not None


def test_targets_are_told_apart() -> None:
    seen = [visit(number, times=[times_of([MS] * 10), times_of([9 * MS] * 10, target=1)]) for number in (1, 2, 3)]
    slow = times_at(seen, 50.0, 0.95, target=1)
    assert slow is not None
    assert slow.value == pytest.approx(9 * MS, rel=0.002)
    assert pooled_times(seen).count == 60


def test_times_by_target_are_those_of_the_visits_that_count() -> None:
    times = [times_of([MS, 2 * MS, 2 * MS]), times_of([9 * MS] * 10, target=7)]
    held = times_by_target([*(visit(number, times=times) for number in (1, 2)), visit(3, times=times, excluded="steal 12.0%")])
    assert {target: histogram_of(parts).count for target, parts in held.items()} == {0: 6, 7: 20}
    first = histogram_of(held[0])
    assert [first.percentile(percent) for percent in (30.0, 99.0)] == pytest.approx([MS, 2 * MS], rel=0.002)
    assert [int(count) for count in first.counts()[1]] == [2, 4]
    assert histogram_of([]).count == 0


def test_what_became_of_requests_and_visits() -> None:
    seen = [visit(1, valid=9, failed=1), visit(2, valid=10), visit(3, excluded="steal 12.0%"), visit(4, failed=2, excluded="steal 100.0%")]
    seen.append(visit(5, excluded="generator late for 31.5%"))
    found = tally(seen)
    assert (found.visits, found.counted, found.requests, found.valid, found.failed) == (5, 2, 20, 19, 1)
    assert found.kinds == {"closed_early": 1}
    assert found.excluded == {"steal": 2, "generator late": 1}
    assert found.failed_apart == 2


def test_the_queue_is_weighed_by_samples() -> None:
    levels = QueueLevels(samples=9, failed=0, most=3, mean=1.0, share=1.0, full=0.0, limit=511)
    one, other = structs.replace(visit(1), queue=levels), structs.replace(visit(2), queue=structs.replace(levels, samples=1, share=0.0))
    assert queue_share([one, other]) == pytest.approx(0.9)
    assert queue_share([visit(1)]) is None
    assert busy_workers([structs.replace(visit(1), busy_workers=2.0), structs.replace(visit(2), busy_workers=4.0), visit(3)]) == 3.0
    assert busy_workers([visit(1)]) is None


def test_readings_for_the_bottleneck_are_sums_over_the_rounds_that_count() -> None:
    cpu = VisitCpu(500 * MS, 100 * MS, web_ns=50 * MS, php_cores_ns=600 * MS, wall_ns=1010 * MS)
    seen = [visit(1, cpu=cpu), visit(2, cpu=structs.replace(cpu, web_ns=None)), visit(3, cpu=cpu, excluded="steal 12.0%")]
    load = load_over(seen, workers=5, php_cores=(1,), helper_cores=(0,))
    assert load is not None
    assert (load.duration_ns, load.php_ns, load.generator_ns, load.web_ns) == (2020 * MS, 1000 * MS, 200 * MS, None)
    assert (load.php_cores_ns, load.concurrency, load.workers) == (1200 * MS, 5, 5)
    beside = load_over(seen, workers=5, php_cores=(1,), helper_cores=(0,), web_beside_php=True)
    assert beside is not None
    assert (beside.php_ns, beside.web_ns) == (1050 * MS, None)
    assert load_over([visit(1, excluded="steal 12.0%")], workers=5, php_cores=(1,), helper_cores=(0,)) is None
    # The generator of an open loop spins: its core would look full.
    assert load_over([visit(1, point=Point(100, 0.7))], workers=5, php_cores=(1,), helper_cores=(0,)) is None
