"""Screening against a known truth: every block has its own level, every row its own draw, and
interactions of two are at work."""

import math
from itertools import combinations

import numpy as np
import pytest

from phpdyno.stats.comparison.noise import Noise
from phpdyno.stats.screening.effects import EffectEstimate, RowReading, Screened, screen
from phpdyno.stats.screening.factorial import CONTROL, Design, design_for, odd_columns
from phpdyno.stats.screening.power import deviation, resolvable

NOISE = Noise(0.04, 0.005)
PAIRS = 20
Couple = tuple[int, int]


class World:
    """Effects of levels, and of two factors being on together, in log ratios against the
    control."""

    def __init__(self, design: Design, seed: int, size: float = 0.02) -> None:
        generator = np.random.default_rng(seed)
        self.design = design
        self.alone = [[0.0, *generator.normal(0.0, size, count)] for count in design.factors]
        self.together: dict[Couple, float] = {
            couple: float(generator.normal(0.0, size / 2)) for couple in combinations(range(len(design.factors)), 2)
        }

    def of(self, row: int) -> float:
        levels = self.design.row(row)
        alone = sum(self.alone[factor][level] for factor, level in enumerate(levels))
        return float(alone) + sum(size for (one, other), size in self.together.items() if levels[one] and levels[other])

    def main(self, factor: int, level: int) -> float:
        """Against the control's level, the others being on half of the time."""
        return float(self.alone[factor][level]) + sum(size for couple, size in self.together.items() if factor in couple) / 2

    def readings(self, blocks: int, seed: int, noise: Noise = NOISE, pairs: int = PAIRS) -> list[RowReading]:
        generator = np.random.default_rng(seed)
        made = []
        for block in range(blocks):
            control = generator.normal(0.0, noise.sigma_start)
            for row in range(len(self.design.rows)):
                own = generator.normal(0.0, noise.sigma_start) + generator.normal(0.0, noise.sigma_pair / math.sqrt(pairs))
                made.append(RowReading(row, block, self.of(row) + own - control, pairs))
        return made


QUIET = Noise(1e-12, 1e-12)


def exact(world: World, noise: Noise = QUIET) -> Screened:
    return screen(world.design, world.readings(2, 1, noise), Noise(0.04, 0.005), 0.05)


def known(estimate: EffectEstimate | None) -> EffectEstimate:
    assert estimate is not None
    return estimate


def bounds(estimate: EffectEstimate | None) -> tuple[float, float]:
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


@pytest.mark.parametrize("factors", [[1] * 2, [1] * 5, [1] * 12, [1] * 24, [2, 1, 1, 1], [3, 1, 2, 1, 1, 1]])
@pytest.mark.parametrize("most", [47, 95])
def test_without_noise_main_effects_are_the_truth_whatever_the_interactions(factors: list[int], most: int) -> None:
    world = World(design_for(factors, most), 3)
    assert world.design.resolution >= 4
    for each in exact(world).mains:
        assert known(each.effect).value == pytest.approx(world.main(each.factor, each.level), abs=1e-9)


def test_at_resolution_three_they_are_where_nothing_interacts() -> None:
    design = design_for([2, 1, 1, 1, 1, 1, 1], 11)
    assert design.resolution == 3
    world = World(design, 4)
    world.together.clear()
    found = exact(world)
    assert found.interactions == ()
    for each in found.mains:
        assert known(each.effect).value == pytest.approx(world.main(each.factor, each.level), abs=1e-9)


@pytest.mark.parametrize(("knobs", "most"), [(4, 7), (5, 31), (7, 15), (8, 15), (10, 23), (16, 31)])
def test_an_interaction_is_what_it_says_it_is_mixed_with(knobs: int, most: int) -> None:
    world = World(design_for([1] * knobs, most), 5)
    for each in exact(world).interactions:
        mixed = sum(share * world.together[couple] for couple, share in each.mixed_with)
        assert known(each.effect).value == pytest.approx(world.together[each.factors] + mixed, abs=2e-4)


