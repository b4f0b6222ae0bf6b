"""Section `ladder`: what the steps of a ladder on WordPress bring, knobs on top included."""

from phpdyno.commands.ladder.view import LadderView, standing
from phpdyno.model.runs.ladder import StepFound
from phpdyno.model.runs.tune import TunedRatio
from tools.bench.builds.builder import builder, said_by
from tools.bench.figures import Figure, Target
from tools.bench.results import Room, Sizes

IN_ALL = {
    "pgo": Target("≥ 1.10×", at_least=1.10),
    "pgo+bolt": Target("≥ 1.14×", at_least=1.14),
    "JIT and preloading": Target("≥ 1.25×", at_least=1.25),
}
"""Of a step against the stock PHP."""
BUILDING_S, GRACE_S = 3 * 3600.0, 300.0


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """Each step, by what the ladder's own report says."""
    recipes = [word for recipe in sizes.build_recipes for word in ("--recipe", recipe)]
    budget_s = sizes.build_ladder_s
    with builder(sizes, room) as phpdyno:
        room.say(f"phpdyno ladder {sizes.build_app}")
        budget = ("--budget", f"{budget_s:.0f}s")
        phpdyno.timed("ladder", "ladder", sizes.build_app, *recipes, *budget, most_s=BUILDING_S + budget_s + GRACE_S)
        (run,) = [each for each in phpdyno.runs.iterdir() if (each / "ladder.json").is_file()]
    return figures_of(said_by(LadderView, "report", str(run)))


def figures_of(view: LadderView) -> list[Figure]:
    """Each step against what it stands on, then each against the stock PHP."""
    beside = [_figure(f"{each.step.name} on {each.step.on}", each, each.ratio, None) for each in view.steps]
    in_all = [_figure(f"{each.step.name}, in all", each, each.total, IN_ALL.get(each.step.name)) for each in view.steps]
    return [*beside, *in_all]


def _figure(name: str, found: StepFound, ratio: TunedRatio | None, target: Target | None) -> Figure:
    name = f"CPU per request: {name}"
    if ratio is None:
        return Figure(name, "×", 1.0, None, None, found.reason or "no number", target)
    return Figure(name, "×", ratio.value, ratio.low, ratio.high, f"{ratio.blocks} blocks", target, standing(found))
