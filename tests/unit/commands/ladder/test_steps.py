"""A ladder's steps: each against the one that it stands on."""

import math
import random

import pytest

from phpdyno.commands.ladder.steps import climbed
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.runs.ladder import STOCK, LadderStep

COST = Cost(10, 30_000, 1, 1, 1, 60_000, 3_000, 7_000)
STEPS = (
    LadderStep("o2", "build=o2"),
    LadderStep("pgo", "build=pgo", "o2"),
    LadderStep("lto", "build=lto", "o2"),
    LadderStep("bolt", "build=pgo+bolt", "pgo"),
)
SPECS = {step.name: step.spec for step in STEPS}
TRUTH = {"o2": 1.01, "pgo": 1.09, "lto": 1.01, "bolt": 1.12}


def measured(blocks: int = 40, sigma: float = 0.004, shared: float = 0.05) -> list[Observation]:
    """Each block has a mood of its own, which all arms of it share."""
    chance = random.Random(5)
    found = []
    for block in range(blocks):
        mood = chance.gauss(0.0, shared)
        for name, ratio in TRUTH.items():
            log = math.log(ratio) + mood + chance.gauss(0.0, sigma)
            found.append(Observation(SPECS[name], block, log, log, 0.01, 8, COST, COST))
    return found


def test_each_step_is_held_against_the_one_that_it_stands_on() -> None:
    found = {each.step.name: each for each in climbed(STEPS, measured(), alpha=0.05, margin=0.01, mixture=1.0, invalid={})}
    for name, on in (("pgo", "o2"), ("bolt", "pgo"), ("lto", "o2")):
        ratio = found[name].ratio
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        assert ratio.low < TRUTH[name] / TRUTH[on] < ratio.high
        total = found[name].total
        assert total is not None
        assert total.low is not None
        assert total.high is not None
        # What the control did in a block is in the totals and not in the steps.
        assert total.high / total.low > 1.05 * ratio.high / ratio.low
    assert [name for name, each in found.items() if each.earned] == ["pgo", "bolt"]


def test_what_could_not_be_measured_says_why_and_has_no_number() -> None:
    found = climbed(STEPS, measured(), alpha=0.05, margin=0.01, mixture=1.0, invalid={"build=pgo+bolt": "it crashed"})
    assert (found[-1].kind, found[-1].ratio, found[-1].reason, found[-1].earned) == ("invalid", None, "it crashed", False)
    nothing = climbed(STEPS, [], alpha=0.05, margin=0.01, mixture=1.0, invalid={})
    assert all((each.kind, each.ratio, each.earned) == ("inconclusive", None, False) for each in nothing)


def test_a_step_stands_on_something() -> None:
    with pytest.raises(ValueError, match="stands on another one"):
        climbed([LadderStep("pgo", "build=pgo", "o3")], [], alpha=0.05, margin=0.01, mixture=1.0, invalid={})
    assert climbed([LadderStep("o2", "build=o2", STOCK)], [], alpha=0.05, margin=0.01, mixture=1.0, invalid={})


def test_a_step_on_one_without_a_number_says_so_and_keeps_what_it_brings_in_all() -> None:
    seen = [each for each in measured() if each.treatment != SPECS["pgo"]]
    found = climbed(STEPS, seen, alpha=0.05, margin=0.01, mixture=1.0, invalid={SPECS["pgo"]: "answers differ"})
    bolt = next(each for each in found if each.step.name == "bolt")
    assert (bolt.kind, bolt.ratio, bolt.reason) == ("inconclusive", None, "pgo has no number")
    assert bolt.total is not None
    nothing = climbed(STEPS, [], alpha=0.05, margin=0.01, mixture=1.0, invalid={SPECS["pgo"]: "answers differ"})
    assert [each.reason for each in nothing] == ["there was no time for it", "answers differ", *["there was no time for it"] * 2]
