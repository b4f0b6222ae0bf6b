"""A build as a Debian package that lies beside the distribution's PHP, with a unit of its own and a way back. The texts are pure."""

import re
import shutil
from pathlib import Path

from phpdyno.build.dropin import EXTENSIONS
from phpdyno.errors import DynoError
from phpdyno.model.build import BUILD_FILE, Build, series_of
from phpdyno.stack.supervise import Supervisor

HOME = "usr/lib/phpdyno"
RELOAD = "if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi"
_UNFIT = re.compile(r"[^a-z0-9.+-]+")


def package_name(build: Build) -> str:
    """`phpdyno-php8.2-pgo`: one package for each recipe, so that a later build of it is an upgrade."""
    return _UNFIT.sub("-", f"phpdyno-php{series_of(build.php_version)}-{build.recipe.name.replace('=', '-')}".lower())


def package_texts(build: Build, *, architecture: str) -> dict[str, str]:
    """The package's own files as texts, by their path below the root.

    Raises DynoError for a build that may only be measured with: it is older than what the distribution has, holes included.
    """
    if build.measuring_only:
        raise DynoError("this build is for measuring only: its source is older than the installed PHP", where=build.name)
    name, series = package_name(build), series_of(build.php_version)
    home = f"/{HOME}/{name}"
    return {
        "DEBIAN/control": _control(build, name, series, architecture),
        "DEBIAN/postinst": _script(RELOAD),
        "DEBIAN/prerm": _script(
            f"if [ -d /run/systemd/system ] && systemctl is-active --quiet {name}.service; then\n"
            f"  systemctl stop {name}.service\n"
            f"  systemctl start php{series}-fpm.service || true\n"
            "fi"
        ),
        "DEBIAN/postrm": _script(RELOAD),
        f"{HOME}/{name}/start": _start(build, home, series),
        f"usr/lib/systemd/system/{name}.service": _unit(build, name, home, series),
        f"usr/share/doc/{name}/README": _readme(build, name, series),
    }


def make_package(place: Path, build: Build, into: Path, supervisor: Supervisor, *, architecture: str) -> Path:
    """Write `NAME_VERSION_ARCH.deb`. Raises DynoError."""
    texts, name = package_texts(build, architecture=architecture), package_name(build)
    root = supervisor.live / "package"
    shutil.rmtree(root, ignore_errors=True)
    home = root / HOME / name
    shutil.copytree(place, home, symlinks=True, ignore=shutil.ignore_patterns("done.json"))
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if path.startswith("DEBIAN/p") or path.endswith("/start") else 0o644)
    made = into / f"{name}_{_version(build)}_{architecture}.deb"
    child = supervisor.run(
        "build-package", ["dpkg-deb", "--root-owner-group", "--build", str(root), str(made)], as_service=False, timeout_s=600.0
    )
    if child.status != 0:
        raise DynoError(f"the package cannot be made: {child.tail(2)}", where=str(made), next_step=f"see {child.log}")
    return made


def _version(build: Build) -> str:
    stamp = re.sub(r"[^0-9]", "", build.made)[:14]
    return f"{build.origin.version or build.php_version}+phpdyno{stamp}"


def _control(build: Build, name: str, series: str, architecture: str) -> str:
    apps = " and ".join(f"{each.requests} requests to {each.teaching.app}" for each in build.lessons)
    taught = f" by {apps}" if apps else ""
    return (
        f"Package: {name}\n"
        f"Version: {_version(build)}\n"
        f"Architecture: {architecture}\n"
        "Maintainer: whoever built it <root@localhost>\n"
        "Section: php\n"
        "Priority: optional\n"
        f"Depends: php{series}-fpm, php{series}-opcache\n"
        f"Description: php-fpm {build.php_version}, rebuilt ({build.recipe.name})\n"
        f" The distribution's php-fpm, compiled anew{taught}.\n"
        " It lies beside it, uses its configuration and extensions, and steps aside when these are upgraded.\n"
    )


def _script(text: str) -> str:
    return f"#!/bin/sh\nset -e\n{text}\n"


def _start(build: Build, home: str, series: str) -> str:
    return f"""#!/bin/sh
# The rebuilt php-fpm where it fits what is installed now, else the distribution's own, with a notice.
home={home}
stock=/usr/sbin/php-fpm{series}
installed=$("$stock" -n -v 2>/dev/null | sed -n '1s/^PHP \\([^ ]*\\).*/\\1/p')
reason=
if [ "$installed" != "{build.php_version}" ]; then
  reason="the distribution has PHP $installed, and this build is of {build.php_version}"
elif said=$("$home/php-fpm" -d "extension_dir=$home/{EXTENSIONS}" -m 2>&1); then
  case $said in
    *"Unable to load"*|*"Unable to initialize"*|*"Failed loading"*|*"undefined symbol"*|*"API version"*|*"options need to match"*)
      reason="an installed extension does not fit this build" ;;
  esac
else
  reason="this build does not run here"
fi
if [ -n "$reason" ]; then
  echo "phpdyno: $reason; starting $stock instead. Build it anew: phpdyno build --refresh" >&2
  exec "$stock" "$@"
fi
exec "$home/php-fpm" -d "extension_dir=$home/{EXTENSIONS}" "$@"
"""


def _unit(build: Build, name: str, home: str, series: str) -> str:
    configuration = f"/etc/php/{series}/fpm"
    return f"""[Unit]
Description=php-fpm {series}, rebuilt by phpdyno ({build.recipe.name})
After=network.target
Conflicts=php{series}-fpm.service

[Service]
Type=notify
ExecStart={home}/start --nodaemonize --fpm-config {configuration}/php-fpm.conf
ExecStartPost=-/usr/lib/php/php-fpm-socket-helper install /run/php/php-fpm.sock {configuration}/pool.d/www.conf {series.replace(".", "")}
ExecStopPost=-/usr/lib/php/php-fpm-socket-helper remove /run/php/php-fpm.sock {configuration}/pool.d/www.conf {series.replace(".", "")}
ExecReload=/bin/kill -USR2 $MAINPID

[Install]
WantedBy=multi-user.target
"""


def _readme(build: Build, name: str, series: str) -> str:
    return f"""php-fpm {build.php_version}, compiled anew ({build.recipe.name}); what it was made of is in /{HOME}/{name}/{BUILD_FILE}.

Switch to it:     systemctl disable --now php{series}-fpm && systemctl enable --now {name}
The way back:     systemctl disable --now {name} && systemctl enable --now php{series}-fpm
Or for good:      apt remove {name}

It uses the distribution's configuration (/etc/php/{series}/fpm) and extensions. When these are upgraded it notices when it starts next,
says so in the journal, and starts the distribution's php-fpm instead; `phpdyno build --refresh` makes it anew.
"""
