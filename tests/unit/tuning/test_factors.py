import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phpdyno.knobs.catalogue import knob_for
from phpdyno.stats.screening.factorial import CONTROL, Design, design_for
from phpdyno.tuning.factors import Candidate, Factor, batches, candidates_of, entry, factors_of, narrowed, row_entries

JIT, BUFFER, HOT = "ini.opcache.jit", "ini.opcache.jit_buffer_size", "ini.opcache.jit_hot_loop"
TRACING = Candidate("tracing", {JIT: "tracing", BUFFER: "64M"})
FUNCTION = Candidate("function", {JIT: "function", BUFFER: "64M"})
LARGE = Candidate("large", {BUFFER: "128M", JIT: "tracing"})
EARLY = Candidate("early", {HOT: "16", JIT: "tracing", BUFFER: "64M"})
NO_CHECKS = Candidate("no checks", {"ini.opcache.validate_timestamps": "0"}, {"ini.opcache.enable": "1"})
OVERRIDE = Candidate("override", {"ini.opcache.enable_file_override": "1"}, {"ini.opcache.enable": "1"})
MALLOC = Candidate("malloc", {"env.LD_PRELOAD": "/usr/lib/libmimalloc.so"})


def names(factors: tuple[Factor, ...]) -> list[list[str]]:
    return [[each.name for each in factor.choices] for factor in factors]


def test_what_cannot_stand_side_by_side_is_one_factor() -> None:
    found = factors_of([TRACING, MALLOC, FUNCTION, LARGE, NO_CHECKS, EARLY, OVERRIDE])
    assert names(found) == [["tracing", "function", "large", "early"], ["malloc"], ["no checks"], ["override"]]
    assert [len(each.levels) for each in found] == [3, 1, 1, 1]
    assert found[0].name == JIT
    assert [each.name for each in found[0].later] == ["early"]


def test_two_that_need_the_same_of_the_control_are_apart_unless_one_takes_it_away() -> None:
    assert len(factors_of([NO_CHECKS, OVERRIDE])) == 2
    off = Candidate("off", {"ini.opcache.enable": "0"})
    assert names(factors_of([NO_CHECKS, OVERRIDE, MALLOC, off])) == [["no checks", "override", "off"], ["malloc"]]


def test_values_of_the_catalogue_bring_what_they_need() -> None:
    found = factors_of(candidates_of({JIT: ("tracing", "function"), HOT: ("16",), "env.LD_BIND_NOW": ("1",)}, {}, knob_for))
    assert names(found) == [[f"{JIT}=tracing", f"{JIT}=function", f"{HOT}=16"], ["env.LD_BIND_NOW=1"]]
    assert found[0].levels[2].settings[JIT] == "tracing"


def test_an_entry_has_the_settings_of_its_levels() -> None:
    factors = factors_of([TRACING, FUNCTION, NO_CHECKS])
    found = entry(factors, (2, 1))
    assert (found.name, found.parts) == ("function + no checks", 2)
    assert found.settings == {JIT: "function", BUFFER: "64M", "ini.opcache.validate_timestamps": "0"}
    assert entry(factors, (0, 0)).name == "control"
    assert entry(factors, (1, 0), "mine").name == "mine"


@pytest.mark.parametrize("levels", [(3, 0), (0,), (-1, 0)])
def test_an_entry_with_levels_that_are_not_there(levels: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="levels"):
        entry(factors_of([TRACING, FUNCTION, NO_CHECKS]), levels)


def test_no_row_is_meaningless_and_none_is_the_control() -> None:
    factors = factors_of([TRACING, FUNCTION, EARLY, MALLOC, NO_CHECKS, OVERRIDE])
    rows = row_entries(factors, design_for([len(each.levels) for each in factors], 15))
    assert [each.name for each in rows] == [f"row {number}" for number in range(1, len(rows) + 1)]
    for row in rows:
        assert row.settings
        assert (HOT in row.settings) <= (row.settings.get(JIT) == "tracing")
        assert (JIT in row.settings) == (BUFFER in row.settings)


def test_a_design_for_other_factors_is_refused() -> None:
    with pytest.raises(ValueError, match="other factors"):
        row_entries(factors_of([TRACING, MALLOC]), design_for([1, 1, 1], 15))


@pytest.mark.parametrize("candidates", [[MALLOC, MALLOC], [Candidate("nothing", {})]])
def test_refuses_candidates_that_are_none(candidates: list[Candidate]) -> None:
    with pytest.raises(ValueError, match="candidate"):
        factors_of(candidates)


def together(design: Design, batch: tuple[int, ...]) -> bool:
    return all((one in batch) == (other in batch) for one, other in design.mirrors if CONTROL not in (one, other))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 16), st.integers(3, 47), st.integers(2, 50))
def test_batches_hold_every_row_once_and_mirrors_together(knobs: int, most_rows: int, most_arms: int) -> None:
    try:
        design = design_for([1] * knobs, most_rows)
    except ValueError:
        return
    made = batches(design, most_arms)
    assert sorted(row for batch in made for row in batch) == list(range(len(design.rows)))
    assert max(len(batch) for batch in made) <= most_arms
    assert all(together(design, batch) for batch in made)
    assert max(map(len, made)) - min(map(len, made)) <= 2


def test_all_in_one_batch_where_there_is_room() -> None:
    assert batches(design_for([1] * 8, 15), 15) == (tuple(range(15)),)
    with pytest.raises(ValueError, match="two arms"):
        batches(design_for([1] * 8, 15), 1)


def test_narrowed_factors_have_their_other_levels_later() -> None:
    whole = factors_of([TRACING, MALLOC, FUNCTION, LARGE, NO_CHECKS, EARLY])
    found = narrowed(whole, (1, 1))
    assert names(found) == names(whole)[:2]
    assert [len(each.levels) for each in found] == [1, 1]
    assert [each.name for each in found[0].later] == ["function", "large", "early"]
    assert narrowed(whole, (3, 1, 1)) == whole
    for levels in ((4,), (0,), (1, 1, 1, 1)):
        with pytest.raises(ValueError, match="levels"):
            narrowed(whole, levels)


def test_a_combination_reserves_pages_for_all_that_it_shares() -> None:
    pages = Candidate("pages", {"os.vm.nr_hugepages": "66"})
    factors = factors_of([TRACING, pages, MALLOC])
    assert entry(factors, (0, 1, 1)).settings["os.vm.nr_hugepages"] == "66"
    assert entry(factors, (1, 1, 0)).settings["os.vm.nr_hugepages"] == str(66 + 32)
    assert "os.vm.nr_hugepages" not in entry(factors, (1, 0, 1)).settings


def test_changes_that_cannot_be_on_together_are_levels_of_one_factor() -> None:
    keep, two, tcp = (Candidate(name, {name: "1"}) for name in ("keep", "two", "tcp"))

    def clash(one: Candidate, other: Candidate) -> bool:
        return {one.name, other.name} == {"keep", "two"}

    assert [[each.name for each in factor.levels] for factor in factors_of([keep, tcp, two], clash=clash)] == [["keep", "two"], ["tcp"]]
    assert len(factors_of([keep, tcp, two])) == 3