def test_what_the_levels_of_a_factor_differ_by_is_no_interaction() -> None:
    world = World(design_for([3, 1, 2, 1, 1, 1], 47), 5)
    told = [each for each in exact(world).interactions if each.effect is not None]
    assert told
    for each in told:
        mixed = sum(share * world.together[couple] for couple, share in each.mixed_with)
        # Shares below 1 % are not named, others are rounded.
        assert known(each.effect).value == pytest.approx(world.together[each.factors] + mixed, abs=2.5e-3)


def test_nothing_is_mixed_at_resolution_five() -> None:
    assert not any(each.mixed_with for each in exact(World(design_for([1] * 6, 31), 6)).interactions)


def test_four_knobs_in_seven_rows_cannot_tell_interactions_apart() -> None:
    found = exact(World(design_for([1] * 4, 7), 6)).interactions
    assert [len(each.mixed_with) for each in found] == [1] * 6
    assert all(abs(share) == 1.0 for each in found for _, share in each.mixed_with)


def test_main_effects_are_least_squares_on_the_differences_of_mirror_rows() -> None:
    world = World(design_for([2, 1, 1, 1, 1], 15), 7)
    readings = world.readings(3, 8)
    by = {(each.row, each.block): each.log_ratio for each in readings} | {(CONTROL, block): 0.0 for block in range(3)}
    columns = np.vstack([odd_columns(world.design)] * 3)
    values = [by[one, block] - by[other, block] for block in range(3) for one, other in world.design.mirrors]
    # Alike but for the control's own reading, which has no pairs of its own.
    weights = np.tile([(2 * 0.005**2 + (1 if CONTROL in pair else 2) * 0.04**2 / PAIRS) ** -0.5 for pair in world.design.mirrors], 3)
    solution = np.linalg.lstsq(columns * weights[:, None], np.array(values) * weights, rcond=None)[0]
    found = screen(world.design, readings, NOISE, 0.05)
    assert [known(each.effect).value for each in found.mains] == pytest.approx(list(solution), abs=1e-12)


def test_a_row_that_failed_takes_its_mirror_with_it_and_biases_nothing() -> None:
    world = World(design_for([1] * 6, 15), 9)
    lost = world.design.mirrors[3][0]
    readings = [each for each in world.readings(2, 1, QUIET) if each.row != lost]
    found = screen(world.design, readings, NOISE, 0.05)
    assert found.unused == (world.design.mirrors[3][1],)
    for each in found.mains:
        assert known(each.effect).value == pytest.approx(world.main(each.factor, each.level), abs=1e-9)


def test_what_too_many_lost_rows_leave_open_is_not_told() -> None:
    world = World(design_for([1] * 4, 7), 10)
    readings = [each for each in world.readings(2, 1, QUIET) if each.row not in {world.design.mirrors[1][0], world.design.mirrors[2][0]}]
    assert [each.effect for each in screen(world.design, readings, NOISE, 0.05).mains] == [None] * 4


def test_rows_with_fewer_pairs_weigh_less_and_bias_nothing() -> None:
    world = World(design_for([1] * 6, 15), 11)
    readings = [RowReading(each.row, each.block, each.log_ratio, 4 + 10 * (each.row % 3)) for each in world.readings(2, 1, QUIET)]
    for each in screen(world.design, readings, NOISE, 0.05).mains:
        assert known(each.effect).value == pytest.approx(world.main(each.factor, each.level), abs=1e-9)


def test_one_block_has_no_interval() -> None:
    world = World(design_for([1] * 4, 7), 12)
    found = screen(world.design, world.readings(1, 13), NOISE, 0.05)
    assert (found.sigma, found.freedom) == (None, 0)
    assert {(known(each.effect).low, known(each.effect).high) for each in found.mains} == {(None, None)}


