"""Debian packages fetched and unpacked without installing them; apt checks their signatures."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.servers.programs.finding import program_path, told
from phpdyno.servers.supervision.supervisor import Supervisor

_STANZA = re.compile(r"^(\S+):\n(?:  .*\n)*?  Candidate: (\S+)$", re.MULTILINE)
_FIELD = re.compile(r"^(Package|Version|Source): (.*)$", re.MULTILINE)


def candidate_versions(packages: Sequence[str]) -> dict[str, str]:
    """The version of each package that apt would install. Raises DynoError: no apt here, no package
    lists, a package it does not know."""
    apt = shutil.which("apt-cache", path=program_path())
    if apt is None or shutil.which("dpkg", path=program_path()) is None:
        raise DynoError(
            "this app comes from Debian's packages, and this host has no apt", next_step="measure your own copy with an app.toml"
        )
    policy = told([apt, "policy", *packages], env={**os.environ, "LC_ALL": "C"}).stdout.decode(errors="replace")
    found = {name: version for name, version in _STANZA.findall(policy) if version != "(none)"}
    missing = [name for name in packages if name not in found]
    if missing:
        raise DynoError(f"apt knows no package {', '.join(missing)}", where="apt-cache policy", next_step="run: sudo apt-get update")
    return found


def versions_built_of(packages: Sequence[str], source_version: str) -> dict[str, str]:
    """The version of each of a source's packages that is of this version of the source: its own
    where it was only compiled again (8.4.11-1+b1), the source's where apt does not know it."""
    found: dict[str, str] = {}
    for stanza in told(["apt-cache", "show", *packages]).stdout.decode(errors="replace").split("\n\n"):
        fields = dict(_FIELD.findall(stanza))
        # `Source: php8.4 (8.4.11-1)`, without a version where that is the package's.
        built_of = fields.get("Source", "").partition(" ")[2].strip("()") or fields.get("Version", "")
        if built_of == source_version:
            found.setdefault(fields["Package"], fields["Version"])
    return {name: found.get(name, source_version) for name in packages}


def proxies() -> dict[str, str]:
    """The variables by which apt is told of a proxy."""
    return {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}


def fetch_packages(supervisor: Supervisor, versions: Mapping[str, str], into: Path) -> None:
    """Download packages of exactly these versions and unpack them into the directory `into`. Raises
    DynoError."""
    downloads = supervisor.live / "packages"
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir()
    wanted = [f"{name}={version}" for name, version in versions.items()]
    child = supervisor.run(
        "prepare-apt",
        # apt's own account cannot write into our directory; without this it warns and does the
        # same.
        ["apt-get", "-o", "APT::Sandbox::User=root", "--quiet=2", "download", *wanted],
        env=proxies(),
        cwd=downloads,
        as_service=False,
        timeout_s=600.0,
    )
    if child.status != 0:
        raise DynoError(
            f"the packages cannot be downloaded: {child.tail(2)}", where="apt-get download", next_step="run: sudo apt-get update"
        )
    for package in sorted(downloads.glob("*.deb")):
        child = supervisor.run("prepare-apt", ["dpkg", "-x", str(package), str(into)], as_service=False)
        if child.status != 0:
            raise DynoError(f"the package cannot be unpacked: {child.tail(2)}", where=package.name, next_step=f"see {child.log}")
    shutil.rmtree(downloads)
