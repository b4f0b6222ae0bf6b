"""Builds as changes of a tune: those in the cache that stand in for the control's PHP."""

from collections.abc import Sequence

from phpdyno.build.workshop import finished_builds
from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm
from phpdyno.model.build import Build
from phpdyno.tuning.factors import Candidate
from phpdyno.workflows.specs import place_of_build

OPTION = "--with-builds"


def fitting_builds(control: Arm, app: str) -> tuple[str, ...]:
    """Names of the finished builds that stand beside this control's PHP, one of each recipe: the newest that this app alone has trained,
    else the newest that it has trained with others, else the newest. Nothing is compiled for a tune.

    Raises UsageError where there is none.
    """
    found = [
        build
        for _, build in finished_builds()
        if build.like == control.php.fpm and (build.alone or build.php_version == control.php.version)
    ]
    fitting = {build.recipe.name: build.name for build in sorted(found, key=lambda build: _taught_by(build, app))}
    if not fitting:
        raise UsageError(
            f"there is no build that stands in for {control.php.fpm}",
            where=OPTION,
            next_step="make one with: phpdyno build --train APP",
        )
    return tuple(fitting.values())


def _taught_by(build: Build, app: str) -> int:
    """How well a build knows an app: 2 where nobody else trained it, 1 with others, 0 not at all."""
    apps = {each.teaching.app for each in build.lessons}
    return 2 if apps == {app} else int(app in apps)


def build_candidates(names: Sequence[str]) -> tuple[Candidate, ...]:
    """Each build as a change; an arm runs one of them at most. Raises UsageError for one that is gone."""
    return tuple(Candidate(f"build={name}", place_of_build(name)) for name in names)
