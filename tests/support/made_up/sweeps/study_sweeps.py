"""A study of one sweep, and its record: plausible numbers that nobody measured."""

from pathlib import Path

from msgspec import structs

from phpdyno.config.study.file import load_study
from phpdyno.journal.sweep import Sweep
from phpdyno.model.runs.study import Study
from phpdyno.model.runs.sweep import SweepPlan, points_of
from tests.support.made_up.sweeps.sweep_runs import ENDED, sweep_of, sweep_plan, visits
from tests.support.made_up.sweeps.sweeps import arm

TOML = """\
name = "pools"
title = "Pools"
about = "How many workers."
seed = 2
[apps]
shop = "hello"
[factor.pool]
"dynamic 5" = "pool.pm=dynamic;pool.pm.max_children=5"
"static 10" = "pool.pm=static;pool.pm.max_children=10"
[[arm]]
name = "dynamic 5"
levels = { pool = "dynamic 5" }
[[arm]]
name = "static 10"
levels = { pool = "static 10" }
[[sweep]]
name = "shop-sweep"
app = "shop"
concurrency = [1, 5, 50]
open_share = 0.7
budget_s = 120
[reference]
source = "somebody"
setup = { processor = "another one", load = "ab" }
[[reference.sweep]]
machine = "2 vCPU | <b>"
[reference.sweep.per_s."dynamic 5"]
1 = 1509.23
5 = 1852.83
[[reference.sweep]]
machine = "16 vCPU"
[reference.sweep.per_s."static 10"]
50 = 7250.75
[[note]]
text = "Always said."
"""
SPECS = ("pool.pm=dynamic;pool.pm.max_children=5", "pool.pm=static;pool.pm.max_children=10")


def sweep_study(folder: Path) -> Study:
    """The study of the text above."""
    path = folder / "pools.toml"
    path.write_text(TOML)
    return load_study(path)


def study_plan() -> SweepPlan:
    """The plan of its sweep: arms called by their SPECs."""
    arms = tuple(arm(spec, dict(part.split("=", 1) for part in spec.split(";"))) for spec in SPECS)
    return structs.replace(sweep_plan(arms, points_of((1, 5, 50), 0.7)), app="hello", app_version="6.1.1")


def study_sweep(rounds: int = 5) -> Sweep:
    """Its record after so many rounds."""
    plan = study_plan()
    return sweep_of(plan, visits(plan, rounds, failing=3), ends=(ENDED,))
