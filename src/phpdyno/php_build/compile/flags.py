"""From a recipe to what the compiler and the linker are told. Pure.

One configured tree serves all recipes: it is configured with plain -O2, and a recipe's flags come
behind that, where the later flag wins.
"""

from msgspec import Struct

from phpdyno.config.recipe import FIXED, FLAGS, TRAINED_ONLY, WHOLE_FUNCTIONS
from phpdyno.model.recipe import Phase, Recipe

GENERATE = ("-fprofile-generate", "-fprofile-update=atomic")
"""Atomic: a worker writes what several signals and its own end may touch."""
USE = (
    "-fprofile-use",
    "-fprofile-correction",
    "-fprofile-partial-training",
    "-fno-tracer",
    "-Wmissing-profile",
    "-Wno-error=coverage-mismatch",
)
"""Partial training: what the traffic never reached is compiled as without a profile, not for size.
Without the tracer, with which GCC 13 does not come to an end on session.c (php-src GH-18807)."""
LTO = ("-flto=auto", "-fno-fat-lto-objects")
NO_LTO = ("-fno-lto",)
VM_FILES = ("Zend/zend_execute.lo", "ext/opcache/jit/zend_jit_vm_helpers.lo")
"""Their registers are global variables, which link-time optimisation refuses (`global register
variable follows a function definition`)."""
RELOCATIONS = ("-Wl,-q",)
"""BOLT moves functions and blocks: it needs the linker's relocations."""
WHOLE_PAGES = ("-Wl,-z,common-page-size=2097152", "-Wl,-z,max-page-size=2097152")
"""The text begins at a multiple of 2 MiB wherever the program is put, so opcache.huge_code_pages
finds a whole page in it every time. PHP's own configure gives these to its programs; ours come
instead of those."""
PROGRAM_UNDER_BOLT = ("-pie", "-Wl,-z,now", "-Wl,-z,relro")
"""A program at a fixed address crashed at its start once BOLT had instrumented it."""


class Flags(Struct, frozen=True):
    """`compile` for all files but the interpreter's, which have `vm_file`; `link` for programs and
    modules, `program` for programs."""

    compile: tuple[str, ...]
    vm_file: tuple[str, ...]
    link: tuple[str, ...]
    program: tuple[str, ...]


def flags_of(recipe: Recipe, phase: Phase) -> Flags:
    """What to compile with. Raises ValueError for the phase of a profile where the recipe has
    none."""
    if phase != "plain" and not recipe.pgo:
        raise ValueError(f"{recipe.name} has no profile")
    common = (
        f"-O{recipe.level}",
        *((f"-march={recipe.march}",) if recipe.march else ()),
        *(GENERATE if phase == "generate" else USE if phase == "use" else ()),
        *(FLAGS[word] for word in recipe.words if word != TRAINED_ONLY or phase == "use"),
        *((FLAGS[WHOLE_FUNCTIONS],) if recipe.bolt and WHOLE_FUNCTIONS not in recipe.words else ()),
    )
    # What is compiled to be trained is never shipped, so it need not be small or quick.
    whole = recipe.lto and phase != "generate"
    return Flags(
        compile=(*common, *LTO) if whole else common,
        vm_file=(*common, *NO_LTO) if whole else common,
        link=RELOCATIONS if recipe.bolt else (),
        program=(*WHOLE_PAGES, *(PROGRAM_UNDER_BOLT if recipe.bolt else ()), *(("-no-pie",) if FIXED in recipe.words else ())),
    )
