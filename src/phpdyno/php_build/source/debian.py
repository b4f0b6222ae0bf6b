"""PHP's source as Debian packages it, patches included: exactly the installed version, else the
nearest one."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from phpdyno.apps.built_in.packages import proxies
from phpdyno.errors import DynoError
from phpdyno.php_build.source.apt_lists import private_options, source_lists
from phpdyno.php_build.source.asked_before import ArchiveAnswers, forget, recently, remember, remember_refusal
from phpdyno.php_build.source.versions import is_below
from phpdyno.php_build.workshop import digest_of
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.supervisor import Supervisor

SYSTEM_LISTS = Path("/etc/apt")
FETCH_S = 900.0
GONE = "404"
"""What is said of a file that an archive lists and does not have; a network that fails says
something else."""
_STANZA = re.compile(r"^Package: (\S+)$.*?^Version: (\S+)$", re.MULTILINE | re.DOTALL)


class SourceArchive:
    """Asks apt with lists of our own below `place`, which are kept; what was answered a moment ago
    is not asked again."""

    def __init__(self, place: Path, supervisor: Supervisor) -> None:
        self._place = place
        self._supervisor = supervisor
        self._options = private_options(place)
        self._asked: ArchiveAnswers | None = None

    def refresh(self) -> None:
        """Fetch the lists of sources, if that was not a moment ago. Raises DynoError: no apt here,
        no network, none has sources."""
        find_program("apt-get")
        find_program("dpkg-source")
        texts = {path.name: path.read_text(errors="replace") for path in sorted(_system_files())}
        lists = source_lists(texts)
        if not lists:
            raise DynoError("apt has no archive to fetch a source from", where=str(SYSTEM_LISTS), next_step="give --source FILE or DIR")
        archives = digest_of(lists)
        self._asked = recently(self._place, archives)
        if self._asked is not None:
            return
        for name in ("lists.d", "lists/partial", "cache/archives/partial"):
            (self._place / name).mkdir(parents=True, exist_ok=True)
        forget(self._place)
        folder = self._place / "lists.d"
        for gone in folder.iterdir():
            gone.unlink()
        for name, text in lists.items():
            (folder / name).write_text(text)
        self._apt("lists", ["update", "--error-on=any"], self._place)
        self._asked = remember(self._place, archives)

    def versions(self, package: str) -> tuple[str, ...]:
        """Versions of a source package that the archives list."""
        answer = told(["apt-cache", *self._options, "showsrc", package]).stdout.decode(errors="replace")
        return tuple(dict.fromkeys(version for name, version in _STANZA.findall(answer) if name == package))

    def unpack(self, package: str, version: str, into: Path) -> None:
        """Download a version (apt checks it against the archive's signature) and unpack it,
        patched. Raises DynoError."""
        wanted = f"{package}={version}"
        if self._asked is not None and wanted in self._asked.refused:
            raise DynoError(self._asked.refused[wanted])
        shutil.rmtree(into, ignore_errors=True)
        downloads = into.with_name(into.name + ".download")
        shutil.rmtree(downloads, ignore_errors=True)
        downloads.mkdir(parents=True)
        try:
            self._unpack(wanted, downloads, into)
        except DynoError as error:
            if self._asked is not None and GONE in str(error):
                self._asked = remember_refusal(self._place, self._asked, wanted, str(error))
            raise
        finally:
            shutil.rmtree(downloads, ignore_errors=True)

    def _unpack(self, wanted: str, downloads: Path, into: Path) -> None:
        self._apt("source", ["source", "--download-only", wanted], downloads)
        control = next(iter(downloads.glob("*.dsc")), None)
        if control is None:
            raise DynoError(f"apt fetched no source of {wanted}", where=str(downloads))
        child = self._supervisor.run(
            "build-unpack", ["dpkg-source", "--no-check", "-x", str(control), str(into)], as_service=False, timeout_s=FETCH_S
        )
        if child.status != 0:
            raise DynoError(f"the source cannot be unpacked: {child.tail(2)}", where=control.name, next_step=f"see {child.log}")

    def _apt(self, what: str, argv: Sequence[str], cwd: Path) -> None:
        child = self._supervisor.run(
            f"build-apt-{what}",
            ["apt-get", *self._options, "--quiet=2", *argv],
            env=proxies(),
            cwd=cwd,
            as_service=False,
            timeout_s=FETCH_S,
        )
        if child.status != 0:
            raise DynoError(f"apt cannot fetch it: {child.tail(2)}", where=f"apt-get {argv[0]}", next_step=f"see {child.log}")


def _system_files() -> list[Path]:
    folder = SYSTEM_LISTS / "sources.list.d"
    return [*SYSTEM_LISTS.glob("sources.list"), *folder.glob("*.list"), *folder.glob("*.sources")]


def candidates(exact: str, listed: Sequence[str]) -> tuple[str, ...]:
    """Versions to try: the exact one, then those below it, the highest first, then those above, the
    lowest first, as dpkg orders them."""
    order: list[str] = []
    for version in dict.fromkeys(listed):
        if version != exact:
            at = next((place for place, other in enumerate(order) if is_below(version, other)), len(order))
            order.insert(at, version)
    below = [version for version in order if is_below(version, exact)]
    return (exact, *reversed(below), *order[len(below) :])
