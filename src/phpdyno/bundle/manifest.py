"""MANIFEST.json: what a bundle says of itself. Frozen data; docs/reference/bundle.md is made from
it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno import __version__
from phpdyno.knobs.catalogue.host import PAGES
from phpdyno.model.build import configuration_of, series_of
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.tune import Goal

MANIFEST = "MANIFEST.json"
README = "README.md"
PROGRAM, REBUILT = "php", "build"
"""Names of what a build that was adopted is in a bundle: the setting that says which program runs,
and what is left to a person."""
Kind = Literal["ini", "pool-first", "pool-last", "nginx", "sysctl", "systemd", "preload"]


class PhpPlace(Struct, frozen=True, kw_only=True):
    """The php-fpm that the settings were proved on, and where its files lie."""

    version: Annotated[str, Meta(description="Version of PHP; a bundle is applied to the same MAJOR.MINOR only.")]
    executable: Annotated[str, Meta(description="Absolute path of php-fpm.")]
    config: Annotated[str, Meta(description="Its main configuration file.")]
    ini_dir: Annotated[str, Meta(description="Directory that it scans last for ini files; empty where it scans none.")]
    pool_dir: Annotated[str, Meta(description="Directory whose `*.conf` its main configuration file includes.")]
    pool: Annotated[str, Meta(description="Section of the pool, as in `[www]`.")]
    pool_file: Annotated[str, Meta(description="File that opens the section; empty where it is not known.")] = ""
    unit: Annotated[str, Meta(description="Its systemd service, without `.service`.")]
    user: Annotated[str, Meta(description="Account of the pool's workers, for preloading.")] = "www-data"
    options: Annotated[tuple[str, ...], Meta(description="What php-fpm is asked to test its configuration with, before `-t`.")] = ()
    scan_dir: Annotated[str, Meta(description="PHP_INI_SCAN_DIR of php-fpm; empty where it is not set.")] = ""
    defined: Annotated[tuple[str, ...], Meta(description="php.ini settings of its command line (`-d`), which no file outdoes.")] = ()
    live: Annotated[str, Meta(description="The pool in `--control live:POOL`; empty where the control was not a running pool.")] = ""


class Evidence(Struct, frozen=True, kw_only=True):
    """One effect. A ratio above 1 means that the treatment is better; ratio, low and high are null
    without an interval."""

    name: Annotated[str, Meta(description="What was tried.")]
    settings: Annotated[dict[str, str], Meta(description="The settings in which it differs from what it was compared with.")]
    metric: Annotated[Goal, Meta(description="What it was judged by.")]
    ratio: Annotated[float | None, Meta(description="Ratio of the two.")]
    low: Annotated[float | None, Meta(description="Lower end of the interval.")]
    high: Annotated[float | None, Meta(description="Upper end of the interval.")]
    confidence: Annotated[float, Meta(description="Confidence of this interval, 0 to 1.")]
    blocks: Annotated[int, Meta(description="Blocks that it rests on.")]
    verdict: Annotated[str, Meta(description="The verdict in words.")]


class ShippedFile(Struct, frozen=True, kw_only=True):
    """A file of the bundle that is placed."""

    path: Annotated[str, Meta(description="Below the bundle.")]
    kind: Annotated[Kind, Meta(description="What it is for.")]
    target: Annotated[str, Meta(description="Absolute path at which it is placed.")]
    mode: Annotated[str, Meta(description="Mode bits that it is placed with, in octal.")] = "0644"
    sha256: Annotated[str, Meta(description="SHA-256 of its content.")]
    settings: Annotated[tuple[str, ...], Meta(description="Names of the settings that it carries.")]


class BasedOn(Struct, frozen=True, kw_only=True):
    """A configuration file that the control was read from. The copy has neither comments nor
    secrets."""

    target: Annotated[str, Meta(description="Absolute path of the file.")]
    path: Annotated[str, Meta(description="Its settings as they were, below the bundle.")]
    sha256: Annotated[str, Meta(description="SHA-256 of that copy.")]


class ByHand(Struct, frozen=True, kw_only=True):
    """A setting that was proved and that no file of the bundle can set."""

    setting: Annotated[str, Meta(description="Name of the setting.")]
    value: Annotated[str, Meta(description="Its value.")]
    todo: Annotated[str, Meta(description="What a person has to do.")]


class Manifest(Struct, frozen=True, kw_only=True):
    """What was proved, and the files that bring it about."""

    schema: Annotated[Literal["phpdyno.bundle/1"], Meta(description="Name and version of this format.")] = "phpdyno.bundle/1"
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that made it.")] = __version__
    made: Annotated[str, Meta(description="When, ISO 8601 with the offset.")]
    run: Annotated[str, Meta(description="Name of the run.")]
    app: Annotated[str, Meta(description="The app that it was measured on.")]
    seed: Annotated[int, Meta(description="Seed of the run.")]
    php: Annotated[PhpPlace, Meta(description="The php-fpm that it is for.")]
    host: Annotated[HostFacts, Meta(description="The machine that it was measured on.")]
    control: Annotated[dict[str, str], Meta(description="Settings of the control.")]
    settings: Annotated[dict[str, str], Meta(description="Accepted settings, by full name.")]
    effects: Annotated[tuple[Evidence, ...], Meta(description="Effect of each accepted step.")]
    together: Annotated[Evidence | None, Meta(description="Effect of all of them together on fresh instances; null without it.")] = None
    files: Annotated[tuple[ShippedFile, ...], Meta(description="Files to place.")]
    based_on: Annotated[tuple[BasedOn, ...], Meta(description="Files that the control was read from; none without `--control live`.")] = ()
    by_hand: Annotated[tuple[ByHand, ...], Meta(description="What is left to a person.")] = ()

    @property
    def reserving(self) -> ShippedFile | None:
        """The file that sets how many huge pages the machine reserves; None without."""
        return next((each for each in self.files if PAGES in each.settings), None)

    @property
    def before_all_else(self) -> str:
        """What must be done before the php-fpm that the bundle is for is there: one that was
        compiled is packaged first. '' for others."""
        packaged = self.settings.get(PROGRAM) == self.php.executable
        return next((each.todo for each in self.by_hand if packaged and each.setting == REBUILT), "")


def debian_place(version: str, executable: str, *, pool: str = "www") -> PhpPlace:
    """Where a Debian package of php-fpm has its files; `version` is PHP's own, as in 8.2.29."""
    short = series_of(version)
    etc = configuration_of(short)
    return PhpPlace(
        version=version,
        executable=executable,
        config=f"{etc}/php-fpm.conf",
        ini_dir=f"{etc}/conf.d",
        pool_dir=f"{etc}/pool.d",
        pool=pool,
        unit=f"php{short}-fpm",
    )
