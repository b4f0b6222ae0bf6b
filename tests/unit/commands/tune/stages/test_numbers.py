from phpdyno.commands.tune.stages.proof import ladder_steps
from phpdyno.model.runs.tune import PartFound, TunedRatio
from phpdyno.tuning.factors import Candidate, Factor, entry

FACTORS = tuple(Factor(name, (Candidate(f"{name}=1", {f"ini.{name}": "1"}),)) for name in ("a", "b", "c"))


def part(name: str, value: float) -> PartFound:
    return PartFound(f"{name}=1", {f"ini.{name}": "1"}, TunedRatio(value, None, None), kept=True, reason="")


def test_the_part_that_adds_most_comes_first_and_the_whole_is_left_to_itself() -> None:
    whole = entry(FACTORS, (1, 1, 1))
    steps = ladder_steps(FACTORS, whole, [part("a", 1.01), part("b", 1.08), part("c", 1.03)])
    assert [(each.name, each.levels) for each in steps] == [("+ b=1", (0, 1, 0)), ("+ c=1", (0, 1, 1))]
    assert steps[-1].settings == {"ini.b": "1", "ini.c": "1"}


def test_one_part_has_no_ladder() -> None:
    assert ladder_steps(FACTORS, entry(FACTORS, (0, 1, 0)), []) == ()
