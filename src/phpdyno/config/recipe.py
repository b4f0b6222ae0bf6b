"""A recipe as the command line writes it: `pgo+bolt`, `o3+march=native+lto`."""

import re

from msgspec import structs

from phpdyno.config.nearest import suggestion
from phpdyno.errors import UsageError
from phpdyno.model.recipe import Level, Recipe

LEVELS: dict[str, Level] = {"o2": "2", "o3": "3"}
STEPS = ("lto", "pgo", "bolt")
FIXED = "no-pie"
"""The program runs at one address; its modules are as they are."""
WHOLE_FUNCTIONS = "whole-functions"
"""BOLT cannot split again what the compiler has split."""
TRAINED_ONLY = "trained-only"
"""Only together with a profile: what no training has reached is compiled for size and put
elsewhere."""
FLAGS = {
    "no-semantic-interposition": "-fno-semantic-interposition",
    "no-plt": "-fno-plt",
    "no-stack-protector": "-fno-stack-protector",
    FIXED: "-fno-pie",
    WHOLE_FUNCTIONS: "-fno-reorder-blocks-and-partition",
    TRAINED_ONLY: "-fno-profile-partial-training",
}
"""Words that stand for one flag of the compiler."""
MARCH = "march="
_MACHINE = re.compile(r"[a-z0-9][a-z0-9_.+-]*")


def untrained(recipe: Recipe) -> Recipe:
    """The same without what it learns of an app."""
    return structs.replace(recipe, pgo=False, bolt=False, words=tuple(word for word in recipe.words if word != TRAINED_ONLY))


def parse_recipe(text: str, *, where: str = "--recipe") -> Recipe:
    """The recipe that these words stand for. Raises UsageError: a word that is none, one that is
    there twice, two levels, two machines."""
    words = [word.strip() for word in text.split("+")]
    seen: set[str] = set()
    for word in words:
        kind = "march" if word.startswith(MARCH) else "level" if word in LEVELS else word
        if kind not in {"march", "level", *STEPS, *FLAGS}:
            raise UsageError(
                f"{word!r} is no part of a recipe", where=where, next_step=suggestion(word, (*LEVELS, *STEPS, *FLAGS, f"{MARCH}native"))
            )
        if kind in seen:
            raise UsageError(
                f"this recipe says twice what its {kind} is" if kind in {"march", "level"} else f"{word} is named twice", where=where
            )
        seen.add(kind)
    machine = next((word.removeprefix(MARCH) for word in words if word.startswith(MARCH)), "")
    if "march" in seen and not _MACHINE.fullmatch(machine):
        raise UsageError(f"{machine!r} is no machine", where=where, next_step="give one that gcc knows, for instance march=x86-64-v3")
    if {"bolt", FIXED} <= seen:
        raise UsageError(f"BOLT wants a program that runs at any address, and {FIXED} makes none", where=where, next_step="leave one out")
    if TRAINED_ONLY in seen and "pgo" not in seen:
        raise UsageError(
            f"{TRAINED_ONLY} says how a profile is used, and this recipe has none", where=where, next_step="add pgo, or leave it out"
        )
    return Recipe(
        level=next((LEVELS[word] for word in words if word in LEVELS), "2"),
        march=machine,
        lto="lto" in seen,
        pgo="pgo" in seen,
        bolt="bolt" in seen,
        words=tuple(word for word in FLAGS if word in seen),
    )
