"""phpdyno build --refresh: builds made anew for what the installed PHP is now."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.commands.build.builder import open_build_session
from phpdyno.commands.build.run import Made
from phpdyno.commands.build.sources import SourceRequest
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.model.build import Build, Teaching
from phpdyno.model.recipe import Recipe
from phpdyno.php_build.source.installed import find_fpm, why_outdated
from phpdyno.php_build.train.training import TrainingLength
from phpdyno.php_build.workshop import finished_builds, named_build
from phpdyno.servers.programs.php import inspect_php


class _Renewal(Struct, frozen=True):
    """What is to be made anew: a recipe, and what it is trained on."""

    recipe: Recipe
    teachings: tuple[Teaching, ...]

    @property
    def training_length(self) -> TrainingLength:
        """The length of the training, as it was."""
        first = self.teachings[0]
        return TrainingLength(first.seconds, first.least, first.seed)


def refresh(like: str, *, only: str = "", logs: Path, progress: Progress) -> tuple[list[Made], list[str]]:
    """Builds that stood in for a php-fpm, made anew for what it is now; `only` one of them, by its
    name or its recipe's. Those that still fit are found in the cache. One that cannot be made is
    noted, and the others go on; gives those that are made, and why the others are not.

    Raises UsageError where there are none, DynoError where there is no such php-fpm.
    """
    if only:
        only, like = _named(only)
    fpm = find_fpm(like)
    failed: list[str] = []

    def fails(why: str) -> None:
        failed.append(why)
        progress.note(why)

    kept = [(place, build) for place, build in finished_builds() if build.like == fpm and not build.measuring_only]
    stood_in = [(place, build) for place, build in kept if only in {"", build.name}]
    renewals = _renewals(stood_in, inspect_php(fpm).version, fails, named=bool(only))
    if not renewals and not failed:
        what = f"there is no build that stood in for {fpm}"
        raise UsageError(what, where="--refresh", next_step="name its php-fpm with --like, or make one with: phpdyno build --train APP")
    made: dict[Path, Build] = {}
    if renewals:
        # Of BOLT each recipe with it is asked by itself: where it is missing, the others go on.
        with open_build_session(SourceRequest(like, to_be_kept=True), logs=logs, progress=progress) as builder:
            for number, each in enumerate(renewals, 1):
                title = f"build {number} of {len(renewals)}: {each.recipe.name}"
                try:
                    taught = [builder.taught_by(builder.as_before(one), each.training_length) for one in each.teachings]
                    place, build = builder.build(each.recipe, taught, title=title)
                    made[place] = build
                except DynoError as error:
                    fails(f"{each.recipe.name} is not made anew: {error}")
    return list(made.items()), failed


def _named(name: str) -> tuple[str, str]:
    """The whole name of a build, and the php-fpm that it stood in for. Raises UsageError."""
    _, build = named_build(name)
    if build.measuring_only:
        what = "this build is for measuring only: it was made beside another PHP than the installed one"
        raise UsageError(what, where=build.name, next_step="build it again as you did")
    return build.name, build.like


def _renewals(stood_in: Sequence[Made], installed: str, fails: Callable[[str], None], *, named: bool) -> list[_Renewal]:
    """What is to be made of these builds, each once. What only its builder can make again `fails`,
    unless it still fits the `installed` version and was not `named`."""
    found: dict[_Renewal, None] = {}
    for place, build in stood_in:
        known = build.known
        if not build.as_packaged:
            if named or why_outdated(place, build, installed):
                fails(f"{build.name} {'stands alone' if build.alone else 'is of a source of its own'}: build it again as you did")
        elif not known:
            # Of builds made before this was recorded.
            fails(f"it is not known on which app {build.name} was examined: give it one with --train")
        else:
            found[_Renewal(build.recipe, known)] = None
    return list(found)
