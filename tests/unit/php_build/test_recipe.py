"""Recipes: words, names, and the flags that they stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.config.recipe import FIXED, FLAGS, TRAINED_ONLY, parse_recipe
from phpdyno.errors import UsageError
from phpdyno.model.recipe import Recipe
from phpdyno.php_build.compile.flags import GENERATE, LTO, PROGRAM_UNDER_BOLT, USE, WHOLE_PAGES, flags_of

RECIPES = st.builds(
    Recipe,
    level=st.sampled_from(["2", "3"]),
    march=st.sampled_from(["", "native", "x86-64-v3"]),
    lto=st.booleans(),
    pgo=st.booleans(),
    bolt=st.booleans(),
    words=st.sets(st.sampled_from(list(FLAGS))).map(lambda words: tuple(word for word in FLAGS if word in words)),
).filter(lambda recipe: not (recipe.bolt and FIXED in recipe.words) and (recipe.pgo or TRAINED_ONLY not in recipe.words))


@given(RECIPES)
def test_a_name_is_read_as_the_recipe_that_it_names(recipe: Recipe) -> None:
    assert parse_recipe(recipe.name) == recipe


@pytest.mark.parametrize(
    ("text", "name"),
    [("o2", "o2"), ("bolt+pgo", "pgo+bolt"), ("pgo + o3", "o3+pgo"), ("lto+march=native", "march=native+lto"), ("o2+pgo", "pgo")],
)
def test_the_order_of_words_does_not_matter(text: str, name: str) -> None:
    assert parse_recipe(text).name == name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "'' is no part of a recipe"),
        ("pgo+", "'' is no part of a recipe"),
        ("pog", "did you mean pgo?"),
        ("pgo+pgo", "pgo is named twice"),
        ("o2+o3", "says twice what its level is"),
        ("march=a+march=b", "says twice what its march is"),
        ("march=", "'' is no machine"),
        ("march=native;rm", "is no machine"),
        ("trained-only+o3", "trained-only says how a profile is used"),
        ("bolt+no-pie", "BOLT wants a program that runs at any address"),
    ],
)
def test_words_that_are_none_are_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_recipe(text)
    assert why in str(caught.value)
    assert "--recipe" in str(caught.value)


def test_the_control_of_all_recipes_is_plain() -> None:
    plain = flags_of(Recipe(), "plain")
    assert (plain.compile, plain.vm_file, plain.link, plain.program) == (("-O2",), ("-O2",), (), WHOLE_PAGES)


def test_the_interpreter_s_file_is_left_out_of_link_time_optimisation() -> None:
    flags = flags_of(parse_recipe("lto+pgo"), "use")
    assert set(LTO) <= set(flags.compile)
    assert "-fno-lto" in flags.vm_file
    assert not set(LTO) & set(flags.vm_file)
    assert set(USE) <= set(flags.vm_file)


@given(RECIPES.filter(lambda recipe: recipe.pgo))
def test_what_writes_a_profile_does_not_use_one(recipe: Recipe) -> None:
    before, after = flags_of(recipe, "generate"), flags_of(recipe, "use")
    assert set(GENERATE) <= set(before.compile)
    assert not set(USE) & set(before.compile)
    assert not set(LTO) & set(before.compile)
    assert set(USE) <= set(after.compile)
    assert not set(GENERATE) & set(after.compile)


def test_what_was_not_trained_is_compiled_for_size_where_the_recipe_says_so() -> None:
    flag = FLAGS[TRAINED_ONLY]
    used = flags_of(parse_recipe("trained-only+pgo"), "use").compile
    # Of two of a kind the later one counts.
    assert used.index(flag) > used.index("-fprofile-partial-training")
    # What is trained is the same for both, so one training serves both.
    assert flags_of(parse_recipe("trained-only+pgo"), "generate") == flags_of(parse_recipe("pgo"), "generate")


@given(RECIPES)
def test_only_programs_are_linked_as_programs(recipe: Recipe) -> None:
    flags = flags_of(recipe, "plain")
    assert not set(PROGRAM_UNDER_BOLT) & {*flags.compile, *flags.link}
    fixed = {"-no-pie"} if FIXED in recipe.words else set()
    assert set(flags.program) == {*WHOLE_PAGES, *(PROGRAM_UNDER_BOLT if recipe.bolt else ()), *fixed}


def test_a_recipe_without_a_profile_has_no_phase_for_one() -> None:
    with pytest.raises(ValueError, match="o3 has no profile"):
        flags_of(parse_recipe("o3"), "use")
