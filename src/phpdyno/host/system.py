"""Which system this is, what its packages are called, and what makes measuring impossible on it
from the start."""

import functools
import os
import platform
import shutil
import sys

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.host.files.small_files import SmallFiles

TRIED = "Debian 12 and 13"
TRIED_ON, TRIED_MACHINE = frozenset({("debian", "12"), ("debian", "13")}), "x86_64"
"""Where the tests have run; docs/reference/platforms.md says when and on what."""
LEAST_PYTHON = (3, 11)


class Distribution(Struct, frozen=True):
    """A distribution as /etc/os-release names it (`debian`, `13`, `Debian GNU/Linux 13 (trixie)`),
    '' where it does not."""

    id: str = ""
    version: str = ""
    name: str = ""


class Series(Struct, frozen=True):
    """The versions that are a part of a distribution's packages' names."""

    php: str
    postgresql: str


KNOWN = {
    ("debian", "12"): Series("8.2", "15"),
    ("debian", "13"): Series("8.4", "17"),
    ("ubuntu", "22.04"): Series("8.1", "14"),
    ("ubuntu", "24.04"): Series("8.3", "16"),
}


def read_distribution(tree: SmallFiles | None = None) -> Distribution:
    """The distribution below `tree`."""
    tree = tree or SmallFiles()
    told = tree.text("/etc/os-release") or tree.text("/usr/lib/os-release") or ""
    fields = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
    said = {name: value.strip().strip("\"'") for name, value in fields.items()}
    return Distribution(said.get("ID", ""), said.get("VERSION_ID", ""), said.get("PRETTY_NAME", ""))


@functools.cache
def this_distribution() -> Distribution:
    """The distribution of this host."""
    return read_distribution()


def usual_php(distribution: Distribution | None = None) -> str:
    """The series of a distribution's own PHP, `8.4`; '' where it is not known here."""
    named = distribution or this_distribution()
    known = KNOWN.get((named.id, named.version))
    return known.php if known else ""


def php_package(part: str, series: str = "", distribution: Distribution | None = None) -> str:
    """The package of a part of PHP: `php8.4-fpm`; `php-fpm` where the distribution's series is not
    known, as all that have apt call the one that stands for it."""
    return f"php{series or usual_php(distribution)}-{part}"


def postgresql_package(distribution: Distribution | None = None) -> str:
    """The package of the distribution's PostgreSQL."""
    named = distribution or this_distribution()
    known = KNOWN.get((named.id, named.version))
    return f"postgresql-{known.postgresql}" if known else "postgresql"


@functools.cache
def has_apt() -> bool:
    """Whether packages are installed by apt-get here."""
    return shutil.which("apt-get", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/bin", "/bin"])) is not None


def require_linux(tree: SmallFiles | None = None, *, proc: bool = True, system: str = sys.platform, longest: int = sys.maxsize) -> None:
    """Refuse to go on where nothing could ever be measured. Raises DynoError: no Linux, the kernel
    of WSL 1, 32 bits, no /proc (where that is wanted: `doctor` says what follows from it)."""
    if not system.startswith("linux"):
        kind = "macOS" if system == "darwin" else system
        raise DynoError(f"phpdyno measures on Linux, and this is {kind}", next_step=f"run it in a virtual machine with one of {TRIED}")
    tree = tree or SmallFiles()
    release = tree.text("/proc/sys/kernel/osrelease") or ""
    if "microsoft" in release.lower() and "WSL2" not in release and "-microsoft-standard" not in release:
        what = "WSL 1 has no Linux kernel, so nothing can be measured"
        raise DynoError(what, where=release, next_step="make it a WSL 2 distribution: wsl --set-version NAME 2")
    if longest <= 1 << 32:
        what = f"this is a 32-bit Python on {platform.machine()}, and memory of 64-bit servers is read"
        raise DynoError(what, next_step="use a 64-bit system")
    if proc and not tree.has("/proc/self/stat"):
        raise DynoError("/proc is not mounted here, and all that is measured is read there", next_step="run: mount -t proc proc /proc")
