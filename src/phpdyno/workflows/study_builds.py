"""Builds that a study names: made before anything is measured, then known to its arms by their full names."""

from collections.abc import Callable, Mapping
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
STAND_IN = "env.PHPDYNO_BUILD"


def with_builds(wanted: Study, *, logs: Path, progress: Progress) -> Study:
    """The study with every build in the cache, and its arms naming those; as it is where it names none. Raises DynoError."""
    if not wanted.builds:
        return wanted
    names: dict[str, str] = {}
    course = Course(seed=wanted.seed)
    with open_site(Foundation(), logs=logs, progress=progress) as site:
        training = dict.fromkeys(app for each in wanted.builds for app in each.train)
        taught = {name: site.taught_by(Trainee(wanted.apps[name]), course) for name in training}
        for number, each in enumerate(wanted.builds, 1):
            progress.phase(f"build {number} of {len(wanted.builds)}: {each.name}")
            _, made = site.build(parse_recipe(each.recipe), [taught[app] for app in each.train])
            names[each.name] = made.name
    names[STOCK] = stock_of(next(iter(names.values())))
    return named(wanted, names)


def without_builds(wanted: Study) -> Study:
    """The same study before its builds are made: all else of it can be looked up. A variable that nothing reads keeps its arms apart."""
    return _with_layer(wanted, lambda build: {STAND_IN: build})


def named(wanted: Study, names: Mapping[str, str]) -> Study:
    """The same study whose arms call builds by other names."""
    return _with_layer(wanted, lambda build: {LAYER: names[build]})


def _with_layer(wanted: Study, setting: Callable[[str], dict[str, str]]) -> Study:
    """The study whose arms have another `setting` in the place of their build's name."""
    arms = []
    for arm in wanted.arms:
        rest = {key: value for key, value in arm.settings.items() if key != LAYER}
        build = arm.settings.get(LAYER)
        arms.append(arm if build is None else structs.replace(arm, settings={**rest, **setting(build)}))
    return structs.replace(wanted, arms=tuple(arms))
