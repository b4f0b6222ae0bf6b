"""The steps of a ladder: which builds are climbed by, what each stands on, what goes on top.
Pure."""

from collections.abc import Mapping, Sequence

from phpdyno.model.build import Build
from phpdyno.model.recipe import Recipe
from phpdyno.model.runs.ladder import STOCK, LadderStep

RUNGS = ("o2", "o3", "march=native", "lto", "pgo", "pgo+lto", "o3+pgo", "pgo+bolt")
"""The honest control of all others first: the same source with plain -O2 takes the credit for
leaving out what the packager put in."""
HUGE, JIT, PRELOAD, BOTH = "huge text pages", "JIT", "JIT and preloading", "JIT and huge pages"
JIT_SPEC = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M"
JIT_KIB = 64 << 10
HUGE_SPEC = "ini.opcache.huge_code_pages=1"


def stands_on(recipe: Recipe, others: Sequence[Recipe]) -> str:
    """The name of the recipe before it that has the most of its words and no others, the latest of
    several; the stock PHP without one."""
    before = list(others[: others.index(recipe)]) if recipe in others else list(others)
    mine = words_of(recipe)
    below = [each for each in before if words_of(each) < mine]
    most = max((len(words_of(each)) for each in below), default=0)
    return next((each.name for each in reversed(below) if len(words_of(each)) == most), STOCK)


def words_of(recipe: Recipe) -> frozenset[str]:
    """What a recipe says beyond plain -O2."""
    return frozenset() if recipe.name == "o2" else frozenset(recipe.name.split("+"))


def steps_of(recipes: Sequence[Recipe], builds: Mapping[str, Build], failed: Mapping[str, str]) -> tuple[LadderStep, ...]:
    """A step for each recipe, in order; `builds` and `failed` by the recipes' names. One whose
    build failed, or is without a part of its recipe, carries no other."""
    whole = {name: build for name, build in builds.items() if not build.skipped}
    standing = [each for each in recipes if each.name in whole]
    return tuple(
        LadderStep(each.name, f"build={whole[each.name].name}", stands_on(each, standing), build=whole[each.name].name)
        if each.name in whole
        else LadderStep(each.name, "", stands_on(each, standing), failed=_why_not(each, builds, failed))
        for each in recipes
    )


def _why_not(recipe: Recipe, builds: Mapping[str, Build], failed: Mapping[str, str]) -> str:
    if recipe.name in builds:
        return "; ".join(f"without {part}: {why}" for part, why in builds[recipe.name].skipped.items())
    return failed.get(recipe.name, "it was not built")


def knob_steps(below: LadderStep, *, text_pages: int = 0, shared_pages: int = 0, preload: str = "") -> tuple[LadderStep, ...]:
    """What costs no compiling, on top of a step: huge pages for its text, the JIT, and on top of
    that a script that preloads (`preload`, '' without one) and huge pages.

    `text_pages` are as many reserved pages as the text takes, `shared_pages` those of opcache's
    memory and the JIT's buffer; 0: none can be reserved.
    """
    # The text's pages and no more: opcache's shared memory takes all that it needs or none, and is
    # to take none.
    both = text_pages + shared_pages
    preloading = LadderStep(PRELOAD, f"{JIT_SPEC};ini.opcache.preload={preload}", JIT, build=below.build)
    return (
        LadderStep(HUGE, _huge(text_pages), below.name, build=below.build),
        LadderStep(JIT, JIT_SPEC, below.name, build=below.build),
        *([preloading] if preload else []),
        LadderStep(BOTH, f"{JIT_SPEC};{_huge(both)}", JIT, build=below.build),
    )


def _huge(pages: int) -> str:
    return f"{HUGE_SPEC};os.vm.nr_hugepages={pages}" if pages else HUGE_SPEC
