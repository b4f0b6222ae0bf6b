import math

import numpy as np
import pytest

from phpdyno.stats.comparison.noise import PRIOR_START, estimate_noise


def simulated(sigma_pair: float, sigma_start: float, blocks: int, pairs: int, seed: int = 1) -> tuple[list[float], list[float], list[int]]:
    rng = np.random.default_rng(seed)
    ratios, sigmas = [], []
    for _ in range(blocks):
        logs = rng.normal(0, sigma_start, 2) @ [1, -1] + rng.normal(0, sigma_pair, pairs)
        ratios.append(float(logs.mean()))
        sigmas.append(float(logs.std(ddof=1)))
    return ratios, sigmas, [pairs] * blocks


def test_many_blocks_give_both_sigmas_back() -> None:
    found = estimate_noise(*simulated(0.08, 0.02, 400, 50))
    assert found.sigma_pair == pytest.approx(0.08, rel=0.02)
    assert found.sigma_start == pytest.approx(0.02, rel=0.1)


def test_a_few_blocks_stay_near_the_prior() -> None:
    starts = [estimate_noise(*simulated(0.08, PRIOR_START, 3, 60, seed)).sigma_start for seed in range(50)]
    assert min(starts) >= 0.5 * PRIOR_START
    assert max(starts) < 3 * PRIOR_START


def test_the_forecast_of_a_block() -> None:
    found = estimate_noise([0.0], [0.08], [64])
    assert found.of_block(64) == pytest.approx(math.sqrt(0.08**2 / 64 + 2 * found.sigma_start**2))
    assert found.of_block(10_000) < found.of_block(10)


@pytest.mark.parametrize("blocks", [([], [], []), ([0.0], [0.1], []), ([0.0], [0.1], [0])])
def test_nothing_to_estimate_from_is_refused(blocks: tuple[list[float], list[float], list[int]]) -> None:
    with pytest.raises(ValueError, match=r"noise needs|at least one pair"):
        estimate_noise(*blocks)
