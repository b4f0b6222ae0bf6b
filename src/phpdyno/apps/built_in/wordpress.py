"""WordPress from Debian's packages, unpacked into the cache and filled with a small blog that is
the same everywhere."""

import shutil
from pathlib import Path

from phpdyno.apps.built_in.debian import PackageRecipe, prepared, scripts_digest
from phpdyno.apps.built_in.packages import fetch_packages
from phpdyno.apps.built_in.php_cli import PhpCli, find_php_cli
from phpdyno.apps.data import databases
from phpdyno.apps.files.copies import copy_tree, make_readable
from phpdyno.apps.source import Progress, default_env
from phpdyno.errors import DynoError
from phpdyno.model.app import AppSetting, PreparedApp
from phpdyno.model.workload import BROWSER_ENCODING, Target, Workload
from phpdyno.package import APP_FILES
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.supervision.supervisor import Supervisor

PACKAGES = ("wordpress", "wordpress-theme-twentytwentyone", "php-getid3", "libjs-underscore", "libjs-cropper")
"""The last three are what links in the first lead to; nothing else of its dependencies is read by a
page of the site."""

SCRIPTS = APP_FILES / "wordpress"
INSTALL_LOG = "prepare-wordpress"
LAYOUT = "1"
TARGETS = (
    Target("/", 4),
    Target("/bench-note-12/", 3),
    Target("/?s=steady+valve", 1),
    Target("/feed/", 1),
)
SETTINGS = {"debug": AppSetting("WP_DEBUG", ("0", "1"), "0")}


class WordPress:
    """The built-in app `wordpress`: prepared once per version of everything that goes into it, then
    only copied."""

    name = "wordpress"
    workload = Workload(TARGETS, accept_encoding=BROWSER_ENCODING)
    settings = SETTINGS
    fixed = databases.FIXED

    def version(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> str:
        """The version of its main package; the cache has it prepared after this. Raises
        DynoError."""
        return prepared(_recipe(supervisor, progress), cache, progress)[1]

    def prepare(self, supervisor: Supervisor, *, cache: Path, progress: Progress) -> PreparedApp:
        """The document root as a copy that the servers can read but not write, and the cached
        database. Raises DynoError."""
        entry, version = prepared(_recipe(supervisor, progress), cache, progress)
        progress("copying WordPress")
        docroot = supervisor.live / "app"
        copy_tree(supervisor, entry / "docroot", docroot)
        return PreparedApp(
            name=self.name,
            docroot=docroot,
            workload=self.workload,
            datadir=entry / databases.DATADIR,
            ini=dict(databases.INI),
            env=default_env(SETTINGS),
            version=version,
            settings=SETTINGS,
        )


def _recipe(supervisor: Supervisor, progress: Progress) -> PackageRecipe:
    php = find_php_cli(["mysqli"])
    key = {"layout": LAYOUT, "mariadb": Database.version(), "php": php.minor, "scripts": scripts_digest(SCRIPTS)}
    return PackageRecipe(
        WordPress.name, "WordPress", PACKAGES, key, lambda partial, versions: _build(supervisor, partial, versions, php, progress)
    )


def _build(supervisor: Supervisor, partial: Path, versions: dict[str, str], php: PhpCli, progress: Progress) -> None:
    """Everything happens in the live directory, which vanishes with us; the cache gets the finished
    copies."""
    progress(f"downloading WordPress {versions['wordpress']} from Debian")
    unpacked = supervisor.live / "unpacked"
    fetch_packages(supervisor, versions, unpacked)
    docroot = supervisor.live / "wordpress"
    _assemble(unpacked, docroot)
    progress("installing WordPress and writing its posts")
    datadir = supervisor.directory("wordpress-datadir")
    Database.initialise(supervisor, datadir)
    with databases.serving(supervisor, datadir) as database:
        _php(supervisor, php, database, "install.php", docroot)
        for target in TARGETS:
            _php(supervisor, php, database, "visit.php", docroot, target.path)
        _php(supervisor, php, database, "settle.php", docroot)
    progress("storing WordPress in the cache")
    copy_tree(supervisor, docroot, partial / "docroot")
    databases.keep_datadir(supervisor, datadir, partial / databases.DATADIR)
    for done in (unpacked, docroot, datadir):
        shutil.rmtree(done)


def _assemble(unpacked: Path, docroot: Path) -> None:
    """One directory without links: Debian spreads WordPress over /usr/share/php,
    /usr/share/javascript, /var/lib and /etc."""
    site = unpacked / "usr/share/wordpress"
    for link in [path for path in site.rglob("*") if path.is_symlink()]:
        target = link.readlink()
        real = unpacked / target.relative_to("/") if target.is_absolute() else link.parent / target
        link.unlink()
        # What is left out is the web server's .htaccess and the bundle of certificates: nothing
        # goes out from here.
        if real.resolve().is_file() and real.resolve().is_relative_to(unpacked.resolve()):
            shutil.copyfile(real, link)
    (site / ".htaccess").unlink(missing_ok=True)
    shutil.copyfile(SCRIPTS / "wp-config.php", site / "wp-config.php")
    shutil.copyfile(unpacked / "var/lib/wordpress/wp-content/index.php", site / "wp-content/index.php")
    (site / "wp-content/uploads").mkdir()
    shutil.move(site, docroot)
    make_readable(docroot)


def _php(supervisor: Supervisor, php: PhpCli, database: Database, script: str, *arguments: Path | str) -> None:
    place = supervisor.live / "scripts"
    place.mkdir(exist_ok=True)
    shutil.copyfile(SCRIPTS / script, place / script)
    settings = ["-d", f"mysqli.default_socket={database.socket}", "-d", "display_errors=stderr", "-d", "opcache.enable_cli=0"]
    child = supervisor.run(INSTALL_LOG, [php.path, *settings, str(place / script), *map(str, arguments)], timeout_s=300.0)
    if child.status != 0:
        raise DynoError(f"preparing WordPress failed in {script}: it {child.ended_how()}: {child.tail()}", next_step=f"see {child.log}")
