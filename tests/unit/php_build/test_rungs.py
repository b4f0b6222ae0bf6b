"""The steps of a ladder."""

from msgspec import structs

from phpdyno.config.recipe import parse_recipe
from phpdyno.model.runs.ladder import STOCK
from phpdyno.php_build.rungs import BOTH, HUGE, JIT, PRELOAD, RUNGS, knob_steps, stands_on, steps_of
from tests.support.made_up.builds import BUILD

RECIPES = tuple(parse_recipe(text) for text in RUNGS)
BUILDS = {each.name: structs.replace(BUILD, name=f"{each.name}-1", recipe=each) for each in RECIPES}


def test_each_recipe_stands_on_the_one_that_it_adds_to() -> None:
    assert {each.name: stands_on(each, RECIPES) for each in RECIPES} == {
        "o2": STOCK,
        "o3": "o2",
        "march=native": "o2",
        "lto": "o2",
        "pgo": "o2",
        "lto+pgo": "pgo",
        "o3+pgo": "pgo",
        "pgo+bolt": "pgo",
    }
    assert stands_on(parse_recipe("o3+pgo"), [parse_recipe("o3"), parse_recipe("o3+pgo")]) == "o3"
    assert stands_on(parse_recipe("pgo"), [parse_recipe("pgo"), parse_recipe("o2")]) == STOCK


def test_one_that_failed_carries_no_other() -> None:
    made = {name: build for name, build in BUILDS.items() if name != "pgo"}
    steps = {each.name: each for each in steps_of(RECIPES, made, {"pgo": "it crashed"})}
    assert (steps["pgo"].spec, steps["pgo"].failed) == ("", "it crashed")
    assert steps["pgo+bolt"].on == "o2"
    assert steps["pgo+bolt"].spec == "build=pgo+bolt-1"
    assert steps["lto+pgo"].on == "lto"


def test_one_that_is_without_a_part_of_its_recipe_is_not_that_step_and_carries_no_other() -> None:
    less = {**BUILDS, "pgo+bolt": structs.replace(BUILDS["pgo+bolt"], skipped={"bolt": "BOLT is not installed"})}
    wanted = (*RECIPES, parse_recipe("pgo+bolt+no-plt"))
    steps = {each.name: each for each in steps_of(wanted, {**less, "no-plt+pgo+bolt": BUILDS["pgo"]}, {})}
    assert (steps["pgo+bolt"].spec, steps["pgo+bolt"].build) == ("", "")
    assert steps["pgo+bolt"].failed == "without bolt: BOLT is not installed"
    assert steps["no-plt+pgo+bolt"].on == "pgo"


TOP = steps_of(RECIPES, BUILDS, {})[-1]


def test_what_goes_on_top_stands_on_that_build_or_on_the_jit() -> None:
    steps = knob_steps(TOP, text_pages=3, shared_pages=96, preload="/cache/preload.php")
    jit = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M"
    assert [(each.name, each.on, each.spec) for each in steps] == [
        (HUGE, "pgo+bolt", "ini.opcache.huge_code_pages=1;os.vm.nr_hugepages=3"),
        (JIT, "pgo+bolt", jit),
        (PRELOAD, JIT, f"{jit};ini.opcache.preload=/cache/preload.php"),
        (BOTH, JIT, f"{jit};ini.opcache.huge_code_pages=1;os.vm.nr_hugepages=99"),
    ]
    assert {each.build for each in steps} == {TOP.build}


def test_what_cannot_be_had_here_is_no_step() -> None:
    steps = knob_steps(TOP)
    assert [each.name for each in steps] == [HUGE, JIT, BOTH]
    assert not any("os.vm.nr_hugepages" in each.spec for each in steps)
