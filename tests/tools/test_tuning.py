from itertools import product

import pytest
from msgspec import structs
from tools.bench.figures import reached
from tools.bench.sections.tuning import KNOBS, Truth, figures_of, levels_of, modelled, terms, truth_of

from phpdyno.errors import DynoError
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.tune import Found, TuneRequest
from tests.support.made_up.sweeps.tunes import record

EVERY = list(product((0, 1), repeat=len(KNOBS)))
MAINS = (0.10, 0.0, -0.03, 0.005, 0.0)
LOGS = {each: sum(effect for effect, level in zip(MAINS, each, strict=True) if level) for each in EVERY}
TRUTH = Truth((LOGS,) * 12, 1500.0)


def adopted(*places: int) -> dict[str, str]:
    return {name: value for name, _, value in (KNOBS[place].partition("=") for place in places)}


def test_levels_are_read_from_settings() -> None:
    assert levels_of({**adopted(0, 3), "ini.opcache.jit_buffer_size": "64M"}) == (1, 0, 0, 1, 0)
    assert levels_of({"ini.opcache.jit": "function"}) == (0, 0, 0, 0, 0)


def test_a_model_of_all_combinations_smooths_single_ones() -> None:
    odd = {each: 0.02 if each == (1, 1, 1, 1, 1) else 0.0 for each in EVERY if any(each)}
    model = modelled(list(odd), [TRUTH.logs[each] + odd[each] for each in odd])
    assert abs(model[1, 1, 1, 1, 1] - TRUTH.logs[1, 1, 1, 1, 1]) < 0.02
    exact = modelled(list(odd), [TRUTH.logs[each] for each in odd])
    assert exact == pytest.approx(TRUTH.logs)
    with pytest.raises(DynoError, match="too few"):
        modelled(EVERY[1:10], [0.0] * 9)


def test_the_truth_rests_on_the_blocks_that_have_every_combination() -> None:
    logs = {each: {0: LOGS[each], 1: LOGS[each], 2: 9.0} for each in EVERY if any(each)}
    del logs[0, 0, 0, 0, 1][2]
    truth = truth_of(logs, 1500.0)
    assert len(truth.blocks) == 2
    assert truth.logs == pytest.approx(LOGS)
    assert truth.mains == pytest.approx(MAINS)
    with pytest.raises(DynoError, match="no block"):
        truth_of({**logs, (1, 0, 0, 0, 0): {}}, 1500.0)


def test_a_regret_has_the_interval_of_its_blocks() -> None:
    noisy = tuple({each: value + (0.02 if each[0] and block % 2 else 0.0) for each, value in LOGS.items()} for block in range(12))
    truth = structs.replace(TRUTH, blocks=noisy)
    assert truth.best in {(1, 0, 0, 1, 0), (1, 1, 0, 1, 0), (1, 0, 0, 1, 1), (1, 1, 0, 1, 1)}
    seen = record(Found(settings={}))
    regret, *_ = figures_of(truth, [structs.replace(seen, asked=TuneRequest(source=AppSource("wordpress"), budget_s=420.0), spent_s=400.0)])
    assert regret.estimate == pytest.approx(0.105 + 0.01)
    assert regret.low is not None
    assert regret.high is not None
    assert regret.low < regret.estimate < regret.high


def test_terms_are_mains_and_pairs() -> None:
    assert terms((1, 0, 1)) == [1, 0, 1, 0, 1, 0]


def test_figures_are_of_the_worst_seed() -> None:
    asked = TuneRequest(source=AppSource("wordpress"), budget_s=420.0)
    good = structs.replace(record(Found(settings=adopted(0, 3))), asked=asked, spent_s=400.0)
    worse = structs.replace(record(Found(settings=adopted(0, 2))), asked=asked, spent_s=440.0)
    regret, share, kept, right = figures_of(TRUTH, [good, worse])
    assert regret.estimate == pytest.approx(0.105 - 0.07)
    assert share.estimate == pytest.approx(440 / 1500)
    assert kept.estimate == pytest.approx(440 / 420)
    assert (right.estimate, reached(right)) == (1.0, "no")
    assert reached(figures_of(TRUTH, [good, good])[3]) == "yes"
