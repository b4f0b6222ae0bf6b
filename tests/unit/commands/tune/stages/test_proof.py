"""What is adopted of a winner, by what its stages measure on fresh instances: batches are made up,
decisions are the real ones."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from phpdyno.commands.tune.measurer import Batches
from phpdyno.commands.tune.stages import proof as tune_proof
from phpdyno.commands.tune.stages.proof import ABLATE, AGAIN, CONFIRM, ProofStage
from phpdyno.commands.tune.stages.search import Winner
from phpdyno.model.observation import Observation
from phpdyno.model.runs.tune import Found, StageTime
from phpdyno.stats.comparison.sequence import MIXTURE
from phpdyno.tuning.factors import Candidate, Factor, entry
from tests.support.made_up.journals import blocks

FACTORS = tuple(Factor(name, (Candidate(f"{name}=1", {f"ini.{name}": "1"}),)) for name in ("a", "b"))
BOTH = entry(FACTORS, (1, 1))
ONLY_A = entry(FACTORS, (1, 0))
NUMBER = 20


class FakeLab:
    """As much of a laboratory as decisions need."""

    asked = SimpleNamespace(goal="cpu")
    alpha, margin, metric, most_arms = 0.05, 0.01, "cpu", 32

    def blocks(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(mixture=MIXTURE, pairs=10, decidable=0.01)

    def arm(self, name: str, *_: object) -> str:
        return name


class FakeSearch:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.measurer = FakeLab()
        self.found = Found()
        self.notes: list[str] = []

    def begin(self, stage: Any) -> StageTime:
        return StageTime(stage, 60.0, 600.0, 0.01)

    def take(self, **changes: object) -> None:
        self.found = structs.replace(self.found, **changes)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tell(self, _: str) -> None:
        pass


def batches(effects: Mapping[str, float], invalid: Mapping[str, str] | None = None) -> Batches:
    seen: tuple[Observation, ...] = tuple(each for block in blocks(dict(effects), NUMBER, sigma=0.002) for each in block.observations)
    return Batches((seen,), dict(invalid or {}))


PARTS = {BOTH.name: 1.08, "without a": 1.03, "without b": 1.05}
CONFIRMED = {CONFIRM: batches({BOTH.name: 1.08}), ABLATE: batches(PARTS)}


def proved(monkeypatch: pytest.MonkeyPatch, stages: Mapping[str, Batches]) -> tuple[dict[str, str], FakeSearch]:
    monkeypatch.setattr(tune_proof, "run_batches", lambda measurer, stage, *_, **__: stages[stage])
    search: Any = FakeSearch()
    return ProofStage(search, SimpleNamespace()).prove(Winner(FACTORS, BOTH)), search  # type: ignore[arg-type]


def test_what_is_confirmed_twice_is_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    adopted, search = proved(monkeypatch, {**CONFIRMED, AGAIN: batches({BOTH.name: 1.08, "+ b=1": 1.05})})
    assert adopted == BOTH.settings
    assert [each.decision for each in search.found.confirmations] == ["adopted", "adopted"]
    assert [each.kept for each in search.found.parts] == [True, True]


def test_that_it_is_not_shown_a_second_time_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    adopted, _ = proved(monkeypatch, {**CONFIRMED, AGAIN: Batches()})
    assert adopted == BOTH.settings


@pytest.mark.parametrize(
    ("stage", "found", "words"),
    [
        (AGAIN, batches({BOTH.name: 1.08}, {BOTH.name: "worker ended by signal 11"}), "signal 11"),
        (AGAIN, batches({BOTH.name: 0.95}), "worse than the control"),
        (ABLATE, batches(PARTS, {BOTH.name: "another answer"}), "another answer"),
    ],
)
def test_what_fails_later_is_not_adopted_although_it_was_confirmed(
    monkeypatch: pytest.MonkeyPatch, stage: str, found: Batches, words: str
) -> None:
    adopted, search = proved(monkeypatch, {**CONFIRMED, AGAIN: Batches(), stage: found})
    assert adopted == {}
    assert words in search.notes[-1]
    assert all(each.decision != "adopted" for each in search.found.confirmations)
    assert search.found.parts == ()


def test_a_whole_that_fails_beside_what_is_left_of_it_is_no_refuge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Part b adds nothing; what is left is not shown to be better, and the whole crashes
    meanwhile."""
    useless = {BOTH.name: 1.08, "without a": 1.0, "without b": 1.08}
    again = batches({BOTH.name: 1.08}, {BOTH.name: "worker ended by signal 11"})
    adopted, search = proved(monkeypatch, {CONFIRM: CONFIRMED[CONFIRM], ABLATE: batches(useless), AGAIN: again})
    assert adopted == {}
    assert "signal 11" in search.notes[-1]
    adopted, search = proved(monkeypatch, {CONFIRM: CONFIRMED[CONFIRM], ABLATE: batches(useless), AGAIN: batches({ONLY_A.name: 1.08})})
    assert adopted == ONLY_A.settings


def test_a_saving_that_is_spent_elsewhere_is_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for each in batches({BOTH.name: 1.08}).observations[0]:
        saved_ns = each.control.php_cpu_ns - each.treated.php_cpu_ns
        seen.append(structs.replace(each, treated=structs.replace(each.treated, web_cpu_ns=each.treated.web_cpu_ns + 2 * saved_ns)))
    adopted, search = proved(monkeypatch, {CONFIRM: Batches((tuple(seen),))})
    assert adopted == {}
    assert "spent elsewhere" in search.found.confirmations[0].reason


def test_where_memory_holds_few_arms_the_parts_are_taken_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts and room for two arms: three groups of the winner and one other, each in its
    third of the time."""
    asked: list[tuple[str, tuple[str, ...], float]] = []
    factors = tuple(Factor(name, (Candidate(f"{name}=1", {f"ini.{name}": "1"}),)) for name in "abc")
    whole = entry(factors, (1, 1, 1))
    lacking = {"without a": 1.03, "without c": 1.04}

    def measured(measurer: Any, stage: str, arms: Mapping[str, Any], *, until_s: float, **_: Any) -> Batches:
        asked.append((stage, tuple(arms), until_s))
        return batches({name: lacking.get(name, 1.08) for name in arms})

    monkeypatch.setattr(tune_proof, "run_batches", measured)
    monkeypatch.setattr(FakeLab, "most_arms", 2)
    search: Any = FakeSearch()
    adopted = ProofStage(search, SimpleNamespace()).prove(Winner(factors, whole))  # type: ignore[arg-type]
    assert asked[1:4] == [
        ("ablate-group-1", (whole.name, "without a"), 560.0),
        ("ablate-group-2", (whole.name, "without b"), 580.0),
        ("ablate-group-3", (whole.name, "without c"), 600.0),
    ]
    assert [each.kept for each in search.found.parts] == [True, False, True]
    assert adopted == {"ini.a": "1", "ini.c": "1"}


@pytest.mark.parametrize(
    ("most", "groups"), [(9, [[1, 2, 3, 4, 5]]), (3, [[1, 3, 5], [2, 4]]), (1, [[1], [2], [3], [4], [5]]), (0, [[1], [2], [3], [4], [5]])]
)
def test_groups_are_few_and_even(most: int, groups: list[list[int]]) -> None:
    assert tune_proof.in_groups([1, 2, 3, 4, 5], most) == groups
