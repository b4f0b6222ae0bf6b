from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.commands.tune.parts import TuneChanged
from phpdyno.commands.tune.stages import search as tune_search
from phpdyno.commands.tune.stages.search import CANNOT_SET, NOT_FOR_MEMORY, SearchState, TuneSearch, asked_values, set_aside
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.tune import Found, Goal, Screening, StageTime, TuneRequest
from phpdyno.tuning.factors import Candidate, Factor, nothing_clashes
from tests.support.made_up.bundles import HOST
from tests.support.made_up.facts import PLAIN

OFFERED = {"ini.opcache.jit": ("tracing", "function"), "ini.realpath_cache_ttl": ("600",)}


def test_all_that_is_offered_unless_something_is_asked_for() -> None:
    assert asked_values(OFFERED, ()) == OFFERED
    assert asked_values(OFFERED, ("ini.realpath_cache_ttl",)) == {"ini.realpath_cache_ttl": ("600",)}
    assert asked_values(OFFERED, ("ini.opcache.preload",)) == {}


def test_values_that_are_named_take_the_place_of_the_catalogue_s() -> None:
    named = ("ini.opcache.jit=function", "ini.opcache.jit=off", "ini.output_buffering=65536")
    assert asked_values(OFFERED, named) == {"ini.opcache.jit": ("function", "off"), "ini.output_buffering": ("65536",)}
    assert asked_values(OFFERED, ("pool.pm=DYNAMIC",)) == {"pool.pm": ("dynamic",)}


def test_a_value_that_is_named_twice_is_tried_once() -> None:
    named = ("ini.opcache.jit=function", "ini.opcache.jit=off", "ini.opcache.jit=function", "ini.opcache.jit")
    assert asked_values(OFFERED, named) == {"ini.opcache.jit": ("function", "off")}


def test_files_that_are_not_there_are_not_tried(tmp_path: Path) -> None:
    library = tmp_path / "libmalloc.so"
    library.touch()
    offered = {"env.LD_PRELOAD": ("/no/such/library.so", str(library))}
    assert asked_values(offered, ()) == {"env.LD_PRELOAD": (str(library),)}
    assert asked_values({"env.LD_PRELOAD": ("/no/such/library.so",)}, ()) == {}


def test_what_would_take_anothers_pages_is_not_tried_beside_it() -> None:
    heap, pages = "env.USE_ZEND_ALLOC_HUGE_PAGES", "os.vm.nr_hugepages"
    assert set_aside((heap, "ini.opcache.jit", pages)) == {heap: pages}
    assert set_aside((heap, "ini.opcache.jit")) == {}
    assert set_aside((pages,)) == {}


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change works alone; settings of the host may not be written."""
    monkeypatch.setattr(TuneSearch, "_try", lambda self, stage, every, batch, known: ({}, known))
    monkeypatch.setattr(tune_search, "can_set", lambda name: not name.startswith("os."))


def tried(goal: Goal, *knobs: str) -> tuple[SearchState, dict[str, str]]:
    """What there is to try of these, and why some take no part."""
    asked = TuneRequest(source=AppSource("hello"), goal=goal, knobs=knobs)
    measurer: Any = SimpleNamespace(asked=asked, metric=asked.metric, settings=lambda _: {"pool.pm.max_children": "4"})
    measurer.clash = lambda _: nothing_clashes
    known: Any = SimpleNamespace()
    search = TuneSearch(measurer, HOST, Found(), keep=lambda _: None, tell=lambda _: None)
    return search.try_each(SearchState(known, PLAIN)), {each.name: each.refused for each in search.found.changes}


@pytest.mark.usefixtures("offered")
def test_what_cannot_be_set_here_takes_no_part_and_says_why() -> None:
    search_state, refused = tried("cpu", "os.vm.nr_hugepages=8", "ini.output_buffering=65536")
    assert refused == {"os.vm.nr_hugepages=8": CANNOT_SET, "ini.output_buffering=65536": ""}
    assert [each.name for each in search_state.factors] == ["ini.output_buffering"]


@pytest.mark.usefixtures("offered")
def test_what_throughput_judges_has_no_part_in_a_tune_for_memory() -> None:
    name = "pool.pm.max_children=8"
    for_cpu, refused = tried("cpu", name)
    assert ([each.name for each in for_cpu.loaded], refused) == ([name], {name: ""})
    for_memory, refused = tried("memory", name)
    assert (for_memory.loaded, refused) == ((), {name: NOT_FOR_MEMORY})


@pytest.mark.parametrize("number", [0, 1])
def test_fewer_changes_than_the_budget_was_planned_for_are_refused(number: int) -> None:
    planned = Found(times=(StageTime("screen", 120.0, 150.0, 0.014),), screening=Screening(4, 5, 12, 4, 0.014, (1, 1)))
    anything: Any = SimpleNamespace()
    search = TuneSearch(anything, HOST, planned, keep=lambda _: None, tell=lambda _: None)
    factors = (Factor("a", (Candidate("a=1", {"ini.a": "1"}),)),) * number
    with pytest.raises(TuneChanged, match="are others than when this tune began; start a new one"):
        search.plan(SearchState(anything, PLAIN, factors), numeric=False)


@pytest.mark.parametrize(("begun", "until_s"), [(False, 110.0), (True, 80.0)])
def test_a_race_after_a_second_screening_still_has_time(begun: bool, until_s: float) -> None:
    planned = Found(
        times=(StageTime("screen", 40.0, 60.0, 0.01), StageTime("race", 20.0, 80.0, None), StageTime("confirm", 60.0, 140.0, None))
    )
    clock, parts = SimpleNamespace(spent_s=lambda: 100.0), SimpleNamespace(ahead=lambda: begun)
    measurer: Any = SimpleNamespace(clock=clock, parts=parts)
    kept: list[Found] = []
    search = TuneSearch(measurer, HOST, planned, keep=kept.append, tell=lambda _: None)
    assert search.begin("race").until_s == pytest.approx(until_s)
    # What was put off stays so when the tune is resumed.
    assert [each.times[-1].until_s for each in kept] == ([] if begun else [pytest.approx(140.0)])
