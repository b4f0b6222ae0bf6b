"""MediaWiki from Debian's package on SQLite, filled with a small handbook that is the same
everywhere."""

import secrets
import shutil
from pathlib import Path

from phpdyno.apps.built_in.debian import PackageRecipe, prepared, scripts_digest
from phpdyno.apps.built_in.packages import fetch_packages
from phpdyno.apps.built_in.php_cli import PhpCli, find_php_cli
from phpdyno.apps.files.copies import copy_tree, give_to_service, make_readable
from phpdyno.apps.source import Progress, default_env
from phpdyno.errors import DynoError
from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.workload import Target, Workload
from phpdyno.package import APP_FILES
from phpdyno.servers.supervision.supervisor import Supervisor

PACKAGES = ("mediawiki", "mediawiki-classes")
"""The second holds the classes that the first's vendor directory lacks; all else is in the
first."""

EXTENSIONS = ("apcu", "dom", "intl", "mbstring", "pdo_sqlite", "xml")
"""APCu is the cache that the installer chooses with what Debian recommends; without it MediaWiki
would silently have none."""

USED = ("Cite", "ParserFunctions")
"""MediaWiki's own extensions that the pages use; what the others hold is not read by a page."""

SCRIPTS = APP_FILES / "mediawiki"
INSTALL_LOG = "prepare-mediawiki"
LAYOUT = "1"
TARGETS = (
    Target("/index.php?title=Main_Page", 4),
    Target("/index.php?title=Flywheel_(bench)", 4),
    Target("/index.php?title=Category:Engines", 1),
    Target("/index.php?title=Special:Search&search=steady+valve&fulltext=1", 1),
    Target("/index.php?title=Main_Page&action=history", 1),
)
SETTINGS = {
    "cache": AppSetting("MEDIAWIKI_CACHE", ("accel", "db", "none"), "accel"),
    "parser-cache": AppSetting("MEDIAWIKI_PARSER_CACHE", ("1", "0"), "1"),
    "l10n": AppSetting("MEDIAWIKI_L10N", ("cdb", "php"), "cdb"),
}
SITE, DATA, CACHE = "site", "data", "cache"


class MediaWiki:
    """The built-in app `mediawiki`: prepared once per version of everything that goes into it, then
    only copied."""

    name = "mediawiki"
    workload = Workload(TARGETS)
    settings = SETTINGS
    fixed = frozenset[str]()

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """The version of its main package; the cache has it prepared after this. Raises
        DynoError."""
        return prepared(_recipe(supervisor, progress), cache, progress)[1]

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """A copy of which only the SQLite files can be written by the servers. Raises DynoError."""
        entry, version = prepared(_recipe(supervisor, progress), cache, progress)
        progress("copying MediaWiki")
        root = supervisor.live / "app"
        for part in (SITE, DATA, CACHE):
            copy_tree(supervisor, entry / part, root / part)
        give_to_service(supervisor, root / DATA)
        return PreparedApp(
            name=self.name,
            docroot=root / SITE,
            workload=self.workload,
            env=default_env(SETTINGS),
            version=version,
            settings=SETTINGS,
        )


def _recipe(supervisor: Supervisor, progress: Progress) -> PackageRecipe:
    php = find_php_cli(EXTENSIONS)
    key = {"layout": LAYOUT, "php": php.minor, "scripts": scripts_digest(SCRIPTS)}
    return PackageRecipe(
        MediaWiki.name, "MediaWiki", PACKAGES, key, lambda partial, versions: _build(supervisor, partial, versions, php, progress)
    )


def _build(supervisor: Supervisor, partial: Path, versions: dict[str, str], php: PhpCli, progress: Progress) -> None:
    """Everything happens in the live directory, which vanishes with us; the cache gets the finished
    copies."""
    progress(f"downloading MediaWiki {versions['mediawiki']} from Debian")
    unpacked = supervisor.live / "unpacked"
    fetch_packages(supervisor, versions, unpacked)
    root = supervisor.live / "mediawiki"
    root.mkdir()
    for part in (DATA, CACHE):
        supervisor.directory(f"mediawiki/{part}")
    _assemble(unpacked, root / SITE)
    progress("installing MediaWiki and writing its pages")
    _install(supervisor, php, root)
    _fill(supervisor, php, root)
    progress("storing MediaWiki in the cache")
    for part in (SITE, DATA, CACHE):
        copy_tree(supervisor, root / part, partial / part)
    make_readable(partial / CACHE)
    (partial / DATA).chmod(0o700)
    for done in (unpacked, root):
        shutil.rmtree(done)


def _assemble(unpacked: Path, site: Path) -> None:
    """One directory without links: Debian keeps the configuration, the uploads and the list of
    extensions elsewhere."""
    source = unpacked / "usr/share/mediawiki"
    for link in [path for path in source.iterdir() if path.is_symlink()]:
        link.unlink()
    (source / "extensions").mkdir()
    for name in USED:
        shutil.move(source / "extensions-core" / name, source / "extensions" / name)
    shutil.rmtree(source / "extensions-core")
    (source / "images").mkdir()
    shutil.move(source, site)
    make_readable(site)


def _install(supervisor: Supervisor, php: PhpCli, root: Path) -> None:
    """The tables, the administrator (whom nobody can log in as) and the caches of its texts, in
    both forms."""
    scratch = supervisor.directory("mediawiki-installer")
    # It may read the password, and put nothing in its place.
    password = _scripts(supervisor) / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_urlsafe(24))
    if supervisor.user.switch:
        shutil.chown(password, supervisor.user.uid, supervisor.user.gid)
    where = [f"--dbpath={root / DATA}", f"--confpath={scratch}", f"--passfile={password}", "--server=http://localhost", "--scriptpath="]
    names = ["--dbtype=sqlite", "--dbname=wiki", "--lang=en", f"--extensions={','.join(USED)}", "The Dynamometer", "Admin"]
    _php(supervisor, php, root / SITE / "maintenance/install.php", *where, *names)
    shutil.rmtree(scratch)
    password.unlink()
    # The installer refuses to work where there is a configuration.
    shutil.copyfile(SCRIPTS / "LocalSettings.php", root / SITE / "LocalSettings.php")
    (root / SITE / "LocalSettings.php").chmod(0o644)
    for store in ("LCStoreCDB", "LCStoreStaticArray"):
        rebuild = root / SITE / "maintenance/rebuildLocalisationCache.php"
        _php(supervisor, php, rebuild, "--lang=en", "--force", f"--store-class={store}")


def _fill(supervisor: Supervisor, php: PhpCli, root: Path) -> None:
    script = _scripts(supervisor) / "fill.php"
    shutil.copyfile(SCRIPTS / script.name, script)
    _php(supervisor, php, script, "--conf", str(root / SITE / "LocalSettings.php"))


def _scripts(supervisor: Supervisor) -> Path:
    """What the servers' account is given to read; only we write there."""
    place = supervisor.live / "mediawiki-scripts"
    place.mkdir(exist_ok=True)
    return place


def _php(supervisor: Supervisor, php: PhpCli, script: Path, *arguments: str) -> None:
    settings = ["-d", "display_errors=stderr", "-d", "opcache.enable_cli=0"]
    child = supervisor.run(INSTALL_LOG, [php.path, *settings, str(script), *arguments], timeout_s=300.0)
    if child.status != 0:
        raise DynoError(
            f"preparing MediaWiki failed in {script.name}: it {child.ended_how()}: {child.tail()}", next_step=f"see {child.log}"
        )
