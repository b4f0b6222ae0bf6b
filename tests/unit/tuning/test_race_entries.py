import pytest

from phpdyno.model.runs.tune import ChangeStanding
from phpdyno.stats.screening.effects import EffectEstimate, Interaction, LevelEffect, Screened
from phpdyno.tuning.factors import Candidate, Factor, entry
from phpdyno.tuning.race_entries import certain, judged, predicted, race_entries, without_common


def factor(name: str, levels: int = 1, later: int = 0) -> Factor:
    made = [Candidate(f"{name}{number}", {f"ini.{name}": str(number)}) for number in range(1, levels + later + 1)]
    return Factor(name, tuple(made[:levels]), tuple(made[levels:]))


def main(number: int, value: float, half: float = 0.005, level: int = 1) -> LevelEffect:
    return LevelEffect(number, level, EffectEstimate(value, value - half, value + half))


def screened(*mains: LevelEffect, interactions: tuple[Interaction, ...] = ()) -> Screened:
    return Screened(mains, interactions, 1.0, 30)


def together(one: int, other: int, value: float, half: float = 0.005, mixed: float = 0.0) -> Interaction:
    also = (((2, 3), mixed),) if mixed else ()
    return Interaction((one, other), EffectEstimate(value, value - half, value + half), also)


@pytest.mark.parametrize(
    ("effect", "standing"),
    [
        (EffectEstimate(0.03, 0.02, 0.04), "helps"),
        (EffectEstimate(0.012, 0.001, 0.023), "helps"),
        (EffectEstimate(0.012, -0.001, 0.025), "open"),
        (EffectEstimate(-0.002, -0.02, 0.016), "open"),
        (EffectEstimate(0.004, -0.001, 0.009), "too small"),
        (EffectEstimate(0.005, 0.001, 0.009), "too small"),
        (EffectEstimate(-0.02, -0.03, -0.01), "hurts"),
        (EffectEstimate(0.02, None, None), "open"),
        (None, "unknown"),
    ],
)
def test_standings(effect: EffectEstimate | None, standing: ChangeStanding) -> None:
    (found,) = judged(screened(LevelEffect(0, 1, effect)), 0.01)
    assert found.standing == standing


def test_the_best_of_all_comes_first_and_every_entry_once() -> None:
    factors = [factor("a"), factor("b"), factor("c"), factor("d")]
    found = race_entries(factors, screened(main(0, 0.05), main(1, 0.03), main(2, 0.006, 0.02), main(3, -0.03)), margin=0.01)
    assert [each.levels for each in found] == [
        (1, 1, 1, 0),
        (1, 1, 0, 0),
        (1, 0, 1, 0),
        (0, 1, 1, 0),
        (1, 0, 0, 0),
        (0, 1, 0, 0),
        (0, 0, 1, 0),
    ]
    assert found[1].name == "a1 + b1"


def test_what_looks_to_bring_less_than_half_the_margin_stays_out() -> None:
    factors = [factor("a"), factor("b"), factor("c")]
    found = race_entries(factors, screened(main(0, 0.05), main(1, 0.004, 0.02), main(2, 0.006, 0.02)), margin=0.01)
    assert {each.levels[1] for each in found} == {0}
    assert {each.levels[2] for each in found} == {0, 1}


def test_what_promises_most_comes_first() -> None:
    found = race_entries([factor("a"), factor("b")], screened(main(0, 0.05), main(1, 0.03)), margin=0.01)
    assert [each.levels for each in found] == [(1, 1), (1, 0), (0, 1)]


def test_what_all_refused_ones_have_in_common_is_left_out() -> None:
    every = [entry([factor("a"), factor("b"), factor("c")], levels) for levels in ((1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 1, 1), (1, 0, 1))]
    assert [each.levels for each in without_common(every, every[:2])] == [(0, 1, 0), (0, 1, 1)]
    assert without_common(every, [every[1], every[2]]) == ()
    assert without_common(every, []) == ()


def test_where_nothing_helps_there_is_no_race() -> None:
    assert race_entries([factor("a"), factor("b")], screened(main(0, -0.05), main(1, 0.001)), margin=0.01) == ()


def test_other_levels_and_those_for_later_are_tried_beside_the_best() -> None:
    factors = [factor("jit", levels=2, later=1), factor("b")]
    seen = screened(main(0, 0.07), main(0, 0.05, level=2), main(1, 0.03))
    levels = [each.levels for each in race_entries(factors, seen, margin=0.01)[:4]]
    assert levels == [(1, 1), (2, 1), (3, 1), (1, 0)]


def test_an_interaction_that_is_certain_changes_what_is_best() -> None:
    factors = [factor("a"), factor("b"), factor("c")]
    mains = (main(0, 0.03), main(1, 0.02), main(2, 0.02))
    # Alone b brings 0.05, beside a nothing but harm.
    clash = together(0, 1, -0.06)
    assert race_entries(factors, screened(*mains, interactions=(clash,)), margin=0.01)[0].levels == (1, 0, 1)
    vague = together(0, 1, -0.06, half=0.1)
    assert race_entries(factors, screened(*mains, interactions=(vague,)), margin=0.01)[0].levels == (1, 1, 1)


def test_a_prediction_is_what_an_arm_would_have() -> None:
    # a alone 0.03, b alone 0.01, both together 0.02 more: mean effects 0.04 and 0.02.
    seen = screened(main(0, 0.04), main(1, 0.02), interactions=(together(0, 1, 0.02),))
    assert [predicted(seen, levels) for levels in ((0, 0), (1, 0), (0, 1), (1, 1))] == pytest.approx([0.0, 0.03, 0.01, 0.06])


@pytest.mark.parametrize(("half", "mixed", "sure"), [(0.005, 0.0, True), (0.005, 0.333, True), (0.005, -1.0, False), (0.05, 0.0, False)])
def test_an_interaction_is_certain_when_no_other_can_be_meant(half: float, mixed: float, sure: bool) -> None:
    assert certain(together(0, 1, 0.02, half, mixed)) is sure


def test_an_interaction_without_an_estimate_is_not_certain() -> None:
    assert not certain(Interaction((0, 1), None))
    assert not certain(Interaction((0, 1), EffectEstimate(0.1, None, None)))
