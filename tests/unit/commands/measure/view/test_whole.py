"""A sweep's view: which figures are shown, with which intervals, and what is said of them."""

import pytest
from msgspec import structs

from phpdyno.commands.measure.view.points import LEAST_BEYOND, all_reached, children_reached, memory_row, queue_row, requests_beyond
from phpdyno.commands.measure.view.shape import ArmRow, PointRow, SweepView
from phpdyno.commands.measure.view.whole import best_of, knee_of, sweep_view
from phpdyno.experiment.sweep.limits import limit_of
from phpdyno.journal.sweep import Lengths, SweepEnded, SweepHost
from phpdyno.model.runs.readings import PoolMemory, PoolStatus, QueueLevels
from phpdyno.model.runs.sweep import Point, Visit, VisitCpu
from phpdyno.report.bottleneck import bottleneck_sentence
from phpdyno.stats.visits import visits_of
from tests.support.made_up.journals import preflight
from tests.support.made_up.sweeps.sweep_runs import STATIC, empty_sweep, full_sweep, made_visit, short_sweep, sweep_of, sweep_plan, visits
from tests.support.made_up.sweeps.sweeps import times_of, visit


@pytest.fixture(scope="module")
def view() -> SweepView:
    return sweep_view(full_sweep(), "run")


def point(view: SweepView, arm: str, concurrency: int) -> PointRow:
    return next(row for row in view.points if (row.arm, row.concurrency) == (arm, concurrency))


def arm_of(view: SweepView, name: str) -> ArmRow:
    return next(row for row in view.arms if row.name == name)


def test_every_arm_has_every_point_closed_loops_by_concurrency_first(view: SweepView) -> None:
    assert [(row.arm, row.loop, row.concurrency) for row in view.points[:9]] == [
        *(("default", "closed", load) for load in (1, 3, 5, 10, 20, 30, 40, 50)),
        ("default", "open", 100),
    ]
    assert {row.arm for row in view.points} == {"default", STATIC}
    assert (view.rounds, view.outcome, view.elapsed_s) == (5, "finished", 96.0)


def test_throughput_has_an_interval_over_rounds(view: SweepView) -> None:
    found = point(view, "default", 10).per_s
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert found.rounds == 5
    assert 1700 < found.value < 1900


def test_an_excluded_visit_is_counted_and_not_in_the_figures(view: SweepView) -> None:
    row = point(view, "default", 3)
    assert (row.visits, row.excluded) == (4, 1)
    assert row.per_s is not None
    assert row.per_s.rounds == 4
    assert [(each.round, each.excluded) for each in view.visits if each.excluded] == [(2, "steal 12.0%")] * 2


def test_two_rounds_have_no_interval_and_say_so() -> None:
    held = sweep_view(short_sweep(), "run")
    for row in held.points:
        assert row.per_s is not None
        assert (row.per_s.low, row.per_s.high) == (None, None)
    assert "no interval: 2 rounds" in held.sentences[0]
    assert (held.outcome, held.outcome_detail) == ("interrupted", "SIGINT")


def test_without_a_finished_round_nothing_is_made_up() -> None:
    held = sweep_view(empty_sweep(), "run")
    assert held.outcome == "unfinished"
    assert all(row.per_s is None and row.cpu is None and not row.percentiles and not row.sentence for row in held.points)
    assert held.sentences == ("default: nothing measured that counts", f"{STATIC}: nothing measured that counts")


def test_a_session_without_an_end_is_unfinished() -> None:
    plan = sweep_plan()
    begun = sweep_of(plan, visits(plan, 3), ends=(SweepEnded("interrupted", "SIGINT", 30.0),))
    assert sweep_view(begun, "run").outcome == "interrupted"
    again = structs.replace(begun, hosts=(*begun.hosts, SweepHost(preflight().host, ("a warning",))))
    assert (sweep_view(again, "run").outcome, sweep_view(again, "run").outcome_detail) == ("unfinished", "")
    assert sweep_view(again, "run").warnings == ("a warning",)


# ---- percentiles --------------------------------------------------------------------------------


