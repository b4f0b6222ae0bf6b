"""Versions of PHP and of its packages, in dpkg's order."""

import re

from phpdyno.errors import DynoError
from phpdyno.servers.programs.finding import told

_UNRELEASED = re.compile(r"-?(dev|alpha|beta|RC)")


def as_package(version: str) -> str:
    """`8.4.5~RC1` of PHP's `8.4.5RC1`, and `8.5.0~dev` of `8.5.0-dev`: dpkg then puts them before
    the release."""
    return _UNRELEASED.sub(r"~\1", version, count=1)


def is_below(version: str, other: str) -> bool:
    """Whether dpkg puts one version before another; what is not released yet comes before its
    release. Raises DynoError for none."""
    answer = told(["dpkg", "--compare-versions", as_package(version), "lt", as_package(other)])
    if answer.returncode not in {0, 1}:
        lines = answer.stderr.decode(errors="replace").strip().splitlines() or ["no output"]
        raise DynoError(f"dpkg does not compare this version with {other}: {lines[-1]}", where=version)
    return answer.returncode == 0
