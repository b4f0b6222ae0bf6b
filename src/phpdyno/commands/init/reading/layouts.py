"""Which framework an app is made with, by the files that it cannot be without."""

import os
from collections.abc import Callable
from pathlib import Path

from phpdyno.apps.project.limits import DOCROOTS
from phpdyno.apps.project.root import find_root
from phpdyno.commands.init.found import ProjectLayout
from phpdyno.errors import UsageError

PLAIN = "plain PHP"
Finder = Callable[[Path], tuple[str, str] | None]
"""From a directory to the document root in it ('' for itself) and the front controller; None where
it is another framework's."""


def find_layout(folder: Path) -> ProjectLayout:
    """The framework and the places of an app in a directory, also where that is its document root
    or its project's. Raises UsageError where no PHP app lies there."""
    where = str(folder)
    folder = Path(os.path.normpath(folder.absolute()))
    if not folder.is_dir():
        raise UsageError("there is no such directory", where=where, next_step="name the directory of the app")
    found = _known(folder)
    if (found is None or found.docroot == folder) and (folder / "index.php").is_file():
        # A document root, perhaps: then its project says what it is.
        project = find_root(folder, "index.php", where=where)
        if project is not None:
            above = _known(project.root)
            whole = above is not None and above.docroot == project.docroot
            found = above if whole else ProjectLayout(found.framework if found else PLAIN, project.root, project.docroot)
    found = found or _plain(folder)
    if found is None:
        raise UsageError(
            f"no PHP app was recognised: neither it nor {', '.join(DOCROOTS[:5])}, … in it has an index.php",
            where=where,
            next_step="name the project's directory or its document root",
        )
    return found


def _known(folder: Path) -> ProjectLayout | None:
    for framework, finder in FINDERS.items():
        places = finder(folder)
        if places is not None and (folder / places[0] / places[1]).is_file():
            return ProjectLayout(framework, folder, folder / places[0], places[1])
    return None


def _plain(folder: Path) -> ProjectLayout | None:
    inside = [name for name in DOCROOTS if (folder / name / "index.php").is_file()]
    if inside and not ((folder / "index.php").is_file() and not (folder / "composer.json").is_file()):
        return ProjectLayout(PLAIN, folder, folder / inside[0])
    return ProjectLayout(PLAIN, folder, folder) if (folder / "index.php").is_file() else None


def _has(folder: Path, *names: str) -> bool:
    return all((folder / name).exists() for name in names)


def _bedrock(folder: Path) -> tuple[str, str] | None:
    return ("web", "index.php") if _has(folder, "config/application.php", "web/wp-config.php") else None


def _wordpress(folder: Path) -> tuple[str, str] | None:
    places = [name for name in ("", *DOCROOTS, "wordpress") if _has(folder / name, "wp-load.php", "wp-includes")]
    return (places[0], "index.php") if places else None


def _laravel(folder: Path) -> tuple[str, str] | None:
    return ("public", "index.php") if _has(folder, "artisan", "bootstrap/app.php") else None


def _symfony(folder: Path) -> tuple[str, str] | None:
    if not _has(folder, "bin/console") or not any(_has(folder, each) for each in ("config/bundles.php", "symfony.lock", "src/Kernel.php")):
        return None
    return ("public", "index.php") if _has(folder, "public/index.php") else ("web", "app.php")


def _drupal(folder: Path) -> tuple[str, str] | None:
    places = [name for name in ("web", "docroot", "html", "public", "") if _has(folder / name, "core/lib/Drupal.php")]
    return (places[0], "index.php") if places else None


def _magento(folder: Path) -> tuple[str, str] | None:
    return ("pub", "index.php") if _has(folder, "bin/magento", "app/etc") else None


def _codeigniter(folder: Path) -> tuple[str, str] | None:
    return ("public", "index.php") if _has(folder, "spark", "app/Config") else None


def _yii(folder: Path) -> tuple[str, str] | None:
    if not _has(folder, "yii") and not _has(folder, "yii.php"):
        return None
    return ("frontend/web", "index.php") if _has(folder, "frontend/web/index.php") else ("web", "index.php")


FINDERS: dict[str, Finder] = {
    "WordPress (Bedrock)": _bedrock,
    "Laravel": _laravel,
    "Magento 2": _magento,
    "Drupal": _drupal,
    "CodeIgniter 4": _codeigniter,
    "Symfony": _symfony,
    "Yii 2": _yii,
    "WordPress": _wordpress,
}
"""The more particular first: a WordPress may lie in a Laravel's public/blog."""
