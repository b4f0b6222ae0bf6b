import math

import pytest

from phpdyno.commands.size.decision.caps import caps_of, cost_of_pools, most_to_try
from phpdyno.commands.size.decision.confirmation import rounds_of
from phpdyno.commands.size.decision.decide import decide, revise
from phpdyno.commands.size.decision.models import foretell, models_of, searched
from phpdyno.commands.size.record import MOST_ROUNDS, LimitsRead, Recommended, SizeRun, Stopped
from phpdyno.errors import DynoError
from tests.support.made_up import sizes


def decided(rate: sizes.Rate, **ask: float) -> Recommended:
    limits = sizes.limits()
    return decide(sizes.begun(limits, *sizes.searched(rate), ask=sizes.asked(**ask)))  # type: ignore[arg-type]


def test_full_cores_want_few_workers() -> None:
    found = decided(sizes.cpu_bound(cores=2))
    assert (found.workers, found.reason) == (2, "knee")
    assert found.share == pytest.approx(1.0)
    assert set(found.beside) >= {1, 3}


def test_sleeping_requests_want_many() -> None:
    found = decided(sizes.sleeping(sleep_s=0.02, cpu_s=0.0004))
    # One core serves 2,500 requests/s, each of which takes 20.4 ms: 51 workers.
    assert 49 <= found.workers <= 64
    assert found.reason == "knee"


def test_a_rate_that_is_asked_for_wants_as_few_as_hold_it() -> None:
    found = decided(sizes.sleeping(), rate_per_s=500.0)
    # Ten are at work on the mean; so that few wait, some more.
    assert 12 <= found.workers <= 20
    assert found.reason == "objective"
    assert found.rate_per_s == 500.0


def test_a_rate_on_full_cores_wants_no_more_than_the_knee() -> None:
    # Two cores that do 200 a second: at three quarters of that requests wait for a core, whatever
    # the number of workers.
    assert [decided(sizes.cpu_bound(cores=2), rate_per_s=rate).workers for rate in (20.0, 100.0, 150.0)] == [2, 2, 2]
    assert decided(sizes.cpu_bound(cores=2), rate_per_s=150.0).reason == "objective"
    assert decided(sizes.cpu_bound(cores=2), rate_per_s=250.0).reason == "nothing"


def test_few_measured_requests_make_what_is_foretold_unsure() -> None:
    pools = sizes.searched(sizes.sleeping(), noise=0.01)
    models = models_of(pools)
    few = type(models)(models.curve, models.work, models.idle, 20)
    sure, unsure = (foretell(each, 100.0, 8, seed=1) for each in (models, few))
    assert sure is not None
    assert unsure is not None
    assert unsure.high_s / unsure.low_s > sure.high_s / sure.low_s


def test_a_response_time_that_is_asked_for_is_held_by_its_whole_interval() -> None:
    found = decided(sizes.sleeping(), rate_per_s=100.0, p99_s=0.060)
    assert found.reason == "objective"
    assert found.predicted_high_ms is not None
    assert found.predicted_high_ms <= 60.0
    assert found.predicted_low_ms is not None
    assert found.predicted_p99_ms is not None
    assert found.predicted_low_ms < found.predicted_p99_ms < found.predicted_high_ms
    tighter = decided(sizes.sleeping(), rate_per_s=100.0, p99_s=0.045)
    assert tighter.workers >= found.workers


def test_a_response_time_that_a_request_alone_takes_is_held_by_no_number() -> None:
    assert decided(sizes.sleeping(), rate_per_s=10.0, p99_s=0.001).reason == "nothing"


def test_more_than_the_cores_can_do_is_held_by_no_number() -> None:
    found = decided(sizes.cpu_bound(cores=2, request_s=0.01), rate_per_s=300.0, p99_s=1.0)
    assert (found.reason, found.workers) == ("nothing", 2)


def test_memory_caps_the_pool() -> None:
    # The search itself ends where memory does.
    pools = sizes.searched(sizes.sleeping(), most=20)
    limits = sizes.limits(memory_kib=sizes.SHARED_KIB + 20 * sizes.OWN_KIB)
    found = decide(sizes.begun(limits, *pools))
    assert (found.workers, found.reason, found.cap, found.cap_by) == (20, "cap", 20, "memory")