def test_batches_with_controls_of_their_own_are_one_screening() -> None:
    world = World(design_for([1] * 8, 15), 14)
    halves = [[index for pair in part for index in pair] for part in (world.design.mirrors[:4], world.design.mirrors[4:])]
    readings = [
        RowReading(each.row, each.block + 100 * (each.row in halves[1]), each.log_ratio + 0.003 * (each.row in halves[1]), each.pairs)
        for each in world.readings(2, 1, QUIET)
    ]
    for each in screen(world.design, readings, NOISE, 0.05).mains:
        assert known(each.effect).value == pytest.approx(world.main(each.factor, each.level), abs=1e-9)


@pytest.mark.parametrize(("knobs", "blocks", "truth"), [(8, 2, NOISE), (6, 4, NOISE), (12, 3, Noise(0.08, 0.012))])
def test_intervals_hold_together_as_often_as_they_say(knobs: int, blocks: int, truth: Noise) -> None:
    design = design_for([1] * knobs, 23)
    world = World(design, 15)
    runs, mains, together, away = 400, 0, 0, np.zeros(knobs)
    for seed in range(runs):
        found = screen(design, world.readings(blocks, 1000 + seed, truth), NOISE, 0.1)
        values = [(bounds(each.effect), world.main(each.factor, 1)) for each in found.mains]
        mains += all(low <= true <= high for (low, high), true in values)
        away += [(low + high) / 2 - true for (low, high), true in values]
        mixed = [
            (bounds(each.effect), world.together[each.factors] + sum(share * world.together[couple] for couple, share in each.mixed_with))
            for each in found.interactions
        ]
        together += all(low - 1e-3 <= true <= high + 1e-3 for (low, high), true in mixed)
    # 90 % less three standard errors.
    assert mains / runs >= 0.9 - 3 * math.sqrt(0.09 / runs)
    assert mains / runs <= 0.99
    assert together / runs >= 0.9 - 3 * math.sqrt(0.09 / runs)
    error = deviation(design, truth, PAIRS, blocks) / math.sqrt(runs)
    assert np.abs(away / runs).max() <= 4 * error


def test_the_spread_comes_from_the_replicates_not_from_the_calibration() -> None:
    world = World(design_for([1] * 8, 15), 16)
    quiet, loud = (screen(world.design, world.readings(6, 17, each), NOISE, 0.05) for each in (NOISE, Noise(0.12, 0.015)))
    assert quiet.freedom == loud.freedom == 15 * 5
    assert quiet.sigma == pytest.approx(1.0, abs=0.25)
    assert loud.sigma == pytest.approx(3.0, abs=0.75)


def test_resolvable_is_what_is_found_nine_times_in_ten() -> None:
    design = design_for([1] * 8, 15)
    effect = resolvable(design, NOISE, PAIRS, 3, 0.05)
    assert effect is not None
    world = World(design, 18, size=0.0)
    world.alone[2][1] = effect
    found = sum(bounds(screen(design, world.readings(3, seed), NOISE, 0.05).mains[2].effect)[0] > 0.0 for seed in range(300))
    assert 0.84 <= found / 300 <= 0.96
    assert resolvable(design, NOISE, PAIRS, 1, 0.05) is None


def test_more_blocks_resolve_less() -> None:
    design = design_for([1] * 8, 15)
    sizes = [resolvable(design, NOISE, PAIRS, blocks, 0.05) or math.inf for blocks in (2, 4, 8, 16)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("readings", "alpha"),
    [
        ([], 0.05),
        ([RowReading(0, 0, 0.1, 4)], 0.0),
        ([RowReading(0, 0, math.nan, 4)], 0.05),
        ([RowReading(0, 0, 0.1, 0)], 0.05),
        ([RowReading(99, 0, 0.1, 4)], 0.05),
        ([RowReading(0, 0, 0.1, 4), RowReading(0, 0, 0.2, 4)], 0.05),
    ],
)
def test_refuses_readings_that_are_none(readings: list[RowReading], alpha: float) -> None:
    with pytest.raises(ValueError, match=r"reading|row|alpha"):
        screen(design_for([1] * 4, 7), readings, NOISE, alpha)
