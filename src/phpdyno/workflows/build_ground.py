"""What a build stands on: the source of the PHP that is there, or, where that cannot be had, the nearest version with its own binaries."""

from pathlib import Path

from msgspec import Struct, structs

from phpdyno.apps.packages import fetch_packages
from phpdyno.build.debian_source import SourceArchive, candidates
from phpdyno.build.installed import Installed
from phpdyno.build.workshop import Workshop, digest_of
from phpdyno.errors import DynoError
from phpdyno.experiment.progress import Progress
from phpdyno.model.build import Origin
from phpdyno.stack.programs import told
from phpdyno.stack.supervise import Supervisor

MOST_TRIED = 4


class Ground(Struct, frozen=True):
    """A source, and the PHP that a build of it stands beside: the installed one, or a pair of the source's own version."""

    origin: Origin
    source: Path
    beside: Installed
    measuring_only: bool


def find_ground(installed: Installed, shop: Workshop, supervisor: Supervisor, progress: Progress) -> Ground:
    """The exact version where the archive has it, else the nearest below it with binaries unpacked in the cache, for measuring only.

    Raises DynoError where there is neither.
    """
    archive = SourceArchive(shop.home / "apt", supervisor)
    if not shop.has("sources", _key(installed.source, installed.package_version)):
        progress.phase("asking the archive for sources")
        archive.refresh()
    why = ""
    for version in candidates(installed.package_version, archive.versions(installed.source))[:MOST_TRIED]:
        try:
            place = _unpacked(archive, shop, installed.source, version, progress)
            if version == installed.package_version:
                return Ground(_origin(installed, version), place, installed, measuring_only=False)
            beside = _pair(installed, version, shop, supervisor, progress)
        except DynoError as error:
            why = why or str(error)
            continue
        notice = (
            f"the source of {installed.package_version} cannot be had, so {version} is built and compared with its own binaries: "
            "older than what is installed, for measuring only"
        )
        progress.note(notice)
        return Ground(_origin(installed, version, notice), place, beside, measuring_only=True)
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
    upstream = version.rpartition(":")[2].partition("-")[0].partition("+")[0]
    return structs.replace(installed, fpm=str(fpm), extension_dir=str(extensions), package_version=version, version=upstream)
