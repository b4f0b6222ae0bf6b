"""Builds that a study names: made before anything is measured, then known to its arms by their full
names, and the same ones to the end."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import structs

from phpdyno.commands.build.builder import Trainee, open_build_session
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from phpdyno.experiment.common.progress import Progress
from phpdyno.model.build import Build, stock_of
from phpdyno.model.runs.ladder import STOCK
from phpdyno.model.runs.study import Study
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.php_build.workshop import named_build

LAYER = "build"
STAND_IN = "env.PHPDYNO_BUILD"


def with_builds(wanted: Study, *, logs: Path, progress: Progress) -> tuple[Study, dict[str, Build]]:
    """The study with every build in the cache, its arms naming those, and the builds by their names
    in the study; as it is where it names none. Raises DynoError."""
    if not wanted.builds:
        return wanted, {}
    builds: dict[str, Build] = {}
    training_length = TrainingLength(seed=wanted.seed)
    for alone in dict.fromkeys(each.alone for each in wanted.builds):
        mine = [each for each in wanted.builds if each.alone == alone]
        recipes = {each.name: parse_recipe(each.recipe) for each in mine}
        foundation = SourceRequest(alone=alone, laid_out=any(recipe.bolt for recipe in recipes.values()))
        with open_build_session(foundation, logs=logs, progress=progress) as builder:
            training = dict.fromkeys(app for each in mine for app in each.train)
            taught = {name: builder.taught_by(Trainee(wanted.apps[name]), training_length) for name in training}
            for each in mine:
                title = f"build {len(builds) + 1} of {len(wanted.builds)}: {each.name}"
                _, builds[each.name] = builder.build(recipes[each.name], [taught[app] for app in each.train], title=title)
    names = {name: made.name for name, made in builds.items()}
    # Of a drop-in, if there is one: its binaries are of its own version.
    beside = min(builds.values(), key=lambda build: build.alone)
    return named(wanted, {**names, STOCK: stock_of(beside.name)}), builds


def without_builds(wanted: Study) -> Study:
    """The same study before its builds are made: all else of it can be looked up. A variable that
    nothing reads keeps its arms apart."""
    return _with_layer(wanted, lambda build: {STAND_IN: build})


def named(wanted: Study, names: Mapping[str, str]) -> Study:
    """The same study whose arms call builds by other names."""
    return _with_layer(wanted, lambda build: {LAYER: names[build]})


def refuse_rebuilt(builds: Iterable[Build], *, of: str) -> None:
    """What a study, a ladder or a matrix (`of`) began with is what it goes on with: a build that
    was deleted and made again may have the same name and other binaries. Raises UsageError where
    one is gone, DynoError where one is another."""
    for then in builds:
        _, now = named_build(then.name)
        if _digests(then) != _digests(now):
            raise DynoError(f"this build is not the one that the {of} began with", where=then.name, next_step="start a new one")


def _digests(build: Build) -> dict[str, str]:
    return {each.path: each.sha256 for each in build.binaries}


def _with_layer(wanted: Study, setting: Callable[[str], dict[str, str]]) -> Study:
    """The study whose arms have another `setting` in the place of their build's name."""
    arms = []
    for arm in wanted.arms:
        rest = {key: value for key, value in arm.settings.items() if key != LAYER}
        build = arm.settings.get(LAYER)
        arms.append(arm if build is None else structs.replace(arm, settings={**rest, **setting(build)}))
    return structs.replace(wanted, arms=tuple(arms))
