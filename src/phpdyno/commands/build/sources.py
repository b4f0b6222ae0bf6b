"""What a build stands on: the source of the PHP that is there, or, where that cannot be had, the
nearest version with its own binaries."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.built_in.packages import fetch_packages, versions_built_of
from phpdyno.config.nearest import suggestion
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.model.build import Origin, series_of
from phpdyno.paths import cache_dir
from phpdyno.php_build.compile.dropin import modules_in
from phpdyno.php_build.compile.elf import libraries_of
from phpdyno.php_build.compile.options import drop_in_options, linked_options
from phpdyno.php_build.compile.standalone import IN_SOURCE, not_in_source, of_source, packages_for, standalone_options
from phpdyno.php_build.order import BuildSource
from phpdyno.php_build.package.naming import series_beside
from phpdyno.php_build.source.added_extensions import OPTION, Added, packages_of, read_added
from phpdyno.php_build.source.debian import SourceArchive, candidates
from phpdyno.php_build.source.given import Given, read_source, wants_parsers
from phpdyno.php_build.source.installed import Installed, built_in_source, configured, find_fpm, look_at, modules_besides, modules_of
from phpdyno.php_build.source.needs import HEADERS, OF_A_CHECKOUT, READY, installed_of, needed, require_packages
from phpdyno.php_build.source.versions import is_below
from phpdyno.php_build.train.bolt import PACKAGES as BOLT
from phpdyno.php_build.train.bolt import bolt_version
from phpdyno.php_build.workshop import Workshop, digest_of
from phpdyno.servers.programs.php import ini_files, inspect_php
from phpdyno.servers.supervision.supervisor import Supervisor

MOST_TRIED = 4
UPGRADE = "sudo apt-get update && sudo apt-get upgrade"
FPM_OPTIONS = ("--with-fpm-user=www-data", "--with-fpm-group=www-data", READY, "--with-fpm-acl")
PLACEHOLDER = "/nonexistent/phpdyno"
"""Where a drop-in would look for its modules if it were not told: it always is, so that its
directory may lie anywhere."""


class SourceRequest(Struct, frozen=True):
    """What the user wants built of: a php-fpm that is there ('' for the newest), a `source` (None
    for that of its package), with its extensions compiled in (`alone`), those of that php-fpm or
    the ones that are named (`extensions`) and some by their sources (`added`), for threads (`zts`).

    What is `to_be_kept` serves a site afterwards, so another source than the installed PHP's, good
    for measuring only, will not do. `laid_out`: BOLT is wanted after compiling, and asked for
    before.
    """

    like: str = ""
    source: Path | None = None
    checksum: str = ""
    alone: bool = False
    extensions: tuple[str, ...] | None = None
    added: tuple[tuple[str, Path], ...] = ()
    zts: bool = False
    to_be_kept: bool = False
    laid_out: bool = False


def find_source(wanted: SourceRequest, shop: Workshop, supervisor: Supervisor, progress: Progress) -> BuildSource:
    """Raises UsageError for a source that is none or does not fit; DynoError: no such PHP, a
    package missing, no source to be had, or none of what is `to_be_kept`."""
    if wanted.zts and not wanted.alone:
        raise UsageError("the distribution's extensions are not for threads", where="--zts", next_step="add --standalone")
    if wanted.extensions is not None and not wanted.alone:
        raise UsageError("a drop-in loads the distribution's extensions", where="--extension", next_step="add --standalone")
    if wanted.added and not wanted.alone:
        raise UsageError("a drop-in loads the distribution's extensions", where=OPTION, next_step="add --standalone")
    if wanted.to_be_kept:
        series_beside(find_fpm(wanted.like))
    search = _Search(wanted, shop, supervisor, progress)
    return search.alone() if wanted.alone else search.drop_in()


class _Search:
    """Looks for the source, and the PHP beside it, that a request is about."""

    def __init__(self, wanted: SourceRequest, shop: Workshop, supervisor: Supervisor, progress: Progress) -> None:
        self._wanted = wanted
        self._shop = shop
        self._supervisor = supervisor
        self._progress = progress

    def drop_in(self) -> BuildSource:
        """Configured as the PHP that is there, whose extensions it loads."""
        installed = look_at(self._wanted.like)
        options, why = self._options(installed)
        given = self._given()
        if given is not None:
            _refuse_misfit(given, installed)
        self._require(needed(options), given)
        if given is None:
            return self._packaged(installed, options, why)
        return structs.replace(_drop_in(given.origin, given.place, installed, options), version=given.version)

    def alone(self) -> BuildSource:
        """All extensions of the control that its source has, compiled in."""
        wanted = self._wanted
        fpm = find_fpm(wanted.like)
        named = modules_of(fpm) if wanted.extensions is None else wanted.extensions
        given, installed = self._given(), inspect_php(fpm).version
        version = given.version if given else installed
        added = tuple(read_added(name, path, self._shop) for name, path in wanted.added)
        compiled_in = self._compiled_in(named, version, added)
        # What a service manager starts tells it when it is ready.
        ready = wanted.to_be_kept or bool(installed_of([HEADERS[READY]]))
        options = standalone_options(compiled_in, version=version, zts=wanted.zts, ready=ready)
        self._require((*needed(options), *packages_for(options), *packages_of(added)), given)
        extensions = (*compiled_in, *(each.name for each in added))
        ini = ini_files(fpm).main
        if given is None:
            packaged = self._packaged(look_at(self._wanted.like), options)
            return structs.replace(packaged, theirs=None, modules=(), beside="", ini=ini, extensions=extensions, added=added)
        outdated = self._outdated(given.version, installed)
        return BuildSource(
            origin=structs.replace(given.origin, notice=outdated),
            source=given.place,
            version=given.version,
            options=options,
            like=fpm,
            stock={"php": fpm},
            theirs=None,
            ini=ini,
            extensions=extensions,
            added=added,
            measuring_only=bool(outdated),
        )

    def _options(self, installed: Installed) -> tuple[tuple[str, ...], str]:
        """How a drop-in beside the installed PHP is configured; none, and why, where that is not
        known any more and a build of the nearest version, which has its own, will do. Raises
        DynoError where it will not."""
        try:
            return self._options_beside(installed), ""
        except DynoError as error:
            if self._wanted.source is not None or self._wanted.to_be_kept:
                what = f"nobody says how {installed.package} {installed.package_version} was configured: {error.what}"
                raise DynoError(what, next_step=f"upgrade it: {UPGRADE}") from error
            return (), str(error)

    def _options_beside(self, php: Installed) -> tuple[str, ...]:
        fpm = (*FPM_OPTIONS, *linked_options(libraries_of(Path(php.fpm))))
        return drop_in_options(configured(php, self._supervisor, cache_dir()), server="fpm", extensions=PLACEHOLDER, fpm=fpm)

    def _given(self) -> Given | None:
        """The source that the user gives, None for the package's."""
        source = self._wanted.source
        return None if source is None else read_source(source, self._wanted.checksum, self._shop)

    def _require(self, packages: Sequence[str], given: Given | None) -> None:
        """Raises DynoError with one line for all that is missing, before anything is compiled."""
        parsers = OF_A_CHECKOUT if given is not None and wants_parsers(given.place) else ()
        bolt = BOLT if self._wanted.laid_out and not bolt_version() else ()
        require_packages(tuple(dict.fromkeys((*packages, *parsers, *bolt))))

    def _compiled_in(self, named: Sequence[str], version: str, added: Sequence[Added]) -> tuple[str, ...]:
        """Those of the named extensions that the source of a version has, and that are not given by
        a source of their own; which of them it has not is noted. Raises UsageError where the user
        named such a one."""
        rest = [name for name in named if name.lower() not in {each.name for each in added}]
        left_out = not_in_source(rest, version)
        source = f"PHP {series_of(version)}'s own source"
        if left_out and self._wanted.extensions is not None:
            near = "" if left_out[0].lower() in IN_SOURCE else suggestion(left_out[0], of_source(IN_SOURCE, version))
            what = f"{source} has no {left_out[0]}"
            raise UsageError(what, where="--extension", next_step=near or f"give its source with {OPTION}")
        if left_out:
            self._progress.note(f"{', '.join(left_out)}: not of {source}, so this build is without; give the source with {OPTION}")
        return of_source(rest, version)

    def _outdated(self, version: str, installed: str) -> str:
        """What is said of a source that is older than the PHP that is there; '' of another. Raises
        UsageError where it is to be kept."""
        if not is_below(version, installed):
            return ""
        what = f"this source is PHP {version}, older than the installed {installed}"
        if self._wanted.to_be_kept:
            raise UsageError(f"{what}, which has holes mended", where="--source", next_step="measure with it, and leave --package out")
        self._progress.note(f"{what}: for measuring only")
        return f"{what}: for measuring only"

    def _packaged(self, installed: Installed, options: tuple[str, ...], why: str = "") -> BuildSource:
        """The exact version where the archive has it, else the nearest one, older rather than
        newer, for measuring only: with binaries of its own version, which are unpacked in the
        cache, to stand beside, or alone. Without `options` it is not the exact one (`why`)."""
        archive = SourceArchive(self._shop.home / "apt", self._supervisor)
        exact = installed.source_version
        if not options or not self._shop.has("sources", _key(installed.source, exact)):
            self._progress.phase("asking the archive for sources")
            why = self._refreshed(archive) or why
        tried = candidates(exact, () if self._wanted.to_be_kept else archive.versions(installed.source))
        for version in tried[0 if options else 1 : MOST_TRIED]:
            try:
                place = self._unpacked(archive, installed.source, version)
                origin = _origin(installed, version)
                if version == exact:
                    return _drop_in(origin, place, installed, options)
                if self._wanted.alone:
                    return self._near(installed, _drop_in(origin, place, installed, options))
                pair = self._pair(installed, version)
                its_own, missing = self._options_beside(pair), _missing(installed, pair)
            except DynoError as error:
                why = why or str(error)
                continue
            self._require(needed(its_own), None)
            return self._near(installed, _drop_in(origin, place, pair, its_own, pair=True), missing)
        why = why or "the archive lists none"
        if self._wanted.to_be_kept:
            what = f"the source of {installed.source} {exact} cannot be had, and an older one is for measuring only: {why}"
            raise DynoError(what, next_step=f"upgrade to one that the archive has ({UPGRADE}), or give it with --source FILE or DIR")
        raise DynoError(
            f"no source of {installed.source} {exact} or of another version can be had: {why}",
            next_step="give one with --source FILE or DIR",
        )

    def _refreshed(self, archive: SourceArchive) -> str:
        """Why the archive cannot be asked, '' where it was: what was fetched before may do without
        it."""
        try:
            archive.refresh()
        except DynoError as error:
            self._progress.note(f"{error}; so what was fetched before has to do")
            return str(error)
        return ""

    def _near(self, installed: Installed, build_source: BuildSource, missing: Sequence[str] = ()) -> BuildSource:
        """A source of another version than the installed one, without these extensions of it; the
        user is told what that means."""
        exact, version = installed.source_version, build_source.origin.version
        newer = is_below(exact, version)
        built = "built" if self._wanted.alone else "built and compared with its own binaries"
        notice = (
            f"the source of {exact} cannot be had, so {version} is {built}: {'newer' if newer else 'older'} than what is installed, for "
            + "measuring only"
            + (f"; it is better to upgrade ({UPGRADE}) and to build again" if newer else "")
            + (f"; without {', '.join(missing)}, which it cannot load" if missing else "")
        )
        self._progress.note(notice)
        origin = structs.replace(build_source.origin, notice=notice)
        return structs.replace(build_source, origin=origin, version=upstream(version), measuring_only=True, package="", package_version="")

    def _unpacked(self, archive: SourceArchive, source: str, version: str) -> Path:
        def make(place: Path) -> None:
            self._progress.phase(f"fetching the source of {source} {version}")
            archive.unpack(source, version, place)

        return self._shop.made("sources", _key(source, version), make)

    def _pair(self, installed: Installed, version: str) -> Installed:
        """The distribution's binaries of another version, with all its extensions that are
        installed here, unpacked and not installed; modules of other packages are linked, since they
        are made for any version of the series."""
        packages = built_in_source(installed.source)
        versions = versions_built_of(packages, version)
        others = modules_besides(packages, Path(installed.extension_dir))

        def make(place: Path) -> None:
            self._progress.phase(f"fetching the binaries of {installed.source} {version}")
            fetch_packages(self._supervisor, versions, place)
            for module in others:
                link = _below(place, str(module))
                link.parent.mkdir(parents=True, exist_ok=True)
                if not os.path.lexists(link):
                    link.symlink_to(module)

        root = self._shop.made("pairs", {"packages": versions, "version": version, "others": [path.name for path in others]}, make)
        fpm, extensions = _below(root, installed.fpm), _below(root, installed.extension_dir)
        if not fpm.is_file() or not extensions.is_dir():
            raise DynoError(f"the packages of {version} hold no php-fpm", where=str(root))
        return structs.replace(
            installed,
            fpm=str(fpm),
            extension_dir=str(extensions),
            package_version=versions[installed.package],
            source_version=version,
            version=upstream(version),
        )