def answered(count: int, number: int = 1) -> Visit:
    """Visits whose times are 1, 2, … milliseconds."""
    return visit(number, point=Point(1), valid=count, times=(times_of([1_000_000 * (each + 1) for each in range(count)]),))


def shown(*held: Visit) -> dict[float, int]:
    plan = structs.replace(sweep_plan(points=(Point(1),)), arms=(sweep_plan().arms[0],))
    renamed = [structs.replace(each, arm="default") for each in held]
    (row,) = sweep_view(sweep_of(plan, renamed), "run").points
    return {each.percent: each.beyond for each in row.percentiles}


@pytest.mark.parametrize(
    ("count", "percents"),
    [(19, []), (20, [50.0]), (99, [50.0]), (100, [50.0, 90.0]), (199, [50.0, 90.0]), (1000, [50.0, 90.0, 95.0, 99.0])],
)
def test_a_percentile_is_shown_where_ten_requests_lie_beyond_it(count: int, percents: list[float]) -> None:
    assert list(shown(answered(count))) == percents


def test_all_visits_together_may_back_what_one_alone_does_not() -> None:
    backed = shown(answered(500, 1), answered(500, 2))
    assert backed[99.0] == 10
    assert requests_beyond(100_000, 99.99) == LEAST_BEYOND


def test_targets_have_percentiles_of_their_own(view: SweepView) -> None:
    row = point(view, "default", 10)
    assert [(each.target, each.valid > 0) for each in row.targets] == [("/", True), ("/feed/", True)]
    assert sum(each.valid for each in row.targets) == row.valid
    assert sweep_view(short_sweep(), "run").points[0].targets == ()


# ---- CPU, queue, memory, workers ----------------------------------------------------------------


def test_cpu_is_split_and_network_is_not_added_where_it_is_contained(view: SweepView) -> None:
    cpu = point(view, "default", 10).cpu
    assert cpu is not None
    assert cpu.nginx is not None
    assert cpu.database is None
    assert cpu.network is not None
    assert cpu.total.value == pytest.approx(cpu.php.value + cpu.nginx.value, rel=1e-3)
    assert cpu.network_apart is False


def test_network_that_is_accounted_apart_is_added() -> None:
    plan = sweep_plan(points=(Point(5),))
    held = [structs.replace(each, cpu=structs.replace(each.cpu, network_apart=True)) for each in visits(plan, 3)]
    cpu = sweep_view(sweep_of(plan, held), "run").points[0].cpu
    assert cpu is not None
    assert cpu.nginx is not None
    assert cpu.network is not None
    assert cpu.total.value == pytest.approx(cpu.php.value + cpu.nginx.value + cpu.network.value, rel=1e-3)


def test_a_point_that_always_fails_some_requests_has_no_cpu_per_request(view: SweepView) -> None:
    row = point(view, "default", 50)
    assert row.cpu is None
    assert (row.requests - row.valid, row.failures) == (15, {"timed_out": 5, "wrong_status (502)": 10})


def test_queues_of_visits_are_weighted_by_their_samples() -> None:
    some = QueueLevels(10, 0, 4, 2.0, 0.5, 0.0, 511)
    more = QueueLevels(30, 1, 9, 6.0, 1.0, 0.2, 511)
    row = queue_row([some, more, QueueLevels(0, 3, None, None, None, None, None)])
    assert row is not None
    assert (row.samples, row.most, row.limit) == (40, 9, 511)
    assert row.mean == pytest.approx(5.0)
    assert row.share == pytest.approx(0.875)
    assert row.full == pytest.approx(0.15)
    assert queue_row([QueueLevels(0, 2, None, None, None, None, None)]) is None


def test_memory_is_the_median_of_the_visits() -> None:
    held = [PoolMemory(workers, 1000 * workers, 900.0 + workers, 300.0, None, 8000, unread=workers - 4) for workers in (4, 5, 5)]
    row = memory_row(held)
    assert row is not None
    assert (row.workers, row.pss_pool_kib, row.pss_worker_kib, row.shared_kib, row.unread) == (5, 5000, 905.0, None, 1)
    assert memory_row([]) is None


