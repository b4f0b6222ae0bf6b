"""What every report shows of a build."""

from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.commands.build.words import taught_words
from phpdyno.knobs.catalogue.host import PAGE_KIB
from phpdyno.model.build import BESIDE_FPM, Build, CodeSection, LaidOut


class CodeOf(Struct, frozen=True):
    """How the code of one file of a build is laid out."""

    file: Annotated[str, Meta(description="The file, in the build's directory.")]
    sections: Annotated[tuple[CodeSection, ...], Meta(description="Its sections, in the order of addresses.")]


class BuildView(Struct, frozen=True):
    """A build that a step runs."""

    name: Annotated[str, Meta(description="Its name, as `build=NAME` takes it.")]
    php: Annotated[str, Meta(description="Version of PHP.")]
    compiler: Annotated[str, Meta(description="Version of GCC.")]
    vm_kind: Annotated[str, Meta(description="Which interpreter is compiled: HYBRID with global registers, CALL without.")]
    text_kib: Annotated[int, Meta(description="KiB of the code of its php-fpm; 0 where it is not known.")]
    text_pages: Annotated[
        int, Meta(description="Whole pages of 2 MiB in it, which huge text pages can hold; 0 after BOLT, of which they hold what it left.")
    ]
    code: Annotated[
        tuple[CodeOf, ...], Meta(description="How the code that serves requests is laid out; empty for builds of earlier versions.")
    ]
    trained_on: Annotated[str, Meta(description="What trained it; empty where nothing did.")]
    checks: Annotated[tuple[tuple[str, str], ...], Meta(description="What was looked at before it was used: names and what was seen.")]
    took_s: Annotated[float, Meta(description="Seconds that making it took.")]
    skipped: Annotated[dict[str, str], Meta(description="Steps of its recipe that did not come off, with the reason.")]
    laid_out: Annotated[tuple[LaidOut, ...], Meta(description="What BOLT laid out; nothing without BOLT.")]


def build_view(build: Build) -> BuildView:
    """What a report shows of a build."""
    return BuildView(
        name=build.name,
        php=build.php_version,
        compiler=f"GCC {build.compiler}",
        vm_kind=build.vm_kind,
        text_kib=build.text_kib,
        text_pages=0 if build.laid_out else build.text_kib // PAGE_KIB,
        code=tuple(CodeOf(each.path, each.sections) for each in build.binaries if each.sections and each.path not in BESIDE_FPM),
        trained_on=taught_words(build),
        checks=tuple((each.name, each.seen) for each in build.checks),
        took_s=build.seconds,
        skipped=build.skipped,
        laid_out=build.laid_out,
    )
