"""A PHP that was compiled here: what it was made of, what was checked, and where it lies."""

from msgspec import Struct, field

from phpdyno.model.recipe import Recipe

BUILD_FILE = "build.json"
BUILD_SCHEMA = 1


STOCK_OF = "/stock"


def stock_of(name: str) -> str:
    """What `build=…` calls the PHP that a build of this name stands beside."""
    return f"{name}{STOCK_OF}"


def series_of(version: str) -> str:
    """`8.2` of `8.2.36`: what ini directories, packages and programs are named after."""
    return ".".join(version.split(".")[:2])


class Binary(Struct, frozen=True):
    """One file of a build, relative to its directory."""

    path: str
    sha256: str
    build_id: str


class Origin(Struct, frozen=True):
    """Whose source: `kind` is `debian`, `archive`, `folder` or `git`; `digest` changes with anything in it.

    `notice` says what a user must know of it, e.g. that it is older than what is installed and therefore for measuring only.
    """

    kind: str
    version: str
    digest: str
    package: str = ""
    notice: str = ""


class Teaching(Struct, frozen=True):
    """Everything that a training depends on: the app, its targets by label and weight, and the course: seconds of traffic, fewest requests.

    `reference` is what the app was opened by, `requests` the file that its targets are from ('' for the app's own). `weight` is its part of
    a profile that several apps share.
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


class Lesson(Struct, frozen=True):
    """What a build was trained on: requests in all and by target, how many profiles that left."""

    teaching: Teaching
    requests: int
    targets: dict[str, int]
    profiles: int


class Check(Struct, frozen=True):
    """Something that was looked at while building, and what was seen."""

    name: str
    ok: bool
    seen: str


class Build(Struct, frozen=True):
    """A finished build. `like` is the php-fpm that it stands in for; one that stands `alone` has its extensions compiled in and reads the
    php.ini `ini`, where a drop-in reads and loads what that php-fpm does. `stock` are the settings of an arm that runs that php-fpm.

    `skipped` names steps of the recipe that did not come off, with the reason: the build is what it is without them.
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
    checks: tuple[Check, ...]
    seconds: float
    made: str
    lessons: tuple[Lesson, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    bolt: dict[str, tuple[int, int]] = field(default_factory=dict)
    measuring_only: bool = False
    alone: bool = False
    ini: str = ""
    schema: int = BUILD_SCHEMA
