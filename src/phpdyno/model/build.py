"""A PHP that was compiled here: what it was made of, what was checked, and where it lies."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct, field

from phpdyno.model.recipe import Recipe

BUILD_FILE = "build.json"
PROGRAM = "php-fpm"
"""The file of a build that serves requests."""
BESIDE_FPM = ("php", "php-cgi")
"""Programs of a build that serve none."""
BUILD_SCHEMA = 1


STOCK_OF = "/stock"


def stock_of(name: str) -> str:
    """What `build=…` calls the PHP that a build of this name stands beside."""
    return f"{name}{STOCK_OF}"


def series_of(version: str) -> str:
    """`8.2` of `8.2.36`: what ini directories, packages and programs are named after."""
    return ".".join(version.split(".")[:2])


def configuration_of(series: str) -> str:
    """Where the distribution keeps a php-fpm's configuration: `/etc/php/8.2/fpm`."""
    return f"/etc/php/{series}/fpm"


class CodeSection(Struct, frozen=True):
    """A section of a program's code, in the order of addresses."""

    name: Annotated[str, Meta(description="Its name; after BOLT `.bolt.org.text` is what was left in place, `.text` what was laid out.")]
    kib: Annotated[int, Meta(description="KiB of it.")]
    split_off_kib: Annotated[int, Meta(description="KiB in it of parts of functions that were split off because they hardly ever run.")]


class Binary(Struct, frozen=True):
    """One file of a build, relative to its directory; `text_kib` is the size of its code, 0 where
    it is not known, `sections` how that is laid out."""

    path: str
    sha256: str
    build_id: str
    text_kib: int = 0
    sections: tuple[CodeSection, ...] = ()


class Origin(Struct, frozen=True):
    """Where a source is from: `kind` is `debian`, `archive`, `folder` or `git`; `digest` changes
    with anything in it.

    `notice` says what a user must know of it, e.g. that it is older than what is installed and
    therefore for measuring only.
    """

    kind: str
    version: str
    digest: str
    package: str = ""
    notice: str = ""


class Teaching(Struct, frozen=True):
    """Everything that a training depends on: the app, its targets by label and weight, and the
    course: seconds of traffic, fewest requests.

    `traffic` is a digest of all that is asked and expected; earlier versions did not record it.
    `reference` is what the app was opened by, `requests` the file that its targets are from ('' for
    the app's own). `weight` is its part of a profile that several apps share.
    """

    app: str
    version: str
    targets: tuple[tuple[str, float], ...]
    seconds: float
    least: int
    seed: int
    reference: str
    weight: float = 1.0
    requests: str = ""
    traffic: str = ""


class Lesson(Struct, frozen=True):
    """What a build was trained on: requests in all and by target, how many profiles that left."""

    teaching: Teaching
    requests: int
    targets: dict[str, int]
    profiles: int


class BuildCheck(Struct, frozen=True):
    """Something that was looked at while building, and what was seen."""

    name: str
    ok: bool
    seen: str


class Counted(Struct, frozen=True):
    """A figure that BOLT counts over the profile of one binary, e.g. `taken branches`."""

    name: Annotated[str, Meta(description="What is counted, in BOLT's words.")]
    before: Annotated[int, Meta(description="As the compiler laid the code out.")]
    after: Annotated[int, Meta(description="As BOLT did.")]


class LaidOut(Struct, frozen=True):
    """A binary that BOLT laid out."""

    binary: Annotated[str, Meta(description="Its file name.")]
    counted: Annotated[tuple[Counted, ...], Meta(description="BOLT's figures over the training.")]
    not_read: Annotated[tuple[str, ...], Meta(description="Functions that BOLT could not read, or gave up for, and left as they were.")]


class Build(Struct, frozen=True):
    """A finished build. `like` is the php-fpm that it stands in for; one that stands `alone` has
    its extensions compiled in and reads the php.ini `ini`, where a drop-in reads and loads what
    that php-fpm does. `stock` are the settings of an arm that runs that php-fpm.

    A drop-in is for the extensions of PHP `beside`, which may be older than its own source.
    `examined` are the apps on whose stacks it was looked at, and trained where its recipe says so.

    `package` is the distribution's of `like`, `package_version` its version then: recorded where
    the build loads its extensions or is of its source, and is not for measuring only.

    `places` are php.ini settings for which that php-fpm has a place of the distribution's compiled
    in, and this build has not: its package tells it.

    `skipped` names steps of the recipe that did not come off, with the reason: the build is what it
    is without them.
    """

    name: str
    recipe: Recipe
    origin: Origin
    php_version: str
    like: str
    stock: dict[str, str]
    options: tuple[str, ...]
    compiler: str
    vm_kind: str
    binaries: tuple[Binary, ...]
    checks: tuple[BuildCheck, ...]
    seconds: float
    made: str
    lessons: tuple[Lesson, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    laid_out: tuple[LaidOut, ...] = ()
    measuring_only: bool = False
    alone: bool = False
    ini: str = ""
    beside: str = ""
    examined: tuple[Teaching, ...] = ()
    package: str = ""
    package_version: str = ""
    places: dict[str, str] = field(default_factory=dict)
    schema: int = BUILD_SCHEMA

    @property
    def known(self) -> tuple[Teaching, ...]:
        """The apps that it was examined on, as far as it is recorded: earlier versions recorded
        only those that trained it."""
        return self.examined or tuple(each.teaching for each in self.lessons)

    @property
    def as_packaged(self) -> bool:
        """Whether it is a drop-in of the distribution's own source, which its package refreshes by
        itself and need tell nothing."""
        return self.origin.kind == "debian" and not self.alone

    @property
    def made_at(self) -> datetime:
        """When it was made, in UTC; before all others where its record does not say so."""
        try:
            return datetime.fromisoformat(self.made).astimezone(UTC)
        except (ValueError, OverflowError):
            return datetime.min.replace(tzinfo=UTC)

    @property
    def made_by(self) -> str:
        """Its recipe as far as it came off: `pgo+bolt`, `pgo+bolt without bolt`."""
        return " without ".join((self.recipe.name, *self.skipped))

    @property
    def text_kib(self) -> int:
        """KiB of the code of its php-fpm; 0 where it is not known: earlier versions did not record
        it."""
        return next((each.text_kib for each in self.binaries if each.path == PROGRAM), 0)

    @property
    def loads(self) -> str:
        """The version of PHP whose extensions a drop-in loads."""
        return self.beside or self.php_version
