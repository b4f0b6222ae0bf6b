from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from phpdyno.commands.tune.parts import TuneChanged
from phpdyno.commands.tune.stages.loaded import Loaded, best_of_each, of_verdict
from phpdyno.model.observation import Observation
from phpdyno.model.runs.tune import Confirmed, TunedRatio
from phpdyno.stats.comparison.conclusion import conclude
from phpdyno.stats.comparison.sequence import MIXTURE
from phpdyno.tuning.factors import Candidate, nothing_clashes
from tests.support.made_up.journals import blocks
from tests.support.made_up.sweeps.tunes import confirmed

TCP = Candidate("tcp", {"web.socket": "tcp"})
TWO, FOUR = (Candidate(f"{number} workers", {"pool.pm.max_children": number}) for number in ("2", "4"))


def better(candidate: Candidate, ratio: float) -> Confirmed:
    return confirmed(candidate.name, settings=candidate.settings, ratio=TunedRatio(ratio, ratio - 0.01, ratio + 0.01, 9))


def test_the_best_of_each_factor_go_together() -> None:
    joint = best_of_each([TCP, TWO, FOUR], [better(FOUR, 1.2), better(TWO, 1.1), better(TCP, 1.05)])
    assert joint is not None
    assert joint.name == "4 workers + tcp"
    assert joint.settings == {"pool.pm.max_children": "4", "web.socket": "tcp"}


def test_what_helped_of_one_factor_needs_no_second_comparison() -> None:
    assert best_of_each([TCP, TWO, FOUR], [better(FOUR, 1.2), better(TWO, 1.1)]) is None
    assert best_of_each([TCP, TWO], [better(TCP, 1.1)]) is None


def observed(**changes: int) -> list[Observation]:
    """Twenty blocks in which more connections that stay are 10 % better; `changes` are what the
    treated side has else."""
    seen = [each for block in blocks({TCP.name: 1.1}, 20, sigma=0.002) for each in block.observations]
    return [structs.replace(each, treated=structs.replace(each.treated, **changes)) for each in seen]


def decided(observations: list[Observation]) -> Confirmed:
    verdict = conclude(TCP.name, observations, alpha=0.05, margin=0.05, mixture=MIXTURE, metric="throughput", reason="")
    return of_verdict(TCP.settings, verdict, observations)


def test_more_throughput_is_adopted_with_what_it_was_before_and_after() -> None:
    found = decided(observed())
    assert (found.decision, found.reason) == ("adopted", "")
    assert found.before is not None
    assert found.after is not None
    assert found.after.cpu_ms < found.before.cpu_ms


def test_more_throughput_that_breaks_a_guard_rail_is_not_adopted() -> None:
    slow = decided(observed(service_p99_ns=90_000_000))
    assert (slow.kind, slow.decision) == ("improved", "not adopted")
    assert "99th percentile" in slow.reason
    failing = decided(observed(failed=3))
    assert failing.decision == "not adopted"
    assert "requests failed" in failing.reason


def test_changes_that_cannot_be_together_have_no_joint_candidate() -> None:
    better_two = [better(TCP, 1.2), better(TWO, 1.1)]
    assert best_of_each([TCP, TWO], better_two) is not None
    assert best_of_each([TCP, TWO], better_two, lambda *_: True) is None


def test_what_was_measured_under_load_is_not_passed_over_where_nothing_can_be_set_any_more() -> None:
    def measure(*_: object, **__: object) -> None:
        raise TuneChanged("what is tried is not what this tune began with")

    measurer: Any = SimpleNamespace(
        parts=SimpleNamespace(begun=lambda _: True, measure=measure),
        clock=SimpleNamespace(left_s=lambda: 60.0),
        clash=lambda *_: nothing_clashes,
        control=lambda *_: None,
    )
    search: Any = SimpleNamespace(measurer=measurer)
    with pytest.raises(TuneChanged):
        Loaded(search, measurer, {}).decide([])
