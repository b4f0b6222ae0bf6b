"""What every report shows of a build."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.model.build import Build, Teaching
from phpdyno.report.words import count


class CountedBefore(Struct, frozen=True):
    """A figure that BOLT counts over the profile of a build."""

    name: Annotated[str, Meta(description="What is counted, in BOLT's words.")]
    before: Annotated[int, Meta(description="As the compiler laid the code out.")]
    after: Annotated[int, Meta(description="As BOLT did.")]


class BuildView(Struct, frozen=True):
    """A build that a step runs."""

    name: Annotated[str, Meta(description="Its name, as `build=NAME` takes it.")]
    php: Annotated[str, Meta(description="Version of PHP.")]
    compiler: Annotated[str, Meta(description="Version of GCC.")]
    vm_kind: Annotated[str, Meta(description="Which interpreter is compiled: HYBRID with global registers, CALL without.")]
    trained_on: Annotated[str, Meta(description="What trained it; empty where nothing did.")]
    checks: Annotated[tuple[tuple[str, str], ...], Meta(description="What was looked at before it was used: names and what was seen.")]
    took_s: Annotated[float, Meta(description="Seconds that making it took.")]
    skipped: Annotated[dict[str, str], Meta(description="Steps of its recipe that did not come off, with the reason.")]
    counted: Annotated[tuple[CountedBefore, ...], Meta(description="BOLT's figures; none without BOLT.")]


def build_view(build: Build) -> BuildView:
    """What a report shows of a build."""
    return BuildView(
        name=build.name,
        php=build.php_version,
        compiler=f"GCC {build.compiler}",
        vm_kind=build.vm_kind,
        trained_on=taught_words(build),
        checks=tuple((each.name, each.seen) for each in build.checks),
        took_s=build.seconds,
        skipped=build.skipped,
        counted=tuple(CountedBefore(name, before, after) for name, (before, after) in build.bolt.items()),
    )


def taught_words(build: Build) -> str:
    """`wordpress, 1500 requests; shop as access.log asks, 700 requests`; empty where nothing trained it."""
    return "; ".join(f"{_whose(each.teaching)}, {count(each.requests, 'request')}" for each in build.lessons)


def _whose(teaching: Teaching) -> str:
    return f"{teaching.app} as {Path(teaching.requests).name} asks" if teaching.requests else teaching.app
