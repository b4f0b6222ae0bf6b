"""The package of a build: its name, its version, where it lies, and which build has none. Pure."""

import re

from phpdyno.errors import DynoError
from phpdyno.model.build import Build, series_of
from phpdyno.php_build.source.versions import as_package

HOME = "usr/lib/phpdyno"
_UNFIT = re.compile(r"[^a-z0-9.+-]+")
_PACKAGED = re.compile(r"/usr/sbin/php-fpm(\d+\.\d+)")
"""As `packaged_fpm` writes it."""


def packaged_fpm(series: str) -> str:
    """Where the distribution has its php-fpm: `/usr/sbin/php-fpm8.2`."""
    return f"/usr/sbin/php-fpm{series}"


def series_beside(fpm: str) -> str:
    """`8.2` of /usr/sbin/php-fpm8.2. Raises DynoError for one that is not the distribution's: a
    package would find no configuration."""
    found = _PACKAGED.fullmatch(fpm)
    if found is None:
        raise DynoError("only a build that stands beside the distribution's php-fpm can be packaged", where=fpm)
    return found[1]


def home_of(build: Build) -> str:
    """Where a package's files lie: `/usr/lib/phpdyno/phpdyno-php8.2-pgo`."""
    return f"/{HOME}/{package_name(build)}"


def package_name(build: Build) -> str:
    """`phpdyno-php8.2-pgo`: one package for each recipe, so that a later build of it is an upgrade;
    `-standalone` for one that stands alone."""
    recipe = build.made_by.replace("=", "-")
    return _UNFIT.sub("-", f"phpdyno-php{series_of(build.php_version)}-{recipe}{'-standalone' if build.alone else ''}".lower())


def unit_name(build: Build) -> str:
    """`phpdyno-php8.2-pgo-bolt` of the package `phpdyno-php8.2-pgo+bolt`: systemd takes no `+` in
    the name of a unit."""
    return package_name(build).replace("+", "-")


def version_of(build: Build) -> str:
    """`8.2.36-1~deb12u1+phpdyno20260102030405`: after the source's version where that is a
    package's; the time is UTC."""
    source = build.origin.version if build.origin.kind == "debian" else as_package(build.php_version)
    return f"{source}+phpdyno{build.made_at:%Y%m%d%H%M%S}"


def refuse_unpackable(build: Build) -> None:
    """Raises DynoError for a build that may only be measured with, because it is not of the version
    that the distribution has; and for one that stands beside a php-fpm that is not the
    distribution's."""
    if build.measuring_only:
        raise DynoError("this build is for measuring only: its source is not that of the installed PHP", where=build.name)
    series_beside(build.like)
