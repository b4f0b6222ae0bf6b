import math

import numpy as np
import pytest

from phpdyno.tuning.numeric import Number, NumericTrial, Values, best, pool, propose, settings_of

BUFFER = Number("ini.opcache.jit_buffer_size", 16, 256, step=16, unit="M")
HOT = Number("ini.opcache.jit_hot_loop", 1, 255, log=True)
NUMBERS = [BUFFER, HOT]


def at(buffer: int, hot: int, *log_ratios: float) -> NumericTrial:
    return NumericTrial({BUFFER.name: buffer, HOT.name: hot}, log_ratios)


def test_values_become_settings_with_their_unit() -> None:
    assert settings_of(NUMBERS, {BUFFER.name: 64, HOT.name: 16}) == {BUFFER.name: "64M", HOT.name: "16"}


def test_what_was_told_of_the_same_values_is_pooled() -> None:
    found = pool([at(64, 16, 0.02, 0.04), at(128, 16, 0.01), at(64, 16, 0.06), at(32, 16)], 0.01)
    assert [(each.values[BUFFER.name], each.blocks) for each in found] == [(64, 3), (128, 1)]
    assert [each.mean for each in found] == pytest.approx([0.04, 0.01])


def test_few_noisy_blocks_are_believed_less_than_many() -> None:
    told = [at(32, 16, *[0.02] * 20), at(64, 16, 0.025), at(128, 16, *[-0.02] * 20), at(256, 16, *[0.0] * 20)]
    many, one, *_ = pool(told, 0.015)
    assert one.mean > many.mean
    assert one.shrunk < many.shrunk
    found = best(told, 0.015)
    assert found is not None
    assert found.values[BUFFER.name] == 32


def test_without_noise_nothing_is_drawn_anywhere() -> None:
    assert [each.shrunk for each in pool([at(32, 16, 0.01), at(64, 16, 0.05)], 0.0)] == pytest.approx([0.01, 0.05])


def test_where_all_is_noise_the_order_stays() -> None:
    found = pool([at(32, 16, 0.001), at(64, 16, 0.002)], 0.5)
    assert found[0].shrunk < found[1].shrunk
    assert found[1].shrunk == pytest.approx(0.0015, abs=1e-4)


def test_shrinking_errs_less_than_believing() -> None:
    generator = np.random.default_rng(3)
    plain, shrunk = 0.0, 0.0
    for _ in range(200):
        means = generator.normal(0.02, 0.01, 8)
        told = [at(16 * (place + 1), 16, *generator.normal(mean, 0.02, 2).tolist()) for place, mean in enumerate(means)]
        for each, mean in zip(pool(told, 0.02), means, strict=True):
            plain += (each.mean - mean) ** 2
            shrunk += (each.shrunk - mean) ** 2
    assert shrunk < 0.75 * plain


def test_nothing_told_is_nothing_pooled() -> None:
    assert pool([], 0.01) == ()
    assert best([at(64, 16)], 0.01) is None


@pytest.mark.parametrize(("told", "sigma"), [([at(64, 16, math.nan)], 0.01), ([at(64, 16, 0.1)], -1.0), ([at(64, 16, 0.1)], math.nan)])
def test_refuses_to_pool_what_is_no_number(told: list[NumericTrial], sigma: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        pool(told, sigma)


@pytest.mark.parametrize(
    ("numbers", "told", "words"),
    [
        ([], [], "a range"),
        ([Number("n", 5, 5)], [], "a range"),
        ([Number("n", 1, 9, step=0)], [], "a range"),
        ([Number("n", 0, 9, log=True)], [], "logarithmic"),
        ([Number("n", 2, 8, step=2, log=True)], [], "logarithmic"),
        ([Number("n", 1, 8, step=2)], [], "steps"),
        ([Number("n", 1, 9)], [NumericTrial({"n": 10}, (0.1,))], "outside"),
        ([Number("n", 1, 9, step=2)], [NumericTrial({"n": 2}, (0.1,))], "outside"),
        ([Number("n", 1, 9)], [NumericTrial({"m": 5}, (0.1,))], "outside"),
    ],
)
def test_refuses_what_cannot_be_proposed(numbers: list[Number], told: list[NumericTrial], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        propose(numbers, told, sigma_block=0.01, seed=1)


def truth(values: Values) -> float:
    """A hill whose top is at a buffer of 128 and a threshold of 16."""
    return 0.05 - 0.02 * (math.log2(values[BUFFER.name] / 128)) ** 2 - 0.005 * (math.log2(values[HOT.name] / 16)) ** 2


def search(seed: int, proposals: int) -> list[NumericTrial]:
    generator = np.random.default_rng(seed)
    told: list[NumericTrial] = []
    for _ in range(proposals):
        values = propose(NUMBERS, told, sigma_block=0.005, seed=seed)
        told.append(NumericTrial(values, tuple(generator.normal(truth(values), 0.005, 2).tolist())))
    return told


def test_proposals_follow_from_what_was_told_and_the_seed() -> None:
    one, other = search(1, 8), search(1, 8)
    assert one == other
    assert propose(NUMBERS, one, sigma_block=0.005, seed=1) == propose(NUMBERS, one, sigma_block=0.005, seed=1)
    assert [each.values for each in search(2, 8)] != [each.values for each in one]


def test_proposals_lie_within_their_ranges() -> None:
    for each in search(3, 12):
        assert 16 <= each.values[BUFFER.name] <= 256
        assert each.values[BUFFER.name] % 16 == 0
        assert 1 <= each.values[HOT.name] <= 255


def test_what_was_proposed_gets_better() -> None:
    told = search(4, 40)
    early, late = ([truth(each.values) for each in part] for part in (told[:10], told[-10:]))
    assert sum(late) > sum(early)
    found = best(told, 0.005)
    assert found is not None
    assert truth(found.values) > 0.03