def _missing(installed: Installed, pair: Installed) -> list[str]:
    """Extensions that the installed PHP has and a pair cannot load. Raises DynoError where one of
    the two does not run."""
    there = modules_of(pair.fpm, pair.extension_dir)
    return [name for name in modules_of(installed.fpm) if name not in there]


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _drop_in(origin: Origin, source: Path, beside: Installed, options: tuple[str, ...], *, pair: bool = False) -> BuildSource:
    stock = {"php": beside.fpm, **({"php.extension_dir": beside.extension_dir} if pair else {})}
    theirs = Path(beside.extension_dir)
    return BuildSource(
        origin=origin,
        source=source,
        version=beside.version,
        options=options,
        like=beside.fpm,
        stock=stock,
        theirs=theirs,
        modules=modules_in(theirs),
        beside=beside.version,
        package=beside.package,
        package_version=beside.package_version,
    )


def _refuse_misfit(given: Given, installed: Installed) -> None:
    """The distribution's extensions want the number that they were compiled for, and a core that is
    not older than they are."""
    number = Path(installed.extension_dir).name
    alone = "compile its extensions in with --standalone"
    if given.api != number:
        what = f"this source is PHP {given.version} (extension API {given.api}), and the installed extensions are for API {number}"
        raise UsageError(what, where="--source", next_step=alone)
    if is_below(given.version, installed.version):
        what = f"this source is PHP {given.version}, older than the installed extensions, which are of {installed.version}"
        raise UsageError(what, where="--source", next_step=alone)


def _key(source: str, version: str) -> dict[str, object]:
    return {"package": source, "version": version}


def _origin(installed: Installed, version: str) -> Origin:
    return Origin("debian", version, digest_of(_key(installed.source, version)), installed.source)


def upstream(version: str) -> str:
    """`8.2.32` of Debian's `1:8.2.32-1+deb12u1`."""
    return version.rpartition(":")[2].partition("-")[0].partition("+")[0]
