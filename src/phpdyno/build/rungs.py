"""The steps of a ladder: which builds are climbed by, what each stands on, what goes on top. Pure."""

from collections.abc import Mapping, Sequence

from phpdyno.knobs.catalogue.host import PAGE_KIB
from phpdyno.model.build import Build
from phpdyno.model.ladder import STOCK, Step
from phpdyno.model.recipe import Recipe

RUNGS = ("o2", "o3", "march=native", "lto", "pgo", "pgo+lto", "pgo+bolt")
"""The honest control of all others first: the same source with plain -O2 takes the credit for leaving out what the packager put in."""
HUGE, JIT, BOTH = "huge text pages", "JIT", "JIT and huge text pages"
JIT_SPEC = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M"
HUGE_SPEC = "ini.opcache.huge_code_pages=1"


def stands_on(recipe: Recipe, others: Sequence[Recipe]) -> str:
    """The name of the recipe before it that has the most of its words and no others, the latest of several; the stock PHP without one."""
    before = list(others[: others.index(recipe)]) if recipe in others else list(others)
    mine = words_of(recipe)
    below = [each for each in before if words_of(each) < mine]
    most = max((len(words_of(each)) for each in below), default=0)
    return next((each.name for each in reversed(below) if len(words_of(each)) == most), STOCK)


def words_of(recipe: Recipe) -> frozenset[str]:
    """What a recipe says beyond plain -O2."""
    return frozenset() if recipe.name == "o2" else frozenset(recipe.name.split("+"))


def steps_of(recipes: Sequence[Recipe], builds: Mapping[str, Build], failed: Mapping[str, str]) -> tuple[Step, ...]:
    """A step for each recipe, in order; `builds` and `failed` by the recipes' names. One whose build failed, or is without a part of its
    recipe, carries no other."""
    whole = {name: build for name, build in builds.items() if not build.skipped}
    standing = [each for each in recipes if each.name in whole]
    return tuple(
        Step(each.name, f"build={whole[each.name].name}", stands_on(each, standing), build=whole[each.name].name)
        if each.name in whole
        else Step(each.name, "", stands_on(each, standing), failed=_why_not(each, builds, failed))
        for each in recipes
    )


def _why_not(recipe: Recipe, builds: Mapping[str, Build], failed: Mapping[str, str]) -> str:
    if recipe.name in builds:
        return "; ".join(f"without {part}: {why}" for part, why in builds[recipe.name].skipped.items())
    return failed.get(recipe.name, "it was not built")


def knob_steps(below: Step, *, text_kib: int, pages: bool) -> tuple[Step, ...]:
    """What costs no compiling, on top of a step: huge pages for its text (`pages`: they can be reserved here), the JIT, both."""
    count = -(-text_kib // PAGE_KIB)
    # As many as the text has and no more: opcache's shared memory takes all that it needs or none, and is to take none.
    huge = f"{HUGE_SPEC};os.vm.nr_hugepages={count}" if pages else HUGE_SPEC
    return (
        Step(HUGE, huge, below.name, build=below.build),
        Step(JIT, JIT_SPEC, below.name, build=below.build),
        Step(BOTH, f"{JIT_SPEC};{huge}", JIT, build=below.build),
    )
