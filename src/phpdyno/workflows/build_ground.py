"""What a build stands on: the source of the PHP that is there, or, where that cannot be had, the nearest version with its own binaries."""

from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.packages import fetch_packages
from phpdyno.build.added import OPTION, read_added
from phpdyno.build.debian_source import SourceArchive, candidates
from phpdyno.build.given_source import Given, read_source
from phpdyno.build.installed import Installed, find_fpm, look_at, modules_of
from phpdyno.build.needs import OF_A_CHECKOUT, TOOLS, needed, require_packages
from phpdyno.build.options import drop_in_options
from phpdyno.build.order import Ground
from phpdyno.build.standalone import IN_SOURCE, not_in_source, packages_for, standalone_options
from phpdyno.build.workshop import Workshop, digest_of
from phpdyno.config.nearest import suggestion
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.progress import Progress
from phpdyno.model.build import Origin
from phpdyno.paths import cache_dir
from phpdyno.stack.php import ini_files
from phpdyno.stack.programs import told, version_key
from phpdyno.stack.supervise import Supervisor

MOST_TRIED = 4
FPM_OPTIONS = ("--with-fpm-user=www-data", "--with-fpm-group=www-data", "--with-fpm-systemd", "--with-fpm-acl")
PLACEHOLDER = "/nonexistent/phpdyno"
"""Where a drop-in would look for its modules if it were not told: it always is, so that its directory may lie anywhere."""


class Foundation(Struct, frozen=True):
    """What the user wants built of: a php-fpm that is there, a `source` ('' for that of its package), with its extensions compiled in
    (`alone`), those of that php-fpm or the ones that are named (`extensions`) and some by their sources (`added`), for threads (`zts`)."""

    like: str = "php-fpm8.2"
    source: Path | None = None
    checksum: str = ""
    alone: bool = False
    extensions: tuple[str, ...] | None = None
    added: tuple[tuple[str, Path], ...] = ()
    zts: bool = False


def find_ground(wanted: Foundation, shop: Workshop, supervisor: Supervisor, progress: Progress) -> Ground:
    """Raises UsageError for a source that is none or does not fit; DynoError: no such PHP, a package missing, no source to be had."""
    if wanted.zts and not wanted.alone:
        raise UsageError("the distribution's extensions are not for threads", where="--zts", next_step="add --standalone")
    if wanted.extensions is not None and not wanted.alone:
        raise UsageError("a drop-in loads the distribution's extensions", where="--extension", next_step="add --standalone")
    if wanted.added and not wanted.alone:
        raise UsageError("a drop-in loads the distribution's extensions", where=OPTION, next_step="add --standalone")
    if wanted.alone:
        return _alone(wanted, shop, supervisor, progress)
    installed = look_at(wanted.like, supervisor, cache_dir())
    options = drop_in_options(installed.options, server="fpm", extensions=PLACEHOLDER, fpm=FPM_OPTIONS)
    require_packages(needed(options))
    if wanted.source is not None:
        given = _given(wanted.source, wanted.checksum, shop)
        _refuse_misfit(given, installed)
        return _drop_in(given.origin, given.place, installed, options)
    return _packaged(installed, options, shop, supervisor, progress)


def _drop_in(origin: Origin, source: Path, beside: Installed, options: tuple[str, ...], *, pair: bool = False) -> Ground:
    stock = {"php": beside.fpm, **({"php.extension_dir": beside.extension_dir} if pair else {})}
    return Ground(origin, source, beside.version, options, beside.fpm, stock, Path(beside.extension_dir))


def _given(source: Path, checksum: str, shop: Workshop) -> Given:
    given = read_source(source, checksum, shop)
    if not (given.place / "configure").is_file():
        require_packages(OF_A_CHECKOUT)
    return given


def _refuse_misfit(given: Given, installed: Installed) -> None:
    """The distribution's extensions want the number that they were compiled for, and a core that is not older than they are."""
    number = Path(installed.extension_dir).name
    alone = "compile its extensions in with --standalone"
    if given.api != number:
        what = f"this source is PHP {given.version} (extension API {given.api}), and the installed extensions are for API {number}"
        raise UsageError(what, where="--source", next_step=alone)
    if version_key(given.version) < version_key(installed.version):
        what = f"this source is PHP {given.version}, older than the installed extensions, which are of {installed.version}"
        raise UsageError(what, where="--source", next_step=alone)