def test_max_children_reached_is_what_each_point_added_to_the_counter() -> None:
    def counted(number: int, load: int, reached: int) -> Visit:
        return structs.replace(visit(number, point=Point(load)), status=PoolStatus(9, 0, 0, 0, 1, 4, 5, 5, reached, 0))

    held = [counted(1, 10, 2), counted(1, 1, 2), counted(1, 20, 5), counted(2, 20, 4), counted(2, 10, 5), counted(2, 1, 5)]
    assert children_reached(held) == {Point(10): 3, Point(1): 0, Point(20): 7}
    assert all_reached(held) == 10
    assert children_reached([visit(1)]) == {}
    assert all_reached([visit(1)]) is None


def test_what_grew_before_php_fpm_was_asked_is_no_single_points() -> None:
    def asked(number: int, load: int, reached: int | None) -> Visit:
        status = None if reached is None else PoolStatus(9, 0, 0, 0, 1, 4, 5, 5, reached, 0)
        return structs.replace(visit(number, point=Point(load)), status=status)

    held = [asked(1, 20, None), asked(1, 50, 9), asked(1, 10, 12), asked(2, 50, 4), asked(2, 20, None), asked(2, 10, 11)]
    assert children_reached(held) == {Point(10): 3, Point(50): 4}
    assert all_reached(held) == 12 + 11


def test_the_most_that_were_busy_is_known_of_the_largest_closed_loop_only(view: SweepView) -> None:
    # php-fpm counts since its start, and is asked after the largest load: of smaller ones it would
    # say the same.
    assert [point(view, STATIC, load).max_active for load in (1, 50, 100)] == [None, 10, None]
    assert arm_of(view, STATIC).max_active == 10


def test_memory_of_an_arm_is_that_of_its_largest_load(view: SweepView) -> None:
    memory = arm_of(view, STATIC).memory
    assert memory is not None
    assert (memory.workers, memory.pss_pool_kib) == (10, 20480 + 30720)


# ---- findings -----------------------------------------------------------------------------------


def test_best_and_knee(view: SweepView) -> None:
    rows = [row for row in view.points if row.arm == "default"]
    best = best_of(rows)
    assert best is not None
    assert best.per_s is not None
    assert arm_of(view, "default").best == best.concurrency
    assert knee_of(rows, best.per_s) == 3
    assert best_of([]) is None


