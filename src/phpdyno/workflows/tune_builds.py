"""Builds as changes of a tune: those in the cache that stand in for the control's PHP."""

from collections.abc import Sequence

from phpdyno.apps.source import silent
from phpdyno.build.workshop import Workshop
from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm
from phpdyno.paths import cache_path
from phpdyno.tuning.factors import Candidate
from phpdyno.workflows.specs import place_of_build

OPTION = "--with-builds"


def fitting_builds(control: Arm) -> tuple[str, ...]:
    """Names of the finished builds that stand beside this control's PHP, the newest of each recipe. Nothing is compiled for a tune.

    Raises UsageError where there is none.
    """
    fitting = {
        build.recipe.name: build.name
        for _, build in Workshop(cache_path(), silent).builds()
        if build.like == control.php.fpm and (build.alone or build.php_version == control.php.version)
    }
    if not fitting:
        raise UsageError(
            f"there is no build that stands in for {control.php.fpm}",
            where=OPTION,
            next_step="make one with: phpdyno build --train APP",
        )
    return tuple(fitting.values())


def build_candidates(names: Sequence[str]) -> tuple[Candidate, ...]:
    """Each build as a change; an arm runs one of them at most. Raises UsageError for one that is gone."""
    return tuple(Candidate(f"build={name}", place_of_build(name)) for name in names)
