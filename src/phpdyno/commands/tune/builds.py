"""Builds as changes of a tune: those in the cache that stand in for the control's PHP."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from phpdyno.bundle.manifest import PROGRAM
from phpdyno.bundle.write.rebuilt import Rebuilt
from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm
from phpdyno.model.build import STOCK_OF, Build
from phpdyno.php_build.source.installed import why_outdated
from phpdyno.php_build.workshop import finished_builds
from phpdyno.session.builds import place_of_build, settings_of_build
from phpdyno.tuning.factors import Candidate

OPTION = "--with-builds"


def fitting_builds(control: Arm, app: str) -> tuple[str, ...]:
    """Names of the finished builds that stand beside this control's PHP, one of each recipe as a
    drop-in and one that stands alone: the newest that was made for this app alone, else the newest
    that was made for it and others, else the newest; one that is without a step of its recipe only
    where no other is there. The most promising come first, since there may be time for some of them
    only: those that have learnt more, and more of this app. Nothing is compiled for a tune.

    Raises UsageError where there is none.
    """
    made = [each for each in finished_builds() if Path(settings_of_build(*each)[PROGRAM]).is_file()]
    found = [build for place, build in made if build.like == control.php.fpm and _stands_in(place, build, control.php.version)]
    best_last = sorted(found, key=lambda build: (not build.skipped, _knows(build, app)))
    fitting = {(build.recipe.name, build.alone): build for build in best_last}
    if not fitting:
        raise UsageError(
            f"there is no build that stands in for {control.php.fpm}",
            where=OPTION,
            next_step=_how_to_try([build for _, build in made if build.measuring_only and not build.alone]),
        )
    return tuple(build.name for build in sorted(fitting.values(), key=lambda build: _promise(build, app), reverse=True))


def _how_to_try(pairs: Sequence[Build]) -> str:
    """What to type where no build stands in for the control, and these stand beside binaries of
    their own version."""
    if not pairs:
        return "make one with: phpdyno build --train APP"
    newest = max(pairs, key=lambda build: build.made_at).name
    return f"{newest} stands beside binaries of its own version; begin with those: --control build={newest}{STOCK_OF}"


def _stands_in(place: Path, build: Build, version: str) -> bool:
    """Whether a build may be tried beside a PHP of that version and its extensions. (A drop-in for
    measuring only stands beside binaries of its own version, which are the control then.)"""
    return not (build.alone and build.measuring_only) and not why_outdated(place, build, version)


def _promise(build: Build, app: str) -> tuple[int, ...]:
    """What to sort builds by: the higher, the more it is likely to bring."""
    recipe = build.recipe
    return (not build.skipped, recipe.bolt, recipe.pgo, recipe.lto, _knows(build, app), recipe.level == "3")


def _knows(build: Build, app: str) -> int:
    """How well a build knows an app: 2 where it was trained or examined on no other, 1 with others,
    0 not at all."""
    apps = {each.app for each in build.known}
    return 2 if apps == {app} else int(app in apps)


def rebuilt_in(settings: Mapping[str, str]) -> Rebuilt | None:
    """The build that these settings run; None for the PHP that was there."""
    for place, build in finished_builds():
        mine = settings_of_build(place, build)
        if settings.get(PROGRAM) == mine[PROGRAM]:
            return Rebuilt(build, mine)
    return None


def build_candidates(names: Sequence[str]) -> tuple[Candidate, ...]:
    """Each build as a change; an arm runs one of them at most. Raises UsageError for one that is
    gone."""
    return tuple(Candidate(f"build={name}", place_of_build(name)) for name in names)
