"""Apps of Debian's archive as they lie once installed, in a directory of the test's own instead of
the system: fetched by apt, which checks them, and never installed."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

OWN = ("/usr/share/", "/etc/", "/var/lib/", "/var/cache/", "/var/log/")
"""Beginnings of paths that belong to an app, when its name follows or it is a library of PHP."""


def installed(packages: Sequence[str], top: Path, *, own: Sequence[str]) -> Path:
    """Fetch packages and lay them out below `top`, with links and PHP's absolute paths to what is
    there (`own`: beginnings of such paths) leading there. Skips the test where apt has none."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        pytest.skip("this host has no apt")
    downloads = top.parent / f"{top.name}-debs"
    downloads.mkdir()
    told = subprocess.run(
        ["apt-get", "-o", "APT::Sandbox::User=root", "--quiet=2", "download", *packages],
        cwd=downloads,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    for package in sorted(downloads.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(top)], check=True, timeout=120)
    shutil.rmtree(downloads)
    _lead_inside(top)
    for file in (path for path in top.rglob("*") if path.suffix in {".php", ".inc"} and path.is_file() and not path.is_symlink()):
        text = new = file.read_bytes()
        for place in own:
            for quote in (b"'", b'"'):
                new = new.replace(quote + place.encode(), quote + os.fsencode(top) + place.encode())
        if new != text:
            file.write_bytes(new)
    return top


def _lead_inside(top: Path) -> None:
    for link in [path for path in top.rglob("*") if path.is_symlink()]:
        target = link.readlink()
        if target.is_absolute():
            link.unlink()
            link.symlink_to(os.path.relpath(top / target.relative_to("/"), link.parent))
