"""What a manifest may not say: each target, mode, and part of a php-fpm that no bundle of ours
would name."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from phpdyno.bundle.apply.applying import apply
from phpdyno.bundle.apply.checking import Checker
from phpdyno.bundle.apply.tree import Disk, TargetTree, digest
from phpdyno.bundle.manifest import MANIFEST, PhpPlace
from phpdyno.bundle.places import mode_bits, unusual
from phpdyno.bundle.reading import Bundle, read_bundle
from phpdyno.commands.bundle import command
from phpdyno.errors import DynoError, UsageError
from tests.support.made_up.bundles import FPM, JIT, PHP, SETTINGS, FakeServers, bundle, image, photograph

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other accounts")
HOSTILE_DIRS = ("/etc/cron.d", "/etc/ld.so.conf.d", "/etc/apt/apt.conf.d", "/root/.ssh", "/var/www/html", "/etc/supervisor/conf.d")


def made(tmp_path: Path) -> Path:
    """A bundle with a file of each kind."""
    settings = {**SETTINGS, "ini.opcache.preload": "/x/preload.php"}
    return bundle(tmp_path / "made", settings=settings, preload="<?php\n").directory


def edited(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = msgspec.json.decode((directory / MANIFEST).read_bytes())
    change(document)
    (directory / MANIFEST).write_bytes(msgspec.json.encode(document))


def of_kind(document: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in document["files"] if each["kind"] == kind)
    return found


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("ini", "/etc/php/8.2/fpm/conf.d/99-phpdyno.conf"),
        ("ini", "/etc/php/8.2/cli/conf.d/99-phpdyno.ini"),
        ("ini", "/etc/php/8.2/fpm/php.ini"),
        ("ini", "/etc/php/8.2/fpm/conf.d/.ini"),
        ("pool-first", "/etc/php/8.2/fpm/pool.d/www.ini"),
        ("pool-first", "/etc/ld.so.conf.d/x.conf"),
        ("pool-last", "/etc/php/8.2/fpm/php-fpm.conf"),
        ("nginx", "/etc/nginx/nginx.conf"),
        ("nginx", "/etc/nginx/conf.d/phpdyno.sh"),
        ("nginx", "/etc/nginx/conf.d/deeper/phpdyno.conf"),
        ("sysctl", "/etc/sysctl.conf"),
        ("sysctl", "/etc/modprobe.d/x.conf"),
        ("systemd", "/etc/systemd/system/ssh.service.d/phpdyno.conf"),
        ("systemd", "/etc/systemd/system/php8.2-fpm.service"),
        ("preload", "/etc/php/8.2/fpm/other.php"),
        ("preload", "/var/www/html/phpdyno-preload.php"),
    ],
)
def test_each_kind_has_its_place(tmp_path: Path, kind: str, target: str) -> None:
    directory = made(tmp_path)
    edited(directory, lambda document: of_kind(document, kind).update(target=target))
    with pytest.raises(
        UsageError, match=rf"MANIFEST.json: nothing of the kind {kind} may be placed at '{target}'; its place is /etc/.*by hand"
    ):
        read_bundle(directory)


@pytest.mark.parametrize("mode", ["4644", "2644", "0666", "0664", "0646", "0755", "0645", "0o644", " 644", "", "9", "0000"])
def test_modes_are_those_of_a_list(tmp_path: Path, mode: str) -> None:
    directory = made(tmp_path)
    edited(directory, lambda document: document["files"][0].update(mode=mode))
    assert mode_bits(mode) is None
    with pytest.raises(UsageError, match="no mode bits of a configuration file; they are: 0644, 0640"):
        read_bundle(directory)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("executable", "php-fpm8.2"),
        ("executable", "/bin/sh"),
        ("executable", "/usr/sbin/../sbin/php-fpm8.2"),
        ("executable", "/usr/sbin/php-fpm8.2\n"),
        ("executable", "/usr/sbin/php-fpm 8.2"),
        ("config", "php-fpm.conf"),
        ("ini_dir", "conf.d"),
        ("pool_dir", ""),
        ("pool_file", "../x"),
        ("pool", "www]\n[x"),
        ("pool", ""),
        ("unit", "../x"),
        ("unit", "--now"),
        ("unit", "a b"),
        ("unit", ""),
        ("user", "www data"),
        ("user", "a\nextension=x"),
        ("version", "8"),
        ("live", "www;x"),
        ("scan_dir", ":conf.d"),
        ("scan_dir", "/etc/../x"),
        ("defined", ["a=b"]),
    ],
)
def test_a_php_fpm_is_told_by_pattern(tmp_path: Path, field: str, value: object) -> None:
    directory = made(tmp_path)
    edited(directory, lambda document: document["php"].update({field: value}))
    with pytest.raises(UsageError, match=rf"MANIFEST.json: php.{field}: "):
        read_bundle(directory)


@pytest.mark.parametrize(
    "options",
    [
        ["-d", "extension=/tmp/x.so"],
        ["-d", "extension_dir=/tmp/extensions"],
        ["-z", "/tmp/x.so"],
        ["-R"],
        ["-y", "own.conf"],
        ["-y"],
        ["-y", "/etc/../tmp/x"],
        ["-D"],
        ["-c/etc/php.ini"],
        ["/etc/php-fpm.conf"],
        ["--fpm-config=/etc/x.conf"],
        [""],
    ],
)
def test_options_are_those_of_a_list(tmp_path: Path, options: list[str]) -> None:
    directory = made(tmp_path)
    edited(directory, lambda document: document["php"].update(options=options))
    with pytest.raises(UsageError, match=r"php\.options: php-fpm is not tested with"):
        read_bundle(directory)


def test_options_that_bundles_have(tmp_path: Path) -> None:
    home = "/usr/lib/phpdyno/phpdyno-php8.2-pgo+bolt"
    for options in (
        ("-n",),
        ("-c", "/dev/null", "-y", "/etc/x.conf"),
        ("-d", f"extension_dir={home}/extensions", "--fpm-config", "/etc/x"),
    ):
        php = structs.replace(PHP, options=options, scan_dir=f"{home}/places::/etc/own.d/")
        assert bundle(tmp_path / "made", php=php).manifest.php == php


def test_variables_of_a_service_are_known_ones(tmp_path: Path) -> None:
    directory = made(tmp_path)
    edited(directory, lambda document: of_kind(document, "systemd").update(settings=["env.BASH_ENV"]))
    with pytest.raises(UsageError, match=r"env\.BASH_ENV is no variable of php-fpm's service"):
        read_bundle(directory)


@pytest.mark.parametrize(
    ("kind", "line"),
    [("systemd", "ExecStartPre=/bin/sh"), ("sysctl", "kernel.core_pattern = |/tmp/x"), ("nginx", "load_module /tmp/x.so;")],
)
def test_a_file_says_what_its_settings_do_and_nothing_else(tmp_path: Path, kind: str, line: str) -> None:
    directory = made(tmp_path)

    def add(document: dict[str, Any], text: str) -> None:
        each = of_kind(document, kind)
        path = directory / each["path"]
        path.write_text(path.read_text() + text)
        each["sha256"] = digest(path.read_bytes())

    edited(directory, lambda document: add(document, "# a comment\n"))
    read_bundle(directory)
    edited(directory, lambda document: add(document, f"{line}\n"))
    with pytest.raises(UsageError, match="this file says something else than the settings that it carries"):
        read_bundle(directory)


@pytest.mark.parametrize(
    ("ini", "pool", "unit"),
    [
        ("/etc/php/8.2/fpm/conf.d", "/etc/php/8.2/fpm/pool.d", "php8.2-fpm"),
        ("/usr/local/etc/php/conf.d", "/usr/local/etc/php-fpm.d", "php-fpm"),
        ("/etc/opt/remi/php82/php.d", "/etc/opt/remi/php82/php-fpm.d", "php82-php-fpm"),
        ("/etc/php82/conf.d", "/etc/php82/php-fpm.d", "php-fpm82"),
        ("/opt/cpanel/ea-php82/root/etc/php.d", "/opt/cpanel/ea-php82/root/etc/php-fpm.d", "ea-php82-php-fpm"),
        ("/usr/lib/phpdyno/phpdyno-php8.2-pgo-standalone/ini", "/etc/php/8.2/fpm/pool.d", "phpdyno-php8.2-pgo-standalone"),
    ],
)
def test_usual_places(tmp_path: Path, ini: str, pool: str, unit: str) -> None:
    php = structs.replace(PHP, ini_dir=ini, pool_dir=pool, unit=unit)
    assert unusual(bundle(tmp_path / "made", php=php).manifest) == {}


@pytest.mark.parametrize("place", [*HOSTILE_DIRS, "/etc/php/8.2/cli/conf.d"])
def test_a_directory_that_is_no_php_s_is_refused_whatever_the_manifest_calls_it(tmp_path: Path, place: str) -> None:
    found, tree = bundle(tmp_path / "made", php=structs.replace(PHP, ini_dir=place, pool_dir=place)), image(tmp_path / "root")
    before = photograph(tree.root)
    with pytest.raises(UsageError, match=rf"php.ini_dir: {place} is no usual directory of PHP's ini files.*by hand"):
        apply(found, tree, Checker(found, tree, ask=FakeServers()), Disk())
    found = bundle(tmp_path / "pool", php=structs.replace(PHP, pool_dir=place))
    with pytest.raises(UsageError, match=rf"php.pool_dir: {place} is no usual directory of php-fpm's pools"):
        apply(found, tree, Checker(found, tree, ask=FakeServers(), unchecked=True), Disk())
    assert photograph(tree.root) == before


def test_another_s_service_is_no_php_fpm(tmp_path: Path) -> None:
    found, tree = bundle(tmp_path / "made", php=structs.replace(PHP, unit="ssh")), image(tmp_path / "root")
    with pytest.raises(UsageError, match="ssh is no usual service of php-fpm"):
        Checker(found, tree).refuse_other_places()


def test_places_of_an_operator_s_own_are_those_of_the_pool_that_runs(tmp_path: Path) -> None:
    own = structs.replace(PHP, ini_dir="/srv/shop/ini", pool_dir="/srv/shop/pools", unit="shop", live="shop")
    found, host = bundle(tmp_path / "made", php=own), TargetTree(Path("/"))

    def fake_gone(php: PhpPlace) -> PhpPlace:
        raise DynoError("no such pool runs")

    Checker(found, host, here=lambda php: own).refuse_other_places()
    with pytest.raises(UsageError, match=r"/srv/shop/pools is no usual .*, and of the pool shop it is /srv/other"):
        Checker(found, host, here=lambda php: structs.replace(own, pool_dir="/srv/other")).refuse_other_places()
    with pytest.raises(UsageError, match="the pool shop does not say that it is: no such pool runs"):
        Checker(found, host, here=fake_gone).refuse_other_places()
    with pytest.raises(UsageError, match="only a pool that runs on this machine"):
        Checker(found, image(tmp_path / "root"), here=lambda php: own).refuse_other_places()


# ---- the program --------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> TargetTree:
    return image(tmp_path / "root")


def refused(found: Bundle, tree: TargetTree, servers: Callable[[Sequence[str]], "subprocess.CompletedProcess[bytes]"] | None = None) -> str:
    """Why; nothing of the tree has changed then."""
    before = photograph(tree.root)
    with pytest.raises(UsageError) as caught:
        apply(found, tree, Checker(found, tree, ask=servers or FakeServers()), Disk())
    assert photograph(tree.root) == before
    return str(caught.value)


def test_a_program_that_is_not_there_or_none(tree: TargetTree, tmp_path: Path) -> None:
    found = bundle(tmp_path / "made")
    program = tree.inside(FPM)
    program.chmod(0o644)
    assert "this is no program" in refused(found, tree)
    program.unlink()
    assert "--unchecked" in refused(found, tree)
    program.mkdir()
    assert "which is not here" in refused(found, tree)


def test_a_program_that_is_no_php_fpm(tree: TargetTree, tmp_path: Path) -> None:
    def fake_cli(argv: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.CompletedProcess(list(argv), 0, b"PHP 8.2.29 (cli) (built: today)\n", b"")

    assert "not a working php-fpm" in refused(bundle(tmp_path / "made"), tree, fake_cli)


@as_root
@pytest.mark.parametrize("how", ["owner", "group", "others", "link"])
def test_a_program_that_others_can_change_is_not_asked(tree: TargetTree, tmp_path: Path, how: str) -> None:
    program = tree.inside(FPM)
    if how == "owner":
        os.chown(program, 12345, 0)
    elif how == "link":
        (tree.root / "home").mkdir()
        os.chown(tree.root / "home", 12345, 12345)
        program.rename(tree.root / "home" / "php-fpm")
        program.symlink_to("/home/php-fpm")
    else:
        program.chmod(0o775 if how == "group" else 0o757)
    servers = FakeServers()
    assert "others can change" in refused(bundle(tmp_path / "made"), tree, servers)
    assert servers.asked == []


@as_root
@pytest.mark.parametrize("how", ["option", "scan_dir", "library", "sticky"])
def test_what_others_can_change_is_not_read_by_a_php_fpm_that_root_asks(tree: TargetTree, tmp_path: Path, how: str) -> None:
    (tree.root / "tmp").mkdir()
    (tree.root / "tmp").chmod(0o1777)
    (tree.root / "tmp" / "own").write_text("")
    os.chown(tree.root / "tmp" / "own", 12345, 12345)
    changed: dict[str, dict[str, object]] = {
        "option": {"php": structs.replace(PHP, options=("-y", "/tmp/own"))},
        "scan_dir": {"php": structs.replace(PHP, scan_dir=":/tmp/own")},
        "library": {"settings": {**JIT, "env.LD_PRELOAD": "/usr/lib/a.so:/tmp/own"}},
        "sticky": {"php": structs.replace(PHP, options=("-c", "/tmp/not-there-yet"))},
    }
    servers = FakeServers()
    assert "root would be told what to do by /tmp/" in refused(bundle(tmp_path / "made", **changed[how]), tree, servers)
    assert servers.asked == []


def test_a_refusal_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    directory = made(tmp_path)
    edited(directory, lambda document: of_kind(document, "sysctl").update(target="/etc/cron.d/x\n.conf"))
    with pytest.raises(UsageError) as caught:
        command.run_apply(directory, image(tmp_path / "root").root, ask=FakeServers())
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
