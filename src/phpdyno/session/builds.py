"""Finished builds as settings of an arm."""

from collections.abc import Mapping
from pathlib import Path

from phpdyno.model.arm import PhpBuild
from phpdyno.model.build import STOCK_OF, Build, series_of
from phpdyno.php_build.compile.dropin import settings_of
from phpdyno.php_build.package.naming import packaged_fpm
from phpdyno.php_build.workshop import finished_builds, named_build


def place_of_build(name: str) -> dict[str, str]:
    """How an arm runs a finished build, by its name, or by its recipe for the newest of that; with
    `/stock` behind the name: the PHP that it stands beside. Raises UsageError."""
    place, build = named_build(name.removesuffix(STOCK_OF))
    return build.stock if name.endswith(STOCK_OF) else settings_of_build(place, build)


def settings_of_build(place: Path, build: Build) -> dict[str, str]:
    """How an arm runs a finished build that lies in `place`."""
    return settings_of(place, alone=build.alone, ini=build.ini)


def without_build(base: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """`base` without what belongs to the finished build that it runs, or to the PHP beside that,
    where `changes` name another PHP: its extensions and its php.ini would be loaded by that one."""
    own = base.get("php", "")
    if not own or changes.get("php", own) == own:
        return dict(base)
    for place, build in finished_builds():
        for mine in (settings_of_build(place, build), build.stock):
            if mine["php"] == own:
                return {key: value for key, value in base.items() if mine.get(key) != value}
    return dict(base)


def site_fpm(php: PhpBuild) -> str:
    """The php-fpm of the site that this one was measured for: the distribution's, where a build's
    pair stood in for it."""
    stood_in = any(build.measuring_only and not build.alone and build.like == php.fpm for _, build in finished_builds())
    return packaged_fpm(series_of(php.version)) if stood_in else php.fpm
