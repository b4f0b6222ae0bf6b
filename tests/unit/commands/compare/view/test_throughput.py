import pytest
from msgspec.structs import replace

from phpdyno.commands.compare.view.costs import arm_cost
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.compare.view.words import failures, finding, sentence, sentences
from phpdyno.journal.records import BlockDone, Ended, Record
from phpdyno.model.arm import Arm
from phpdyno.model.observation import Observation
from phpdyno.model.plan import Metric, Plan
from phpdyno.report.words import rate
from tests.support.made_up.journals import CONTROL, JIT, blocks, opening, plan
from tests.support.made_up.protocol import LOADED, STATIC, TCP, full, loaded_blocks, loaded_cost
from tests.unit.commands.compare.view.test_words import ROW

THROUGHPUT: Metric = "throughput"


def loaded_plan(*loaded: Arm, cpu: tuple[Arm, ...] = ()) -> Plan:
    made = plan(*cpu, *loaded)
    return replace(made, metrics={each.name: THROUGHPUT for each in loaded}, loaded_control=LOADED)


def row(view: RunView, name: str) -> Row:
    return next(each for each in view.rows if each.name == name)


def test_the_words_of_throughput() -> None:
    better = replace(ROW, name="pool.pm=static", metric=THROUGHPUT, ratio=1.052, low=1.031, high=1.071, blocks=12)
    assert sentence(better) == "pool.pm=static: 5.2 % more requests per second (95 % CI 3.1 to 7.1 %, 12 blocks): improved, relevant"
    worse = replace(better, kind="regressed", ratio=1 / 1.25, low=1 / 1.3, high=1 / 1.2)
    assert "20.0 % fewer requests per second (95 % CI 16.7 to 23.1 %, 12 blocks): regressed" in sentence(worse)
    same = replace(better, kind="equivalent", relevance="", ratio=1.001, low=0.97, high=1.03, margin=0.05)
    assert finding(same).startswith("no effect beyond ±5 %: 0.1 % more requests per second (95 % CI 3.0 % fewer to 3.0 % more, ")
    open_ = replace(same, kind="inconclusive", reason="budget spent")
    assert finding(open_).startswith("undecided: 0.1 % more requests per second (95 % CI")


def test_each_row_has_its_own_metric_margin_and_control() -> None:
    view = view_of(full(), "run")
    assert [(each.metric, each.margin) for each in view.rows] == [("cpu", 0.01)] * 2 + [("throughput", 0.05)] * 2
    assert view.metric == "CPU per request and requests per second"
    assert "1 at a time for CPU per request and 10 at a time for requests per second" in view.workload
    assert view.loaded_control.endswith("pool.pm.max_children=10")
    assert [said.split(": ")[1].split(" (")[0] for said in sentences(view)][::2] == [
        "6.4 % less CPU per request",
        "11.0 % more requests per second",
    ]


def test_requests_per_second_count_valid_answers_over_the_time_of_driving() -> None:
    costs = [loaded_cost(1000.0, 4000), loaded_cost(500.0, 4000, failed=1000)]
    found = arm_cost(costs)
    assert found is not None
    assert found.requests_per_s == pytest.approx(7000 / (4.0 + 6.0))
    assert (found.requests, found.failed) == (8000, 1000)
    assert found.failures == {"wrong_status (502)": 750, "timed_out": 250}
    assert found.php_cpu_ms_per_request == pytest.approx(1.1)
    assert failures(found) == "1000 of 8000 (750 wrong_status (502), 250 timed_out)"


def test_an_arm_without_a_valid_answer_has_no_costs() -> None:
    assert arm_cost([replace(loaded_cost(100.0, 40), failed=40)]) is None
    assert arm_cost([]) is None


def test_the_ratio_agrees_with_the_requests_per_second() -> None:
    found = row(view_of(full(), "run"), STATIC.name)
    assert found.control is not None
    assert found.treated is not None
    assert found.ratio is not None
    assert found.treated.requests_per_s is not None
    assert found.control.requests_per_s is not None
    assert found.treated.requests_per_s / found.control.requests_per_s == pytest.approx(found.ratio, rel=0.01)


def test_failed_requests_are_warned_of() -> None:
    view = view_of(full(), "run")
    (warning,) = row(view, TCP.name).warnings
    assert warning.startswith("requests failed under the treatment: 192 of 96000 (144 wrong_status (502), 48 timed_out)")
    assert row(view, STATIC.name).warnings == ()


def test_a_cut_short_run_is_judged_by_the_rows_own_metric_and_margin() -> None:
    records: list[Record] = [
        *opening(loaded_plan(STATIC)),
        *loaded_blocks({STATIC.name: 1.02}, 30, sigma=0.01),
        Ended("interrupted", "", 9.0),
    ]
    (found,) = view_of(records, "run").rows
    assert (found.kind, found.relevance, found.margin, found.reason) == ("improved", "not relevant", 0.05, "not concluded")


def test_both_metrics_have_their_own_control_and_noise() -> None:
    view = view_of(full(), "run")
    assert [point.metric for point in view.control_costs] == ["cpu"] * 24 + ["throughput"] * 24
    loaded = [point for point in view.control_costs if point.metric == "throughput"]
    assert all(point.requests_per_s is not None and 700 < point.requests_per_s < 1100 for point in loaded)
    noise = {(point.metric, point.block): point for point in view.noise}
    assert noise["cpu", 9].steal_fraction == 0.21
    assert noise["cpu", 9].excluded
    assert not noise["throughput", 9].excluded
    assert noise["throughput", 3].lag_fraction == pytest.approx(0.05)


def test_the_worst_treatment_of_a_block_stands_for_its_noise() -> None:
    done = loaded_blocks({STATIC.name: 1.0, TCP.name: 1.0}, 3)

    def worse(block: BlockDone) -> BlockDone:
        first, second = block.observations
        late: Observation = replace(second, lag_fraction=0.4, steal_fraction=0.05)
        return replace(block, observations=(first, late))

    view = view_of([*opening(loaded_plan(STATIC, TCP)), *map(worse, done)], "run")
    assert [(point.lag_fraction, point.steal_fraction) for point in view.noise] == [(0.4, 0.05)] * 3


def test_every_exclusion_is_listed_also_of_an_invalid_arm() -> None:
    view = view_of([*opening(plan(JIT)), *blocks({JIT.name: 1.07}, 12, stolen=4)], "run")
    assert [(each.block, each.treatment, each.reason) for each in view.exclusions] == [(4, JIT.name, "steal 21.0%")]
    assert view.blocks_excluded == 1


def test_one_metric_for_all_needs_no_second_control() -> None:
    made = replace(plan(STATIC, TCP), metric=THROUGHPUT)
    view = view_of(opening(made), "run")
    assert {each.metric for each in view.rows} == {"throughput"}
    assert view.loaded_control == ""
    assert "10 at a time," in view.workload
    assert view.control.startswith(f"PHP {CONTROL.php.version}")


def test_rates() -> None:
    assert [rate(each) for each in (None, 0.5, 31.416, 982.13, 12041.4)] == ["-", "0.500", "31.42", "982.1", "12041"]
