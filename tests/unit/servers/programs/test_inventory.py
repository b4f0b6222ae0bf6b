"""PHPs and tools in made-up directories, and what a PHP says of itself; the programs are
stand-ins."""

import errno
import os
from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.host.checkup.programs import TraceTrial
from phpdyno.paths import ServiceUser
from phpdyno.servers.programs import inventory
from phpdyno.servers.programs.finding import find_program
from phpdyno.servers.programs.inventory import describe_php, find_clis, find_fpms, find_tool, try_strace

SAYS = """PHP Version => {version}
Server API => FPM/FastCGI
    with Zend OPcache v{version}, Copyright (c), by Zend Technologies
Opcode Caching => Up and Running
JIT => {jit}
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    return tmp_path


def fake_program(place: Path, name: str, output: str = "", code: int = 0, errors: str = "") -> Path:
    (place / name).write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\necho '{errors}' >&2\nexit {code}\n")
    (place / name).chmod(0o755)
    return place / name


def test_every_php_is_found_once_the_newest_first(programs: Path) -> None:
    for version in ("8.2", "8.10", "7.4"):
        fake_program(programs, f"php-fpm{version}", SAYS.format(version=f"{version}.1", jit="On"))
    fake_program(programs, "php8.2", SAYS.format(version="8.2.1", jit="On"))
    (programs / "php").symlink_to("php8.2")
    (programs / "php-config8.2").write_text("")
    (programs / "php-fpm9.9").write_text("not executable")
    assert [php.version for php in find_fpms()] == ["8.10.1", "8.2.1", "7.4.1"]
    assert [php.path for php in find_clis()] == [str(programs / "php8.2")]


def test_what_a_php_says(programs: Path) -> None:
    php = describe_php(fake_program(programs, "php", SAYS.format(version="8.2.1", jit="On")))
    assert (php.version, php.opcache, php.jit, php.problem) == ("8.2.1", "8.2.1", True, "")
    words = "PHP Warning:  JIT is incompatible with third party extensions"
    stopped = describe_php(fake_program(programs, "php", SAYS.format(version="8.2.1", jit="Disabled"), errors=words))
    assert (stopped.jit, stopped.jit_problem) == (False, words)
    assert describe_php(fake_program(programs, "php", "PHP Version => 8.2.1")).opcache == ""


@pytest.mark.parametrize(("output", "code", "words"), [("", 127, "cannot open libxml"), ("Hello", 0, "cannot open libxml")])
def test_a_php_that_does_not_run(programs: Path, output: str, code: int, words: str) -> None:
    assert words in describe_php(fake_program(programs, "php", output, code, errors="cannot open libxml")).problem


def test_asking_a_php_preloads_nothing(programs: Path) -> None:
    """doctor runs as root: a live pool's preload script is not to be executed by it."""
    asked = programs / "asked"
    (programs / "php").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {asked}\n")
    (programs / "php").chmod(0o755)
    describe_php(programs / "php")
    arguments = asked.read_text().splitlines()
    assert arguments[:2] == ["-d", "opcache.preload="]
    assert arguments[-1] == "-i"


def test_a_php_that_is_no_program_or_hangs(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (programs / "php").write_bytes(b"\x7fELF nonsense")
    (programs / "php").chmod(0o755)
    assert "it does not run" in describe_php(programs / "php").problem
    monkeypatch.setattr(inventory, "ASK_S", 0.2)
    (programs / "php").write_text("#!/bin/sh\nexec sleep 5\n")
    assert "timed out" in describe_php(programs / "php").problem


@pytest.mark.parametrize(
    ("owner", "policy", "package"),
    [
        ("php8.5-fpm: /usr/sbin/php-fpm8.5", "php8.5-opcache:\n  Installed: (none)\n  Candidate: 8.5.1", "php8.5-opcache"),
        ("", "php8.5-opcache:\n  Installed: (none)\n  Candidate: 8.5.1", ""),
        ("php8.5-fpm: /usr/sbin/php-fpm8.5", "", ""),
        ("php8.5-fpm: /usr/sbin/php-fpm8.5", "php8.5-opcache:\n  Installed: (none)\n  Candidate: (none)", ""),
        ("php8.5-fpm: /usr/sbin/php-fpm8.5", "php8.5-opcache:\n  Installed: 8.5.1\n  Candidate: 8.5.1", ""),
    ],
    ids=["Debian's", "the user's own", "unknown to apt", "no candidate", "installed, but not loaded"],
)
def test_the_package_of_an_opcache_that_is_not_there(programs: Path, owner: str, policy: str, package: str) -> None:
    fake_program(programs, "dpkg-query", owner, code=0 if owner else 1)
    fake_program(programs, "apt-cache", policy)
    assert describe_php(fake_program(programs, "php", "PHP Version => 8.5.1")).opcache_package == package
    assert describe_php(fake_program(programs, "php", SAYS.format(version="8.5.1", jit="On"))).opcache_package == ""


def test_a_host_without_packages_knows_none(programs: Path) -> None:
    assert describe_php(fake_program(programs, "php", "PHP Version => 8.5.1")).opcache_package == ""


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("nginx", "sudo sh scripts/setup.sh --packages-only nginx (`--transport fastcgi`"),
        ("php-fpm8.2", "sudo sh scripts/setup.sh --packages-only php8.2-fpm"),
        ("strace", "sudo apt-get install --no-install-recommends strace"),
        ("gcov-tool", "sudo apt-get install --no-install-recommends gcc"),
        ("php-fpm8.4", "sudo sh scripts/setup.sh --packages-only php8.4-fpm"),
        ("php8.2", "sudo sh scripts/setup.sh --packages-only php8.2-cli"),
        ("mariadbd", "sudo sh scripts/setup.sh --packages-only mariadb-server-core (only wordpress and an app.toml with `database`"),
    ],
)
def test_a_missing_program_is_installed_without_starting_a_service(name: str, command: str) -> None:
    with pytest.raises(DynoError) as raised:
        find_program(name)
    assert command in raised.value.next_step


def test_tools_with_a_version_in_their_name(programs: Path) -> None:
    assert find_tool("llvm-bolt", "llvm-bolt-") == ""
    for name in ("llvm-bolt-9", "llvm-bolt-16"):
        fake_program(programs, name)
    assert find_tool("llvm-bolt", "llvm-bolt-") == str(programs / "llvm-bolt-16")
    fake_program(programs, "llvm-bolt")
    assert find_tool("llvm-bolt", "llvm-bolt-") == str(programs / "llvm-bolt")


def test_strace_is_asked_in_english(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    strace = programs / "strace"
    strace.write_text('#!/bin/sh\ntest "$LC_ALL" = C && echo Process attached >&2 || echo Prozess verbunden >&2\nexec sleep 5\n')
    strace.chmod(0o755)
    assert try_strace(str(strace), ServiceUser("us", "us", 0, 0, switch=False)).outcome == "attached"


def test_a_process_of_the_servers_account_is_looked_at_with_or_without_strace(monkeypatch: pytest.MonkeyPatch) -> None:
    us = ServiceUser("us", "us", 0, 0, switch=False)
    assert try_strace("", us) == TraceTrial("no strace")

    def forbidden(path: object, **_: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "readlink", forbidden)
    assert try_strace("", us) == TraceTrial("no strace", unreadable="Permission denied")
