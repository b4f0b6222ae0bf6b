"""A small Symfony app on the framework of Debian's packages: routing, Twig and JSON, with Symfony's
debug mode on or off."""

import os
import shutil
import time
from pathlib import Path

from phpdyno.apps.built_in.debian import PackageRecipe, prepared
from phpdyno.apps.built_in.packages import fetch_packages
from phpdyno.apps.built_in.php_cli import PhpCli, find_php_cli
from phpdyno.apps.files.copies import copy_tree, give_to_service, make_readable
from phpdyno.apps.source import Progress, default_env
from phpdyno.errors import DynoError
from phpdyno.host.files.plain import opened
from phpdyno.host.files.trees import entries_below
from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.workload import BROWSER_ENCODING, Target, Workload
from phpdyno.package import APP_FILES
from phpdyno.servers.supervision.supervisor import Supervisor

PACKAGES = (
    "php-symfony-framework-bundle",
    "php-symfony-twig-bundle",
    *(
        f"php-symfony-{component}"
        for component in (
            "cache",
            "config",
            "dependency-injection",
            "error-handler",
            "event-dispatcher",
            "filesystem",
            "finder",
            "http-foundation",
            "http-kernel",
            "routing",
            "twig-bridge",
            "var-dumper",
            "var-exporter",
        )
    ),
    *(f"php-symfony-{name}-contracts" for name in ("cache", "deprecation", "event-dispatcher", "service", "translation")),
    *(f"php-psr-{name}" for name in ("cache", "container", "event-dispatcher", "log")),
    "php-twig",
)
"""The two bundles and all of Debian's PHP packages that they depend on."""

EXTENSIONS = ("ctype", "mbstring", "simplexml", "tokenizer")
SCRIPTS = APP_FILES / "symfony-hello"
WARM_LOG = "prepare-symfony-hello"
LAYOUT = "1"
TARGETS = (
    Target("/", 3),
    Target("/parts/flywheel", 1),
    Target("/api/parts", 1),
)
SETTINGS = {"debug": AppSetting("APP_DEBUG", ("0", "1"), "0")}
SOURCES_AGE_S = 20.0
CACHES_AGE_S = 10.0
"""opcache leaves out what is younger than two seconds, and in debug mode Symfony builds a cache
anew that is older than its sources."""


class SymfonyHello:
    """The built-in app `symfony-hello`: the framework comes from the cache, Symfony's own caches
    are filled in each copy."""

    name = "symfony-hello"
    workload = Workload(TARGETS, accept_encoding=BROWSER_ENCODING)
    settings = SETTINGS
    fixed = frozenset[str]()

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """The version of its main package; the cache has it prepared after this. Raises
        DynoError."""
        return prepared(_recipe(supervisor, progress), cache, progress)[1]

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """A copy of which only `var` can be written by the servers, with the caches of both modes
        in it. Raises DynoError."""
        php = find_php_cli(EXTENSIONS)
        entry, version = prepared(_recipe(supervisor, progress), cache, progress)
        progress("copying symfony-hello and filling its caches")
        root = supervisor.live / "app"
        shutil.copytree(SCRIPTS, root)
        make_readable(root)
        copy_tree(supervisor, entry / "vendor", root / "vendor")
        _fill_caches(supervisor, php, root)
        return PreparedApp(
            name=self.name,
            docroot=root / "public",
            workload=self.workload,
            env=default_env(SETTINGS),
            version=version,
            settings=SETTINGS,
        )


def _recipe(supervisor: Supervisor, progress: Progress) -> PackageRecipe:
    key = {"layout": LAYOUT}
    return PackageRecipe(
        SymfonyHello.name, "Symfony", PACKAGES, key, lambda partial, versions: _build(supervisor, partial, versions, progress)
    )


def _build(supervisor: Supervisor, partial: Path, versions: dict[str, str], progress: Progress) -> None:
    progress(f"downloading Symfony {versions[PACKAGES[0]]} from Debian")
    unpacked = supervisor.live / "unpacked"
    fetch_packages(supervisor, versions, unpacked)
    vendor = unpacked / "usr/share/php"
    make_readable(vendor)
    copy_tree(supervisor, vendor, partial / "vendor")
    shutil.rmtree(unpacked)


def _fill_caches(supervisor: Supervisor, php: PhpCli, root: Path) -> None:
    """Not in the cache of ours: the debug mode's holds absolute paths, and would be built anew by
    the first request in another place."""
    writable = root / "var"
    writable.mkdir()
    give_to_service(supervisor, writable)
    _age(root, SOURCES_AGE_S)
    for mode in SETTINGS["debug"].values:
        child = supervisor.run(
            WARM_LOG,
            [php.path, "-d", "display_errors=stderr", "-d", "opcache.enable_cli=0", str(root / "warm.php"), str(root)],
            env={SETTINGS["debug"].env: mode},
        )
        if child.status != 0:
            raise DynoError(f"preparing symfony-hello failed: it {child.ended_how()}: {child.tail()}", next_step=f"see {child.log}")
    _age(writable, CACHES_AGE_S)


def _age(tree: Path, age_s: float) -> None:
    """Give everything in a tree the same time of its last change, in the past."""
    when = time.time() - age_s
    with opened(tree) as top:
        for entry in entries_below(top):
            os.utime(entry.name, (when, when), dir_fd=entry.folder, follow_symlinks=False)
        os.utime(top, (when, when))
