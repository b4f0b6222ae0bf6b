"""What is never copied unasked: a home directory, a system tree, a directory of several sites,
gigabytes."""

import tempfile
from pathlib import Path

from phpdyno.host.files.room import size_in_words
from phpdyno.host.files.trees import statuses_below
from phpdyno.servers.bottle.view import SYSTEM

ALWAYS = frozenset(
    map(
        Path,
        ("/", "/boot", "/dev", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/tmp", "/var", "/var/lib", "/var/tmp", "/usr/share"),  # noqa: S108
    )
)
"""Directories whose children are whole systems, or somebody's everything."""
SHARED = frozenset(
    map(Path, ("/opt", "/srv", "/srv/http", "/srv/www", "/var/www", "/var/www/vhosts", "/usr/share/nginx", "/usr/local/www"))
)
"""Directories that usually hold several sites, and in a container just one."""
MARKERS = (
    "composer.json",
    "vendor/autoload.php",
    "artisan",
    "bin/console",
    "symfony.lock",
    "spark",
    "yii",
    "app/etc/env.php",
    "app/etc/config.php",
    "craft",
)
"""Files by which the top of a project is known."""
DOCROOTS = ("public", "web", "htdocs", "public_html", "www", "html", "webroot", "docroot", "httpdocs", "wwwroot", "pub")
"""Frameworks and providers call a document root by one of these names, the most usual first."""
_SITES = (
    *MARKERS,
    "wp-config.php",
    "wp-load.php",
    ".git",
    *(f"{name}/index.php" for name in DOCROOTS[:4]),
)
_PARTS = frozenset({"vendor", "node_modules", "lib", "libs", "library", "packages", "modules", "tests", "var", "storage"})
MOST_BYTES = 2 << 30
MOST_FILES = 300_000


def marker_of(folder: Path) -> str:
    """What marks a directory as the top of a project; '' where nothing does."""
    try:
        return next((marker for marker in MARKERS if (folder / marker).exists()), "")
    except OSError:
        return ""


def is_seen_anyway(place: Path, docroot: Path) -> bool:
    """Whether what runs sees a place anyway, as a part of the system. An app in /opt is no part of
    it: what it sees there it cannot write."""
    trees = [Path(tree) for tree in SYSTEM]
    return any(place.is_relative_to(tree) for tree in trees if tree != Path("/opt") or not docroot.is_relative_to(tree))


def why_not(root: Path, docroot: Path) -> str:
    """Why a directory may not be copied just because a document root lies in it, in words about it;
    '' where it may."""
    if root in ALWAYS or root in set(map(Path, SYSTEM)) - SHARED or root == Path(tempfile.gettempdir()).resolve():
        return "is no project of its own"
    if root in {Path.home(), Path.home().resolve()} or root.parent == Path("/home"):
        return "is a home directory"
    if not marker_of(root):
        sites = sorted(each.name for each in _others(root, docroot) if _is_site(each))
        if sites:
            named = ", ".join(sites[:3]) + (", …" if len(sites) > 3 else "")
            return f"holds other sites too ({named})"
        if root in SHARED:
            return "is where sites of all kinds lie"
    return _too_much(root, docroot)


def others_in(root: Path, docroot: Path) -> int:
    """How many directories come with the root beside the one that leads to the document root."""
    return sum(1 for each in _others(root, docroot) if each.name != ".git")


def _others(root: Path, docroot: Path) -> list[Path]:
    own = docroot.relative_to(root).parts[:1]
    try:
        return [each for each in root.iterdir() if each.is_dir() and (each.name,) != own]
    except OSError:
        return []


def _is_site(folder: Path) -> bool:
    try:
        return folder.name not in _PARTS and any((folder / marker).exists() for marker in _SITES)
    except OSError:
        return False


def _too_much(root: Path, docroot: Path) -> str:
    """What comes besides the document root, looked at no longer than it takes to know."""
    files = size = 0
    inside = docroot.relative_to(root)
    for _, status in statuses_below(root, {str(inside)} if inside.parts else ()):
        files, size = files + 1, size + status.st_blocks * 512
        if size > MOST_BYTES:
            return f"is larger than {size_in_words(MOST_BYTES)}"
        if files > MOST_FILES:
            return f"holds more than {MOST_FILES:,} files"
    return ""
