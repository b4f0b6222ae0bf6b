"""What a block's slots are reduced to. The slots are made up: `FakeSamples` stands for what a
driver returns."""

import math
from collections import Counter
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from phpdyno.drive.driver import GIVEN_UP, Samples
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, SlotReading
from phpdyno.experiment.comparison import block as block_module
from phpdyno.experiment.comparison.block import (
    BlockReading,
    PairReading,
    fails_more,
    is_measurable,
    lag_fraction,
    measure_block,
    observe,
    slot_failed,
)
from phpdyno.experiment.comparison.schedule import Pair
from phpdyno.model.plan import Metric
from phpdyno.servers.facts.meter import Meter
from tests.support.made_up.journals import AA, plan

MS = 1_000_000


def slot(*, valid: int = 10, failed: int = 0, php_ms: float = 20.0, drive_ms: float = 30.0, unfilled_ms: float = 0.0) -> SlotReading:
    count = valid + failed
    fake_samples = SimpleNamespace(
        sent_ns=np.zeros(count, dtype=np.uint64),
        done_ns=np.full(count, int(drive_ms * MS / max(1, valid)), dtype=np.uint64),
        outcome=np.array([0] * valid + [1] * failed, dtype=np.uint8),
    )
    kinds = Counter({"wrong_status (502)": failed}) if failed else Counter()
    wall = int(drive_ms * MS)
    return SlotReading(int(php_ms * MS), 0, 0, 0, wall, cast(Samples, fake_samples), wall, int(unfilled_ms * MS), kinds)


def reading(*pairs: tuple[SlotReading, SlotReading], steal: float = 0.0) -> BlockReading:
    pair = Pair(AA.name, control_first=True, sequence=np.zeros(1, dtype=np.uint32))
    return BlockReading(tuple(PairReading(pair, *both) for both in pairs), {}, steal)


def observed(block: BlockReading, metric: Metric = "cpu") -> float:
    seen = observe(0, AA.name, block, plan=plan(AA), metric=metric)
    assert seen is not None
    return seen.log_ratio


def test_cpu_is_the_ratio_of_totals() -> None:
    block = reading((slot(php_ms=10), slot(php_ms=5)), (slot(php_ms=90), slot(php_ms=45)))
    assert observed(block) == pytest.approx(math.log(2))


def test_throughput_is_valid_completions_over_time_both_in_total() -> None:
    # Nine slots at 0.95 s, and one in which nearly all answers were quick failures: 1802 valid in
    # 8.59 s against 2000 in 10 s.
    good = [(slot(valid=200, drive_ms=1000), slot(valid=200, drive_ms=950))] * 9
    bad = (slot(valid=200, drive_ms=1000), slot(valid=2, failed=198, drive_ms=40))
    assert observed(reading(*good, bad), "throughput") == pytest.approx(math.log((1802 / 8.59) / (2000 / 10.0)))


def test_the_cpu_of_each_service_is_added_up_by_its_name() -> None:
    one, two = (structs.replace(slot(), services_ns={"cache": ns, "mail": 7}) for ns in (100, 250))
    seen = observe(0, AA.name, reading((one, two), (one, two)), plan=plan(AA), metric="cpu")
    assert seen is not None
    assert (seen.control.services_cpu_ns, seen.treated.services_cpu_ns) == ({"cache": 200, "mail": 14}, {"cache": 500, "mail": 14})
    assert seen.treated.stack_cpu_ns == seen.treated.php_cpu_ns + 514


def test_failures_are_counted_by_kind() -> None:
    seen = observe(0, AA.name, reading((slot(), slot(valid=7, failed=3))), plan=plan(AA), metric="throughput")
    assert seen is not None
    assert (seen.treated.requests, seen.treated.failed, seen.treated.kinds) == (10, 3, {"wrong_status (502)": 3})


@pytest.mark.parametrize(
    ("control", "treated", "fails"),
    [
        ((400, 0), (400, 0), False),
        ((400, 0), (80, 320), True),
        ((400, 0), (370, 30), True),
        ((400, 0), (398, 2), False),
        # A crowded site fails for both, in bursts.
        ((160, 240), (100, 300), False),
        ((100, 300), (400, 0), False),
    ],
)
def test_a_treatment_that_fails_far_more_often_than_its_control_has_failed(
    control: tuple[int, int], treated: tuple[int, int], fails: bool
) -> None:
    pairs = [(slot(valid=control[0], failed=control[1]), slot(valid=treated[0], failed=treated[1]))] * 2
    said = fails_more(reading(*pairs).pairs)
    assert bool(said) == fails
    assert not fails or f"{2 * treated[1]} of 800 ({2 * treated[1]} wrong_status (502)), and of the control's 0 of 800" == said


def test_slots_that_cost_php_nothing_yield_no_observation() -> None:
    static = reading((slot(php_ms=0), slot(php_ms=0)), (slot(php_ms=3), slot(php_ms=0)))
    assert not is_measurable(static.pairs, "cpu")
    assert observe(0, AA.name, static, plan=plan(AA), metric="cpu") is None
    assert observe(0, AA.name, reading(), plan=plan(AA), metric="cpu") is None
    ended = reading((slot(php_ms=-5), slot()), (slot(), slot()))
    assert observe(0, AA.name, ended, plan=plan(AA), metric="cpu") is None


