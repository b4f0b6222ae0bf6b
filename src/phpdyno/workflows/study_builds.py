"""Builds that a study names: made before anything is measured, then known to its arms by their full names."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from phpdyno.build.training import Course
from phpdyno.config.recipe import parse_recipe
from phpdyno.experiment.progress import Progress
from phpdyno.model.build import stock_of
from phpdyno.model.ladder import STOCK
from phpdyno.model.study import Study
from phpdyno.workflows.build_ground import Foundation
from phpdyno.workflows.build_site import Trainee, open_site

LAYER = "build"


def with_builds(wanted: Study, *, logs: Path, progress: Progress) -> Study:
    """The study with every build in the cache, and its arms naming those; as it is where it names none. Raises DynoError."""
    if not wanted.builds:
        return wanted
    names: dict[str, str] = {}
    course = Course(seed=wanted.seed)
    with open_site(Foundation(), logs=logs, progress=progress) as site:
        taught = {name: site.taught_by(Trainee(reference), course) for name, reference in wanted.apps.items()}
        for number, each in enumerate(wanted.builds, 1):
            progress.phase(f"build {number} of {len(wanted.builds)}: {each.name}")
            _, made = site.build(parse_recipe(each.recipe), [taught[app] for app in each.train])
            names[each.name] = made.name
    names[STOCK] = stock_of(next(iter(names.values())))
    return named(wanted, names)


def named(wanted: Study, names: Mapping[str, str]) -> Study:
    """The same study whose arms call builds by other names."""
    arms = (
        structs.replace(arm, settings={**arm.settings, LAYER: names[arm.settings[LAYER]]}) if LAYER in arm.settings else arm
        for arm in wanted.arms
    )
    return structs.replace(wanted, arms=tuple(arms))
