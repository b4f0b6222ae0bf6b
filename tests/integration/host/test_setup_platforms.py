"""`scripts/setup.sh` on other systems: which PHP it takes, and the one line where it cannot go
on."""

import pytest

from tests.integration.host.test_setup import FakeMachine, lack, machine, release

__all__ = ["machine"]
pytestmark = pytest.mark.integration

PARTS = ("apcu", "cli", "curl", "fpm", "gd", "intl", "mbstring", "mysql", "opcache", "sqlite3", "xml")


def without_php(machine: FakeMachine, series: str, *parts: str) -> None:
    machine.put("fpms")
    lack(machine, *(f"php{series}-{part}" for part in parts))


def said_of_php(machine: FakeMachine, named: str = "") -> tuple[str, str]:
    """The line that says which PHP it is, and what apt-get was asked for at the end."""
    answer = machine.setup(PHPDYNO_PHP=named)
    assert answer.returncode == 0, answer.stderr
    (line,) = (line for line in answer.stdout.splitlines() if line.startswith("setup: PHP "))
    return line, machine.asked()[-1]


@pytest.mark.parametrize(("version", "series"), [("12", "8.2"), ("13", "8.4")])
def test_a_fresh_debian_gets_its_own_php(machine: FakeMachine, version: str, series: str) -> None:
    machine.put("os-release", release("debian", version))
    without_php(machine, series, *PARTS)
    line, asked = said_of_php(machine)
    assert line == f"setup: PHP {series}, that of Debian {version}"
    assert asked.endswith(" " + " ".join(f"php{series}-{part}" for part in PARTS))


def test_the_newest_of_several_that_are_installed_is_taken(machine: FakeMachine) -> None:
    """Packages of third parties have Debian's names, and stand beside Debian's own."""
    machine.put("os-release", release("debian", "13"))
    machine.put("fpms", "php8.4-fpm\nphp8.10-fpm\nphp8.3-fpm\n")
    lack(machine, "php8.10-mbstring")
    line, asked = said_of_php(machine)
    assert line == "setup: PHP 8.10, the newest php-fpm that is installed"
    assert asked.endswith(" php8.10-mbstring")


def test_another_php_can_be_named(machine: FakeMachine) -> None:
    machine.put("fpms", "php8.4-fpm\nphp8.3-fpm\n")
    lack(machine, "php8.3-xml")
    line, asked = said_of_php(machine, "8.3")
    assert line == "setup: PHP 8.3, named by PHPDYNO_PHP"
    assert asked.endswith(" php8.3-xml")


@pytest.mark.parametrize("wrong", ["php8.3", "8", "newest"])
def test_what_is_no_version_of_php_is_one_line(machine: FakeMachine, wrong: str) -> None:
    answer = machine.setup(PHPDYNO_PHP=wrong)
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert f"PHPDYNO_PHP={wrong} is no version" in line
    assert machine.asked() == []


def test_a_php_that_has_opcache_inside_needs_no_package_of_it(machine: FakeMachine) -> None:
    machine.put("fpms", "php8.5-fpm\n")
    lack(machine, "php8.5-opcache", "php8.5-xml")
    assert said_of_php(machine)[1].endswith(" php8.5-xml")


def test_a_system_that_is_not_known_takes_what_its_apt_calls_php_fpm(machine: FakeMachine) -> None:
    machine.put("os-release", release("devuan", "6"))
    machine.put("depends", "php-fpm\n  Depends: php8.4-fpm\n")
    without_php(machine, "8.4", "fpm")
    line, asked = said_of_php(machine)
    assert line == "setup: PHP 8.4, that of Devuan 6"
    assert asked.endswith(" php8.4-fpm")


def test_an_apt_without_php_is_one_line(machine: FakeMachine) -> None:
    machine.put("os-release", release("devuan", "6"))
    machine.put("fpms")
    answer = machine.setup()
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert "apt knows no package php-fpm" in line
    assert "PHPDYNO_PHP=8.4 make setup" in line


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("system", "Darwin\n", "this is Darwin; run it in a virtual machine with Debian 12 or 13"),
        ("kernel", "4.4.0-19041-Microsoft\n", "WSL 1 has no Linux kernel"),
        ("ldd", "musl libc (x86_64)\n", "has the C library musl"),
        ("os-release", release("alpine", "3.20"), "Alpine 3.20 has the C library musl"),
    ],
)
def test_where_it_cannot_work_nothing_is_installed(machine: FakeMachine, name: str, text: str, words: str) -> None:
    lack(machine, "php8.2-xml")
    machine.put(name, text)
    answer = machine.setup()
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert line.startswith("setup: ")
    assert words in line
    assert machine.asked() == []


def test_an_old_python_is_one_line_before_anything_is_installed(machine: FakeMachine) -> None:
    machine.put("os-release", release("ubuntu", "22.04"))
    lack(machine, "php8.1-xml")
    python = machine.root / "fakes" / "python3"
    python.write_text('#!/bin/sh\nif [ "$1" = -V ]; then echo "Python 3.10.12"; exit 0; fi\nexit 1\n')
    answer = machine.setup()
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert line.startswith("setup: Ubuntu 22.04 has Python 3.10.12, and phpdyno needs 3.11 or newer")
    assert machine.asked() == []


def test_without_apt_one_line_says_what_to_do(machine: FakeMachine) -> None:
    machine.put("os-release", release("rocky", "9.4"))
    places = ":".join(str(place) for place in (machine.root / "fakes", machine.root / "few"))
    (machine.root / "few").mkdir()
    for tool in ("sh", "sed", "head", "grep", "dirname", "cat"):
        (machine.root / "few" / tool).symlink_to(f"/usr/bin/{tool}")
    for tool in ("apt-get", "dpkg-query", "apt-cache"):
        (machine.root / "fakes" / tool).unlink()
    answer = machine.setup(PATH=places)
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert line.startswith("setup: Rocky 9.4 has no apt-get")
    assert "docs/how-to/install.md" in line


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("os-release", release("ubuntu", "24.04"), "hint: Ubuntu 24.04 was not tried; Debian 12 and 13 were"),
        ("kernel", "5.15.146.1-microsoft-standard-WSL2\n", "hint: WSL 2 was not tried"),
    ],
)
def test_what_was_not_tried_is_said_and_goes_on(machine: FakeMachine, name: str, text: str, words: str) -> None:
    machine.put(name, text)
    answer = machine.setup()
    assert (answer.returncode, answer.stderr) == (0, "")
    assert any(line.startswith(f"setup: {words}") for line in answer.stdout.splitlines())


def test_an_old_rust_on_debian_13_names_where_a_newer_one_is(machine: FakeMachine) -> None:
    machine.put("os-release", release("debian", "13"))
    machine.put("rust", "1.85.0\n")
    answer = machine.setup()
    assert answer.returncode == 1
    assert "trixie-security has a newer cargo-web" in answer.stderr