def _alone(wanted: Foundation, shop: Workshop, supervisor: Supervisor, progress: Progress) -> Ground:
    """All extensions of the control that its source has, compiled in."""
    fpm = find_fpm(wanted.like)
    named = modules_of(fpm) if wanted.extensions is None else wanted.extensions
    options = standalone_options(named, zts=wanted.zts)
    added = tuple(read_added(name, path, shop) for name, path in wanted.added)
    given_besides = {each.name for each in added}
    left_out = [name for name in not_in_source(named) if name.lower() not in given_besides]
    if left_out and wanted.extensions is not None:
        raise UsageError(f"PHP's own source has no {left_out[0]}", where="--extension", next_step=suggestion(left_out[0], tuple(IN_SOURCE)))
    require_packages((*TOOLS, *packages_for(options)))
    if left_out:
        progress.note(f"{', '.join(left_out)}: not of PHP's own source, so this build is without")
    extensions = (*(name.lower() for name in named if name.lower() in IN_SOURCE), *(each.name for each in added))
    ini = ini_files(fpm).main
    if wanted.source is None:
        packaged = _packaged(look_at(wanted.like, supervisor, cache_dir()), options, shop, supervisor, progress, alone=True)
        return structs.replace(packaged, theirs=None, ini=ini, extensions=extensions, added=added)
    given = _given(wanted.source, wanted.checksum, shop)
    return Ground(given.origin, given.place, given.version, options, fpm, {"php": fpm}, None, ini, extensions, added)


def _packaged(
    installed: Installed, options: tuple[str, ...], shop: Workshop, supervisor: Supervisor, progress: Progress, *, alone: bool = False
) -> Ground:
    """The exact version where the archive has it, else the nearest below it, for measuring only: with binaries of its own version, which
    are unpacked in the cache, to stand beside, or `alone`."""
    archive = SourceArchive(shop.home / "apt", supervisor)
    exact = installed.package_version
    if not shop.has("sources", _key(installed.source, exact)):
        progress.phase("asking the archive for sources")
        archive.refresh()
    why = ""
    for version in candidates(exact, archive.versions(installed.source))[:MOST_TRIED]:
        try:
            place = _unpacked(archive, shop, installed.source, version, progress)
            if version == exact:
                return _drop_in(_origin(installed, version), place, installed, options)
            beside = installed if alone else _pair(installed, version, shop, supervisor, progress)
        except DynoError as error:
            why = why or str(error)
            continue
        compared = "" if alone else " and compared with its own binaries"
        notice = f"the source of {exact} cannot be had, so {version} is built{compared}: older than what is installed, for measuring only"
        progress.note(notice)
        ground = _drop_in(_origin(installed, version, notice), place, beside, options, pair=not alone)
        return structs.replace(ground, version=upstream(version), measuring_only=True)
    raise DynoError(
        f"no source of {installed.source} {installed.package_version} or an older one can be had: {why or 'the archive lists none'}",
        next_step="give one with --source FILE or DIR",
    )


def _key(source: str, version: str) -> dict[str, object]:
    return {"package": source, "version": version}


def _origin(installed: Installed, version: str, notice: str = "") -> Origin:
    return Origin("debian", version, digest_of(_key(installed.source, version)), installed.source, notice)


def _unpacked(archive: SourceArchive, shop: Workshop, source: str, version: str, progress: Progress) -> Path:
    def make(place: Path) -> None:
        progress.phase(f"fetching the source of {source} {version}")
        archive.unpack(source, version, place)

    return shop.made("sources", _key(source, version), make)


def _pair(installed: Installed, version: str, shop: Workshop, supervisor: Supervisor, progress: Progress) -> Installed:
    """The distribution's binaries of another version, with all its extensions that are installed here, unpacked and not installed."""
    listed = told(["dpkg-query", "-W", "-f", "${source:Package} ${Package} ${db:Status-Status}\n"]).stdout.decode().splitlines()
    packages = [words[1] for words in map(str.split, listed) if words[0] == installed.source and words[-1] == "installed"]

    def make(place: Path) -> None:
        progress.phase(f"fetching the binaries of {installed.source} {version}")
        fetch_packages(supervisor, dict.fromkeys(packages, version), place)

    root = shop.made("pairs", {"packages": sorted(packages), "version": version}, make)
    fpm, extensions = root / installed.fpm.lstrip("/"), root / installed.extension_dir.lstrip("/")
    if not fpm.is_file() or not extensions.is_dir():
        raise DynoError(f"the packages of {version} hold no php-fpm", where=str(root))
    return structs.replace(installed, fpm=str(fpm), extension_dir=str(extensions), package_version=version, version=upstream(version))


def upstream(version: str) -> str:
    """`8.2.32` of Debian's `1:8.2.32-1+deb12u1`."""
    return version.rpartition(":")[2].partition("-")[0].partition("+")[0]
