"""The package's texts; the start script is run, with php-fpm's own place taken by scripts that say what they are."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.build.package import HOME, package_name, package_texts
from phpdyno.config.recipe import parse_recipe
from phpdyno.errors import DynoError
from tests.support.builds import BUILD


def test_a_package_is_named_after_php_and_recipe() -> None:
    assert package_name(BUILD) == "phpdyno-php8.2-pgo"
    assert package_name(structs.replace(BUILD, recipe=parse_recipe("o3+march=x86-64-v3+lto"))) == "phpdyno-php8.2-o3+march-x86-64-v3+lto"


def test_what_is_for_measuring_only_is_never_packaged() -> None:
    with pytest.raises(DynoError, match="for measuring only"):
        package_texts(structs.replace(BUILD, measuring_only=True), architecture="amd64")


def test_the_unit_excludes_the_distributions_and_the_readme_leads_back() -> None:
    texts = package_texts(BUILD, architecture="amd64")
    unit = texts["usr/lib/systemd/system/phpdyno-php8.2-pgo.service"]
    assert "Conflicts=php8.2-fpm.service" in unit
    assert "/etc/php/8.2/fpm/php-fpm.conf" in unit
    assert "systemctl enable --now php8.2-fpm" in texts["usr/share/doc/phpdyno-php8.2-pgo/README"]
    assert "Version: 8.2.36-1+phpdyno20260102030405\n" in texts["DEBIAN/control"]


def fake(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("installed", "modules", "started", "notice"),
    [
        ("8.2.36", "echo Core", "own -d extension_dir={home}/extensions --nodaemonize", ""),
        ("8.2.37", "echo Core", "stock --nodaemonize", "the distribution has PHP 8.2.37, and this build is of 8.2.36"),
        ("8.2.36", "echo 'Unable to load dynamic library' >&2", "stock --nodaemonize", "an installed extension does not fit"),
        ("8.2.36", "exit 1", "stock --nodaemonize", "this build does not run here"),
        ("", "echo Core", "stock --nodaemonize", "the distribution has PHP , and"),
    ],
)
def test_it_steps_aside_where_it_does_not_fit(tmp_path: Path, installed: str, modules: str, started: str, notice: str) -> None:
    home, stock = tmp_path / "home", tmp_path / "stock"
    text = package_texts(BUILD, architecture="amd64")[f"{HOME}/phpdyno-php8.2-pgo/start"]
    text = text.replace(f"/{HOME}/phpdyno-php8.2-pgo", str(home)).replace("/usr/sbin/php-fpm8.2", str(stock))
    fake(home / "php-fpm", f'case "$*" in *-m) {modules};; *) echo "own $*";; esac')
    fake(stock, f'case "$*" in *-v) [ -z "{installed}" ] || echo "PHP {installed} (fpm-fcgi)";; *) echo "stock $*";; esac')
    script = tmp_path / "start"
    script.write_text(text)
    script.chmod(0o755)
    answer = subprocess.run([str(script), "--nodaemonize"], capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    assert answer.stdout.strip() == started.format(home=home)
    assert notice in answer.stderr
    assert bool(answer.stderr) == bool(notice)