@pytest.mark.parametrize(
    ("steal", "unfilled_ms", "metric", "expected"),
    [
        (0.0, 0.0, "cpu", ""),
        (0.5, 0.0, "cpu", ""),
        (0.7, 0.0, "cpu", "steal 70.0%"),
        (0.0, 30.0, "cpu", ""),  # a worker that waits for the generator costs nothing
        (0.0, 70.0, "cpu", "generator late for 70.0%"),
        (0.0, 30.0, "throughput", "generator late for 50.0%"),
    ],
)
def test_covariates_declared_beforehand_exclude_a_block(steal: float, unfilled_ms: float, metric: Metric, expected: str) -> None:
    block = reading((slot(unfilled_ms=unfilled_ms), slot(unfilled_ms=unfilled_ms)), steal=steal)
    seen = observe(0, AA.name, block, plan=plan(AA), metric=metric)
    assert seen is not None
    assert seen.excluded == expected


def test_the_lag_of_slots_with_failures_is_not_reckoned() -> None:
    assert lag_fraction(reading((slot(valid=5, failed=5, unfilled_ms=30), slot())).pairs) == 0.0


def test_dear_requests_weigh_more_in_the_spread_than_in_the_pairs_own_ratios() -> None:
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(400):
        cost = 200.0 if rng.random() < 0.05 else 5.0
        pairs.append((slot(php_ms=cost * math.exp(rng.normal(0, 0.05))), slot(php_ms=cost * math.exp(rng.normal(0, 0.05)))))
    seen = observe(0, AA.name, reading(*pairs), plan=plan(AA), metric="cpu")
    assert seen is not None
    assert seen.pair_sigma == pytest.approx(0.05 * math.sqrt(2), rel=0.1)
    assert seen.pair_spread > 2 * seen.pair_sigma


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [({"timed_out": 4}, ""), ({"timed_out": 4, "abandoned": 6}, "4 timed_out; the rest (6) not sent or not waited for")],
)
def test_a_slot_cut_short_because_the_server_hangs_fails_its_arm_whatever_was_answered_before(
    kinds: dict[str, int], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakeLane:
        instance = SimpleNamespace(arm=SimpleNamespace(name="control"), worker_kib=lambda: None)

        def begin(self) -> None:
            pass

    control, treated = cast(DrivenInstance, FakeLane()), cast(DrivenInstance, FakeLane())
    cut = structs.replace(slot(valid=10, failed=sum(kinds.values())), failures=Counter(kinds))
    monkeypatch.setattr(block_module, "measure_slot", lambda driven, *_: cut if driven is treated else slot(valid=20))
    pair = Pair(AA.name, control_first=True, sequence=np.zeros(1, dtype=np.uint32))
    shared = SharedMeters(None, cast(Meter, None))
    found = measure_block([pair], control=control, treatments={AA.name: treated}, shared=shared, metric="throughput", tick=lambda: None)
    assert found.failed.get(AA.name, "") == expected
    assert len(found.pairs) == (0 if expected else 1)


def test_what_opens_a_stretch_is_asked_of_both_in_turn_and_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeLane:
        instance = SimpleNamespace(arm=SimpleNamespace(name="control"), worker_kib=lambda: None)

        def begin(self) -> None:
            pass

    control, treated = cast(DrivenInstance, FakeLane()), cast(DrivenInstance, FakeLane())
    asked: list[tuple[str, list[int]]] = []

    def fake_slot(driven: DrivenInstance, _: SharedMeters, sequence: NDArray[np.uint32]) -> SlotReading:
        asked.append(("control" if driven is control else "treated", sequence.tolist()))
        return slot(valid=1)

    monkeypatch.setattr(block_module, "measure_slot", fake_slot)
    opening = tuple(np.array([target], dtype=np.uint32) for target in (3, 1))
    pair = Pair(AA.name, control_first=False, sequence=np.zeros(1, dtype=np.uint32), opening=opening)
    shared = SharedMeters(None, cast(Meter, None))
    found = measure_block([pair], control=control, treatments={AA.name: treated}, shared=shared, tick=lambda: None)
    assert asked == [(who, [target]) for target in (3, 1, 0) for who in ("treated", "control")]
    assert len(found.pairs) == 1


def test_a_step_of_the_clock_of_the_day_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeLane:
        instance = SimpleNamespace(worker_kib=lambda: 2048)

        def begin(self) -> None:
            pass

    offsets = iter([1_000_000_000, 6_500_000_000])
    monkeypatch.setattr(block_module, "_clock_offset_ns", lambda: next(offsets))
    driven = cast(DrivenInstance, FakeLane())
    found = measure_block([], control=driven, treatments={}, shared=SharedMeters(None, cast(Meter, None)), tick=lambda: None)
    assert found.clock_step_s == 5.5
    assert found.worker_kib == {block_module.CONTROL: 2048}
    assert found.pairs == ()


def test_under_load_a_slot_fails_where_requests_were_given_up_and_not_by_one_wrong_status() -> None:
    one = slot(valid=9, failed=1)
    hung = structs.replace(one, failures=Counter({GIVEN_UP: 1}))
    assert [slot_failed(each, "throughput") for each in (one, hung, slot(valid=0, failed=1), slot())] == [False, True, True, False]
    assert [slot_failed(each, "cpu") for each in (one, hung, slot())] == [True, True, False]