def test_a_knee_at_the_largest_load_may_rise_further() -> None:
    plan = sweep_plan(points=(Point(1), Point(2)))
    fast = [made_visit(plan, plan.arms[0], each, number) for number in (1, 2, 3) for each in plan.points]
    faster = [structs.replace(each, drive_ns=each.drive_ns // (2 if each.point.concurrency == 2 else 1)) for each in fast]
    row = arm_of(sweep_view(sweep_of(plan, faster), "run"), "default")
    assert (row.best, row.knee, row.rising) == (2, 2, True)
    assert "the largest that was measured: more may bring more" in row.sentence


def test_the_bottleneck_is_named_where_the_best_is(view: SweepView) -> None:
    assert point(view, "default", 10).bottleneck == "php"
    assert point(view, "default", 1).bottleneck == "concurrency"
    assert "PHP's CPU is the limit" in arm_of(view, "default").sentence


def test_an_open_loop_has_response_times_its_rate_and_no_bottleneck(view: SweepView) -> None:
    row = point(view, "default", 100)
    assert (row.times, row.offered_per_s, row.bottleneck, row.late, row.queued) == ("response", 1260.0, None, False, 15)
    assert row.lag_p99_ms == pytest.approx(0.02)
    said = "with 1,260 per second offered (70 % of saturation in the first round) the response time is p50"
    assert said in arm_of(view, "default").sentence


def test_threads_of_the_generator_and_a_budget_that_grew_are_told() -> None:
    plan = structs.replace(sweep_plan(points=(Point(5),)), most_budget_s=1200.0)
    held = sweep_of(plan, [structs.replace(each, threads=3) for each in visits(plan, 3)])
    told = {row.name: row.value for row in sweep_view(held, "run").environment}
    assert told["load generator"] == "3 threads, as a single one was the limit in the first round"
    assert "budget 2 min, seed" in told["decided beforehand"]
    longer = sweep_view(structs.replace(held, lengths=Lengths({}, {}, 3, 3, 420.0)), "run")
    assert longer.budget_s == 420.0
    assert any("budget 7 min (what three rounds need), seed" in row.value for row in longer.environment)
    usual = sweep_view(sweep_of(plan, visits(plan, 3)), "run")
    assert "load generator" not in {row.name for row in usual.environment}


def test_a_late_generator_is_told_even_where_its_visits_do_not_count() -> None:
    plan = sweep_plan(points=(Point(5), Point(100, 0.7)))
    held = [
        structs.replace(each, lag_p99_ns=10**9, excluded="generator late") if each.point.open_share and each.round == 1 else each
        for each in visits(plan, 4)
    ]
    row = point(sweep_view(sweep_of(plan, held), "run"), "default", 100)
    assert (row.late, row.visits, row.excluded) == (True, 3, 1)


def test_an_open_loop_that_got_no_answer_makes_the_generator_no_late_one() -> None:
    plan = sweep_plan(points=(Point(5), Point(100, 0.7)))
    held = [structs.replace(each, valid=0, times=(), lag_p99_ns=1) if each.point.open_share else each for each in visits(plan, 3)]
    row = point(sweep_view(sweep_of(plan, held), "run"), "default", 100)
    assert (row.late, row.visits, row.valid, row.percentiles) == (False, 3, 0, ())
    assert row.per_s is not None
    assert (row.per_s.value, row.per_s.low) == (0.0, None)


def test_a_limit_that_was_recorded_is_repeated_whatever_the_readings_would_say_today() -> None:
    plan = sweep_plan(points=(Point(5), Point(10)))
    held = sweep_of(plan, visits(plan, 3))
    arm, at = plan.arms[0], Point(10)
    host = preflight().host
    now = limit_of(plan, arm, visits_of(held.visits, arm.name, at), host)
    assert now is not None
    assert now.kind == "php"
    recorded = structs.replace(held, limits={(arm.name, at): structs.replace(now, kind="workers")})
    row = point(sweep_view(recorded, "run"), arm.name, 10)
    assert row.bottleneck == "workers"
    assert row.sentence == bottleneck_sentence(structs.replace(now, kind="workers"))


def test_a_host_that_was_not_recorded_leaves_no_bottleneck() -> None:
    plan = sweep_plan(points=(Point(5),))
    held = sweep_view(structs.replace(sweep_of(plan, visits(plan, 3)), hosts=()), "run")
    assert all(row.bottleneck is None and row.sentence == "" for row in held.points)
    assert held.host == ""


def test_rivals_stand_beside_ours_with_their_interval_or_the_reason(view: SweepView) -> None:
    wrk, ab = view.cross_checks
    assert wrk.ratio is not None
    assert wrk.ratio.low is not None
    assert wrk.ratio.high is not None
    assert wrk.ratio.low < 1.0 < wrk.ratio.high
    assert (ab.ratio, ab.detail) == (None, "it reports 12 failed requests")


def test_the_steal_of_a_visit_is_a_share_of_all_cores() -> None:
    plan = sweep_plan(points=(Point(5),))
    each = structs.replace(visits(plan, 1)[0], cpu=VisitCpu(php_ns=1, generator_ns=1, stolen_ns=500_000_000, wall_ns=1_000_000_000))
    (row, *_) = sweep_view(sweep_of(plan, (each,)), "run").visits
    assert row.steal_fraction == pytest.approx(0.25)


def test_a_sweep_of_a_study_is_repeated_without_a_seed_which_studies_do_not_take() -> None:
    made = short_sweep()
    of_a_study = structs.replace(made, header=structs.replace(made.header, argv=("study", "studies/pools.toml")))
    assert sweep_view(of_a_study, "run").repeat == "phpdyno study studies/pools.toml"
