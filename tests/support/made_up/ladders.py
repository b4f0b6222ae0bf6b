"""A ladder and a matrix that were never measured: records with made-up observations, for
reports."""

import math
import random
from collections.abc import Sequence

from msgspec import structs

from phpdyno.config.recipe import parse_recipe
from phpdyno.journal.ladder import LADDER_SCHEMA, LadderRecord
from phpdyno.journal.matrix import MATRIX_SCHEMA, MatrixApp, MatrixRecord
from phpdyno.journal.records import SCHEMA, BlockDone, Ended, Header, Planned, Record
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.build import Binary, Build, BuildCheck, CodeSection, Counted, LaidOut, Lesson, Teaching
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import MAX_LAG_OF_CPU, Plan
from phpdyno.model.runs.matrix import ALL
from phpdyno.model.workload import Target, Workload
from phpdyno.php_build.rungs import BOTH, HUGE, JIT, PRELOAD, knob_steps, steps_of
from tests.support.made_up.builds import BUILD

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36")
COST = Cost(10, 30_000_000, 1, 1, 1, 60_000_000, 3_000_000, 7_000_000)
TEACHING = Teaching("wordpress", "6.1", (("/", 1.0),), 15.0, 500, 1, "wordpress")
LAID_OUT = (
    LaidOut("php-fpm", (Counted("taken branches", 1_000_000, 700_000),), ("zval_ptr_dtor",)),
    LaidOut("opcache.so", (Counted("taken branches", 50_000, 10_000),), ()),
)
CODE = (CodeSection(".plt", 3, 0), CodeSection(".text", 4997, 1234))
RECIPES = tuple(parse_recipe(text) for text in ("o2", "lto", "pgo", "pgo+bolt"))


def build(recipe: str, *apps: str) -> Build:
    """A finished build."""
    parsed = parse_recipe(recipe)
    taught = tuple(Lesson(structs.replace(TEACHING, app=app), 1500, {"/": 1500}, 420) for app in apps or ("wordpress",))
    return structs.replace(
        BUILD,
        name=f"{parsed.name}-{'-'.join(apps) or '1a2b3c4d'}",
        recipe=parsed,
        compiler="12.2.0",
        binaries=(Binary("php-cgi", "c0de", "", 4000, CODE), Binary("php-fpm", "c0de", "", 5000, CODE)),
        checks=(BuildCheck("extensions", ok=True, seen="all 34 of them"),),
        seconds=431.0,
        lessons=taught if parsed.trained else (),
        laid_out=LAID_OUT if parsed.bolt else (),
    )


def ladder_record() -> LadderRecord:
    """Three builds and one that failed, and what goes on top of the best."""
    builds = {each.name: build(each.name) for each in RECIPES if each.name != "lto"}
    steps = steps_of(RECIPES, builds, {"lto": "compiling lto failed: internal compiler error"})
    top = next(step for step in steps if step.name == "pgo+bolt")
    knobs = knob_steps(top, text_pages=2, shared_pages=96, preload="/cache/preload/c0de.php")
    return LadderRecord(LADDER_SCHEMA, steps, {each.name: each for each in builds.values()}, knob_budget_s=300.0, knobs=knobs)


def journal(app: str, truth: dict[str, float], *, control: str = "control", blocks: int = 24) -> list[Record]:
    """A comparison in which treatments have these ratios (above 1: cheaper than the control)."""
    plan = Plan(
        app=app,
        app_version="1",
        workload=Workload((Target("/"),)),
        control=Arm(control, PHP),
        treatments=tuple(Arm(name, PHP, {}, {"php": name}) for name in truth),
        max_lag_of_cpu=MAX_LAG_OF_CPU,
        settle="never",
    )
    records: list[Record] = [Header(SCHEMA, "0.1.0", "ladder", "2026-01-02T03:04:05+0000", ("ladder", app)), Planned(plan)]
    return [*records, *(_block(block, truth) for block in range(blocks)), Ended("finished", "", 300.0)]


def _block(block: int, truth: dict[str, float]) -> BlockDone:
    chance = random.Random(f"block {block}")
    mood = chance.gauss(0.0, 0.01)
    seen = []
    for name, ratio in truth.items():
        log = math.log(ratio) + mood + chance.gauss(0.0, 0.003)
        seen.append(Observation(name, block, log, log, 0.01, 8, COST, COST))
    return BlockDone(block, 10.0 * block, 10.0 * block + 9.0, tuple(seen), "")


def ladder_journal(record: LadderRecord) -> list[Record]:
    """What was measured of its builds."""
    truth = {"o2": 1.01, "pgo": 1.09, "pgo+bolt": 1.12}
    return journal("wordpress", {each.spec: truth[each.name] for each in record.steps if each.spec})


def knob_journal(record: LadderRecord) -> list[Record]:
    """What was measured on top of the best."""
    truth = {HUGE: 0.998, JIT: 1.071, PRELOAD: 1.085, BOTH: 1.071}
    return journal("wordpress", {each.spec: truth[each.name] for each in record.knobs})


def matrix_record(apps: Sequence[str] = ("wordpress", "hello")) -> MatrixRecord:
    """Profiles of these apps, and one of all."""
    plain = build("o2")
    profiled = {**{app: build("pgo", app) for app in apps}, ALL: build("pgo", *apps)}
    return MatrixRecord(
        schema=MATRIX_SCHEMA,
        phpdyno="0.1.0",
        started="2026-01-02T03:04:05+0000",
        argv=("matrix", *apps),
        apps=tuple(MatrixApp(app, app, "done") for app in apps),
        plain=plain.name,
        profiles={name: each.name for name, each in profiled.items()},
        builds={each.name: each for each in (plain, *profiled.values())},
        budget_s=600.0,
        margin=0.01,
        confidence=0.95,
        seed=1,
    )
