"""What a race does where all that took part are refused: batches are made up, decisions are the
real ones."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.commands.tune.measurer import Batches
from phpdyno.commands.tune.stages import search as tune_search
from phpdyno.commands.tune.stages.search import RACE, RACE_AGAIN, TuneSearch
from phpdyno.model.runs.tune import Found
from phpdyno.stats.comparison.sequence import MIXTURE
from phpdyno.tuning.factors import Candidate, Entry, Factor, entry
from tests.unit.commands.tune.stages.test_proof import batches

FACTORS = tuple(Factor(name, (Candidate(f"{name}=1", {f"ini.{name}": "1"}),)) for name in ("leak", "jit"))
BOTH, LEAK, JIT = (entry(FACTORS, levels) for levels in ((1, 1), (1, 0), (0, 1)))
WORTH = {BOTH.name: 1.3, LEAK.name: 1.2, JIT.name: 1.1}


class FakeLab:
    """As much of a laboratory as a race needs; its clock stands."""

    asked = SimpleNamespace(goal="cpu")
    clock = SimpleNamespace(spent_s=lambda: 100.0)
    parts = SimpleNamespace(ahead=lambda: False)
    alpha, margin, effect, metric = 0.05, 0.01, 0.01, "cpu"

    def costs(self, _: object) -> None:
        """Nothing is planned."""

    def blocks(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(mixture=MIXTURE, pairs=10)

    def arm(self, name: str, *_: object) -> Any:
        return SimpleNamespace(name=name)


def raced(
    monkeypatch: pytest.MonkeyPatch, every: Sequence[Entry], refused: Mapping[str, str]
) -> tuple[Entry | None, dict[str, list[str]], Found]:
    """The winner of a race with room for two, who ran in which stage, and what is recorded."""
    ran: dict[str, list[str]] = {}

    def run(measurer: Any, stage: str, arms: Mapping[str, Any], *, still_open: Callable[[Batches], Sequence[str]], **_: Any) -> Batches:
        ran[stage] = list(arms)
        seen = batches({name: WORTH[name] for name in arms}, {name: why for name, why in refused.items() if name in arms})
        still_open(seen)
        return seen

    monkeypatch.setattr(tune_search, "run_batches", run)
    monkeypatch.setattr(tune_search, "racers", lambda *_, **__: 2)
    monkeypatch.setattr(tune_search, "race_entries", lambda *_, **__: tuple(every))
    fake: Any = FakeLab()
    search = TuneSearch(fake, SimpleNamespace(), Found(), keep=lambda _: None, tell=lambda _: None)  # type: ignore[arg-type]
    search_state: Any = SimpleNamespace(factors=FACTORS, known=None)
    screened: Any = object()
    return search.race(search_state, screened).entry, ran, search.found


HOLDS = "each worker holds 28 MiB more"


def test_where_all_are_refused_for_one_change_what_is_without_it_races(monkeypatch: pytest.MonkeyPatch) -> None:
    winner, ran, found = raced(monkeypatch, (BOTH, LEAK, JIT), {BOTH.name: HOLDS, LEAK.name: HOLDS})
    assert winner == JIT
    assert ran == {RACE: [BOTH.name, LEAK.name], RACE_AGAIN: [JIT.name]}
    assert found.race is not None
    assert {each.name: each.fate for each in found.race.racers if each.name != JIT.name} == {BOTH.name: HOLDS, LEAK.name: HOLDS}
    assert found.race.blocks == 40


def test_where_somebody_stands_nobody_races_again(monkeypatch: pytest.MonkeyPatch) -> None:
    winner, ran, _ = raced(monkeypatch, (BOTH, JIT, LEAK), {BOTH.name: HOLDS})
    assert winner == JIT
    assert list(ran) == [RACE]


def test_where_the_refused_have_nothing_in_common_nobody_races_again(monkeypatch: pytest.MonkeyPatch) -> None:
    winner, ran, _ = raced(monkeypatch, (LEAK, JIT, BOTH), {LEAK.name: HOLDS, JIT.name: HOLDS})
    assert winner is None
    assert list(ran) == [RACE]
