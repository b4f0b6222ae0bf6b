"""Builds in words."""

from collections.abc import Mapping
from pathlib import Path

from phpdyno.model.build import Build, Teaching
from phpdyno.report.words import count


def missing_words(name: str, skipped: Mapping[str, str]) -> tuple[str, ...]:
    """`pgo+bolt: without bolt: BOLT is not installed`, one for each step that did not come off."""
    return tuple(f"{name}: without {step}: {why}" for step, why in skipped.items())


def taught_words(build: Build) -> str:
    """`wordpress, 1500 requests; shop as access.log asks, 700 requests`; empty where nothing
    trained it."""
    return "; ".join(f"{_whose(each.teaching)}, {count(each.requests, 'request')}" for each in build.lessons)


def _whose(teaching: Teaching) -> str:
    return f"{teaching.app} as {Path(teaching.requests).name} asks" if teaching.requests else teaching.app