def test_the_heaviest_target_caps_the_pool_more_tightly() -> None:
    pools = sizes.searched(sizes.sleeping(), most=20)
    limits = sizes.limits(memory_kib=sizes.SHARED_KIB + 20 * sizes.OWN_KIB)
    found = decide(sizes.begun(limits, *pools, sizes.target("/admin", own_kib=2 * sizes.OWN_KIB)))
    assert (found.workers, found.cap_by) == (10, "memory_worst")


def test_a_leak_caps_the_pool_as_far_as_it_is_let_grow() -> None:
    pools = sizes.searched(sizes.cpu_bound(cores=2))
    limits = sizes.limits(memory_kib=sizes.SHARED_KIB + 30 * sizes.OWN_KIB)
    steady = caps_of(sizes.asked(), limits, pools, [sizes.target()]).most
    leaking = caps_of(sizes.asked(), limits, pools, [sizes.target(leak_kib=0.5)]).most
    assert steady == 30
    assert leaking is not None
    assert leaking < 20


def test_other_pools_take_their_part_of_the_memory() -> None:
    pools = sizes.searched(sizes.sleeping(), most=10)
    limits = sizes.limits(memory_kib=sizes.SHARED_KIB + 30 * sizes.OWN_KIB, others=20 * sizes.OWN_KIB)
    assert decide(sizes.begun(limits, *pools)).workers == 10


def test_the_databases_connections_cap_the_pool() -> None:
    # dexonline #854: more workers than MySQL's max_connections.
    pools = sizes.searched(sizes.sleeping(), most=30)
    found = decide(sizes.begun(sizes.limits(connections=30), *pools))
    assert (found.workers, found.reason, found.cap_by) == (30, "cap", "max_connections")


def test_throughput_that_still_rises_where_the_user_ends_the_search_is_told_as_that() -> None:
    found = decide(sizes.begun(sizes.limits(), *sizes.searched(sizes.sleeping(), most=12), ask=sizes.asked(most=12)))
    assert (found.workers, found.reason, found.cap_by) == (12, "cap", "asked")


def test_not_even_one_worker_is_an_error() -> None:
    pools = sizes.searched(sizes.sleeping(), most=1)
    with pytest.raises(DynoError, match="not even one worker fits"):
        decide(sizes.begun(sizes.limits(memory_kib=2_000), *pools))


def test_a_pool_that_exhausted_memory_caps_what_is_recommended() -> None:
    pools = [each for each in sizes.searched(sizes.sleeping()) if each.workers <= 16]
    found = decide(sizes.begun(sizes.limits(), *pools, Stopped("search", 17, 1000)))
    assert (found.workers, found.reason) == (16, "cap")
    assert max(found.beside) <= 16, "a pool that was stopped is not started again"


def test_the_limit_of_a_larger_pool_is_told_before_it_is_started() -> None:
    pools = sizes.searched(sizes.sleeping(), most=8)
    limits = sizes.limits()
    few = sizes.asked(most=12)
    assert most_to_try(few, limits, pools) == 12
    tight = LimitsRead(limits.limits, free_kib=sizes.SHARED_KIB + 10 * sizes.OWN_KIB)
    assert 6 <= most_to_try(sizes.asked(), tight, pools) < 10


def test_memory_of_a_pool_is_a_line_through_the_largest_sizes() -> None:
    cost = cost_of_pools(sizes.searched(sizes.sleeping()))
    assert cost is not None
    assert cost.private_kib == pytest.approx(sizes.OWN_KIB)
    assert cost.once_kib == pytest.approx(sizes.SHARED_KIB)
    assert cost_of_pools([]) is None


def test_resident_sizes_never_divide_the_memory() -> None:
    # apcu #312: 230 MB resident, 211 of them shared, times 32 is no 7.4 GB.
    pools = sizes.searched(sizes.cpu_bound(cores=8))
    most = caps_of(sizes.asked(most=4000), sizes.limits(memory_kib=4 << 20), pools).most
    assert most is not None
    assert most > (4 << 20) / (sizes.OWN_KIB + sizes.SHARED_KIB)


def test_idle_workers_cost_is_seen_where_it_is_there_and_not_where_it_is_not() -> None:
    dear = models_of(sizes.searched(sizes.sleeping(), idle=0.06, noise=0.002))
    assert dear.idle.seen
    assert dear.idle.factor(2, 1) == pytest.approx(1.06, abs=0.02)
    # Its interval holds with 95 %: of forty searches without any cost two are expected to see one,
    # seven by chance in a thousand.
    seen = [models_of(sizes.searched(sizes.sleeping(), most=32, noise=0.01, seed=seed)).idle.seen for seed in range(40)]
    assert sum(seen) < 7


def test_the_curve_has_intervals_of_the_visits_own_scatter() -> None:
    calm = models_of(sizes.searched(sizes.sleeping(), noise=0.002)).curve
    wild = models_of(sizes.searched(sizes.sleeping(), noise=0.05)).curve
    few = models_of(sizes.searched(sizes.sleeping(), most=4, noise=0.002)).curve

    def width(curve: object) -> float:
        point = curve.points[0]  # type: ignore[attr-defined]
        return math.log(point.high_per_s / point.low_per_s)

    assert width(calm) < width(wild)
    assert width(few) > width(calm), "where too few pairs tell the scatter, more of it is taken for granted"


# ---- what the confirmation changes --------------------------------------------------------------


def misled(true_rate: sizes.Rate, *, workers: int, beside: tuple[int, ...]) -> SizeRun:
    """A run whose search took `workers` for the answer, confirmed on what is true."""
    run = sizes.begun(sizes.limits(), *sizes.searched(true_rate))
    chosen = Recommended(workers, "knee", 1.0, None, "", workers, beside, 10.0, None, None, None)
    return sizes.added(run, chosen, *sizes.confirmed(true_rate, chosen))


def test_a_larger_pool_that_does_certainly_more_takes_its_place() -> None:
    other = revise(misled(sizes.sleeping(), workers=20, beside=(16, 25)))
    assert other is not None
    assert other.workers == 25
    assert other.beside


def test_a_smaller_pool_that_does_certainly_as_much_takes_its_place() -> None:
    other = revise(misled(sizes.cpu_bound(cores=2), workers=6, beside=(5, 8)))
    assert other is not None
    assert other.workers == 5


def test_what_is_confirmed_stands_and_is_revised_once_only() -> None:
    run = misled(sizes.cpu_bound(cores=2), workers=2, beside=(1, 3))
    assert revise(run) is None
    twice = misled(sizes.sleeping(), workers=20, beside=(16, 25))
    other = revise(twice)
    assert other is not None
    assert revise(sizes.added(twice, other)) is None


def test_of_larger_pools_that_do_more_the_smallest_takes_its_place() -> None:
    other = revise(misled(sizes.sleeping(), workers=20, beside=(16, 25, 40)))
    assert other is not None
    assert other.workers == 25


def test_an_objective_that_was_missed_is_tried_with_a_larger_pool() -> None:
    run = sizes.begun(sizes.limits(), *sizes.searched(sizes.sleeping()), ask=sizes.asked(p99_s=0.001, rate_per_s=50.0))
    chosen = Recommended(12, "objective", 0.3, None, "", 51, (10, 15), 50.0, None, None, None)
    other = revise(sizes.added(run, chosen, *sizes.confirmed(sizes.sleeping(), chosen)))
    assert other is not None
    assert (other.workers, other.reason) == (15, "unsure")


def test_rounds_that_chose_a_pool_are_not_those_that_confirm_it() -> None:
    run = misled(sizes.sleeping(), workers=20, beside=(16, 25))
    other = revise(run)
    assert other is not None
    run = sizes.added(run, other)
    assert rounds_of(run) == ()
    later = sizes.confirmed(sizes.sleeping(), other, after=MOST_ROUNDS)
    assert rounds_of(sizes.added(run, *later)) == tuple(later)


def test_an_objective_is_never_revised_by_throughput() -> None:
    run = sizes.begun(sizes.limits(), *sizes.searched(sizes.sleeping()))
    chosen = Recommended(12, "objective", 0.3, None, "", 51, (10, 15), 400.0, None, None, None)
    assert revise(sizes.added(run, chosen, *sizes.confirmed(sizes.sleeping(), chosen))) is None


def test_the_search_is_read_smallest_first() -> None:
    pools = sizes.searched(sizes.sleeping())
    assert [each.workers for each in searched(sizes.begun(*reversed(pools)))] == sorted(each.workers for each in pools)
