"""`scripts/setup.sh` up to its packages, run for real among fake system programs: no package is
ever installed here."""

import os
import pty
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.integration

PHP_SAID = "setup: PHP 8.2, the newest php-fpm that is installed"
OLD_RUST, NEW_RUST = "1.63.0", "1.99.0"
OURS = "#!/bin/sh\n# made by phpdyno, for one installation\nexit 101\n"
THEIRS = "#!/bin/sh\n# the administrator's\nexit 0\n"

# Every fake answers from files of its world (`held`, `absent`, `rust`, `candidate`, ...); apt-get
# and sudo write down what they were asked.
FAKES = {
    "id": 'cat "$FAKE_WORLD/uid"',
    "sudo": """
        [ -e "$FAKE_WORLD/sudo" ] || exit 1
        echo "$*" >>"$FAKE_WORLD/sudo"
        [ "$1" != -n ] || exit 1
        echo 0 >"$FAKE_WORLD/uid"
        exec "$@\"""",
    "dpkg-query": """
        for name; do :; done
        if [ "$name" = 'php[0-9]*-fpm' ]; then
            grep -vxF -f "$FAKE_WORLD/absent" "$FAKE_WORLD/fpms" | sed 's/^/ii  /'
            exit
        fi
        grep -qx "$name" "$FAKE_WORLD/absent" && exit 1
        if grep -qx "$name" "$FAKE_WORLD/held"; then echo 'hi '; else echo 'ii '; fi""",
    "uname": 'if [ "$1" = -r ]; then cat "$FAKE_WORLD/kernel"; else cat "$FAKE_WORLD/system"; fi',
    "ldd": 'cat "$FAKE_WORLD/ldd"',
    "apt-cache": """
        [ "$1" = depends ] && exec cat "$FAKE_WORLD/depends"
        [ -e "$FAKE_WORLD/candidate" ] && echo "  Candidate: 6.1" || echo "  Candidate: (none)\"""",
    "apt-get": """
        echo "$*" >>"$FAKE_WORLD/apt"
        cp -P "$PHPDYNO_POLICY_RC_D" "$FAKE_WORLD/policy-during" 2>/dev/null
        [ -e "$FAKE_WORLD/killer" ] && [ "$1" = install ] && kill -9 "$PPID"
        [ "$1" = --simulate ] && { cat "$FAKE_WORLD/simulated" 2>/dev/null; exit; }
        echo chatter
        [ "$1" = update ] && [ -e "$FAKE_WORLD/mirror" ] && touch "$FAKE_WORLD/candidate"
        [ "$1" = install ] && [ -e "$FAKE_WORLD/mirror" ] && echo "$FAKE_NEW_RUST" >"$FAKE_WORLD/rust"
        [ ! -e "$FAKE_WORLD/broken" ]""",
    "cargo": 'echo "cargo $(cat "$FAKE_WORLD/rust") (fake)"',
    "rustc": 'echo "rustc $(cat "$FAKE_WORLD/rust") (fake)"',
    **dict.fromkeys(("nginx", "mariadbd", "mariadb-install-db", "mariadb", "cc", "python3"), "exit 0"),
}


@dataclass(frozen=True)
class FakeMachine:
    """A copy of the script in a project of its own, and the fake programs that it finds first in
    PATH."""

    root: Path

    @property
    def policy(self) -> Path:
        return self.root / "sbin" / "policy-rc.d"

    @property
    def saved(self) -> Path:
        return self.policy.with_name("policy-rc.d.before-phpdyno")

    def put(self, name: str, text: str = "") -> None:
        (self.root / name).write_text(text)

    def asked(self, name: str = "apt") -> list[str]:
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    def setup(self, *options: str, terminal: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": f"{self.root / 'fakes'}:/usr/bin:/bin",
            "FAKE_WORLD": str(self.root),
            "FAKE_NEW_RUST": NEW_RUST,
            "PHPDYNO_POLICY_RC_D": str(self.policy),
            "PHPDYNO_OS_RELEASE": str(self.root / "os-release"),
            **{name: value for name, value in variables.items() if value},
        }
        argv = ["sh", str(self.root / "scripts" / "setup.sh"), *(options or ("--packages-only",))]
        ours, its = pty.openpty() if terminal else (None, subprocess.DEVNULL)
        try:
            return subprocess.run(argv, env=env, stdin=its, capture_output=True, text=True, timeout=60, check=False)
        finally:
            if ours is not None:
                os.close(ours)
                os.close(its)


def release(distribution: str, version: str) -> str:
    return f'PRETTY_NAME="{distribution.title()} {version}"\nID={distribution}\nVERSION_ID="{version}"\n'


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    """Root's machine, with nothing missing."""
    for name in ("fakes", "scripts", "sbin"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    shutil.copy(ROOT / "Cargo.toml", tmp_path)
    for name, body in FAKES.items():
        path = tmp_path / "fakes" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    machine = FakeMachine(tmp_path)
    worldly = {"kernel": "6.12.0\n", "system": "Linux\n", "ldd": "ldd (Debian GLIBC 2.36)\n", "depends": "", "fpms": "php8.2-fpm\n"}
    machine.put("os-release", release("debian", "12"))
    absent = "cargo\nrustc\nrustup\ncargo-mozilla\nrustc-mozilla\n"
    for name, text in {**worldly, "uid": "0\n", "held": "", "absent": absent, "candidate": ""}.items():
        machine.put(name, text)
    machine.put("rust", f"{NEW_RUST}\n")
    return machine


def lack(machine: FakeMachine, *packages: str) -> None:
    with (machine.root / "absent").open("a") as absent:
        absent.writelines(f"{package}\n" for package in packages)


def test_nothing_missing_asks_apt_for_nothing(machine: FakeMachine) -> None:
    answer = machine.setup()
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [PHP_SAID, "setup: the packages are there"]
    assert machine.asked() == []


def test_a_held_package_is_there(machine: FakeMachine) -> None:
    machine.put("held", "php8.2-fpm\n")
    assert machine.setup().returncode == 0
    assert machine.asked() == []


def test_a_missing_package_is_installed_behind_a_policy(machine: FakeMachine) -> None:
    lack(machine, "php8.2-mbstring")
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    assert "chatter" not in answer.stdout + answer.stderr
    update, simulated, install = machine.asked()
    assert update.startswith("update")
    assert simulated.startswith("--simulate install ")
    assert simulated.endswith(" php8.2-mbstring")
    assert install.startswith("install")
    assert "--no-remove" in install.split()
    assert install.endswith(" php8.2-mbstring")
    assert (machine.root / "policy-during").read_text() == OURS
    assert list(machine.policy.parent.iterdir()) == []


OPTIONAL = ("php8.2-apcu", "php8.2-curl", "php8.2-gd", "php8.2-intl", "php8.2-sqlite3")


def test_a_php_that_is_there_gets_no_optional_modules(machine: FakeMachine) -> None:
    """Debian enables a module for every PHP on the machine, the live site's included."""
    lack(machine, "php8.2-gd", "php8.2-apcu")
    answer = machine.setup()
    assert (answer.returncode, answer.stderr) == (0, "")
    assert machine.asked() == []
    said, hint, last = answer.stdout.splitlines()
    assert said == PHP_SAID
    assert hint.startswith("setup: hint: not added to the PHP that is here")
    assert hint.endswith("  sudo sh scripts/setup.sh --packages-only php8.2-gd php8.2-apcu")
    assert last == "setup: the packages are there"
    assert machine.setup("--packages-only", "php8.2-gd").returncode == 0
    assert machine.asked()[-1].endswith(" php8.2-gd")


def test_a_machine_without_php_gets_all_modules(machine: FakeMachine) -> None:
    needed = ("php8.2-cli", "php8.2-fpm", "php8.2-mbstring", "php8.2-mysql", "php8.2-opcache", "php8.2-xml")
    lack(machine, *OPTIONAL, *needed)
    machine.put("simulated", "Inst libc6 [2.36-9] (2.36-10 Debian:12)\nInst php8.2-gd (8.2.1 Debian:12)\n")
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    assert "hint" not in answer.stdout
    assert machine.asked()[-1].endswith(" " + " ".join(sorted((*OPTIONAL, *needed))))


@pytest.mark.parametrize("upgraded", ["php8.2-fpm", "libc6", "php8.2-fpm php8.2-common"])
def test_nothing_is_upgraded_where_php_serves(machine: FakeMachine, upgraded: str) -> None:
    lack(machine, "php8.2-mbstring")
    lines = [f"Inst {name} [8.2.1-1] (8.2.2-1 Debian:12 [amd64])" for name in upgraded.split()]
    machine.put("simulated", "\n".join((*lines, "Inst php8.2-mbstring (8.2.2-1 Debian:12 [amd64])", "Conf php8.2-fpm (8.2.2-1)")) + "\n")
    answer = machine.setup()
    assert answer.returncode == 1
    names = " ".join(sorted(upgraded.split()))
    assert f"apt-get install --only-upgrade {names}\n" in answer.stderr
    assert not any(line.startswith("install") for line in machine.asked())
    assert list(machine.policy.parent.iterdir()) == []


@pytest.mark.parametrize("server", ["php-common", "php8.1-fpm", "nginx", "mariadb-common", "libapache2-mod-php8.1"])
def test_no_other_server_is_upgraded_either(machine: FakeMachine, server: str) -> None:
    lack(machine, "php8.2-fpm")
    machine.put("simulated", f"Inst {server} [1] (2 Debian:12)\nInst php8.2-fpm (8.2.2-1 Debian:12)\n")
    answer = machine.setup()
    assert answer.returncode == 1
    assert f"--only-upgrade {server}\n" in answer.stderr
    assert not any(line.startswith("install") for line in machine.asked())


def test_an_apache_that_is_there_does_not_get_mod_php(machine: FakeMachine) -> None:
    """Debian would enable it there, and change how that Apache's processes are managed."""
    answer = machine.setup("--packages-only", "apache2-bin", "libapache2-mod-php8.2")
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert "there is an Apache here" in line
    assert machine.asked() == []
    lack(machine, "apache2", "libapache2-mod-php8.2")
    assert machine.setup("--packages-only", "apache2-bin", "libapache2-mod-php8.2").returncode == 0
    assert machine.asked()[-1].endswith(" apache2-bin libapache2-mod-php8.2")
    assert (machine.root / "policy-during").read_text() == OURS


def test_an_old_rust_may_be_upgraded_where_php_serves(machine: FakeMachine) -> None:
    machine.put("rust", f"{OLD_RUST}\n")
    machine.put("mirror")
    machine.put("simulated", "Inst rustc-web [1.63] (1.78 Debian:12)\nInst libstd-rust-web-dev [1.63] (1.78 Debian:12)\n")
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr


def test_what_apt_says_is_shown_when_it_fails(machine: FakeMachine) -> None:
    lack(machine, "php8.2-mbstring")
    machine.put("broken")
    answer = machine.setup()
    assert answer.returncode == 1
    assert "chatter" in answer.stderr
    assert answer.stderr.endswith("setup: apt-get could not install: php8.2-mbstring\n")
    assert list(machine.policy.parent.iterdir()) == []


def test_an_old_rust_is_replaced(machine: FakeMachine) -> None:
    machine.put("rust", f"{OLD_RUST}\n")
    machine.put("mirror")
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    assert machine.asked()[-1].endswith(" cargo-web rustc-web")


def test_a_rust_that_stays_old_is_one_line(machine: FakeMachine) -> None:
    machine.put("rust", f"{OLD_RUST}\n")
    answer = machine.setup()
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert OLD_RUST in line
    assert "bookworm-security" in line


def test_debians_own_old_cargo_is_not_removed(machine: FakeMachine) -> None:
    machine.put("rust", f"{OLD_RUST}\n")
    machine.put("absent", "rustc\nrustup\ncargo-mozilla\nrustc-mozilla\n")
    answer = machine.setup()
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert "cargo-web" in line
    assert "conflicts" in line
    assert line.endswith(": cargo")
    assert machine.asked() == []


@pytest.mark.parametrize("sudo", [False, True])
def test_an_ordinary_user_without_a_terminal_gets_one_line(machine: FakeMachine, sudo: bool) -> None:
    lack(machine, "php8.2-xml", "php8.2-mbstring")
    machine.put("uid", "1000\n")
    if sudo:  # one that wants a password
        machine.put("sudo")
    answer = machine.setup()
    assert (answer.returncode, answer.stdout) == (1, f"{PHP_SAID}\n")
    (line,) = answer.stderr.splitlines()
    assert line.endswith("  sudo sh scripts/setup.sh --packages-only php8.2-mbstring php8.2-xml")
    assert machine.asked() == []


def test_at_a_terminal_sudo_may_ask(machine: FakeMachine) -> None:
    lack(machine, "php8.2-mbstring")
    machine.put("uid", "1000\n")
    machine.put("sudo")
    answer = machine.setup(terminal=True)
    assert answer.returncode == 0, answer.stderr
    assert machine.asked("sudo") == ["-n true", "sh scripts/setup.sh --packages-only php8.2-mbstring"]
    assert machine.asked()[-1].endswith(" php8.2-mbstring")


def test_named_packages_are_for_root(machine: FakeMachine) -> None:
    machine.put("uid", "1000\n")
    answer = machine.setup("--packages-only", "nginx")
    assert answer.returncode == 1
    assert "only root" in answer.stderr
    assert machine.asked() == []


def test_an_unknown_option_does_nothing(machine: FakeMachine) -> None:
    answer = machine.setup("--package")
    assert answer.returncode == 1
    assert "unknown option --package" in answer.stderr


def test_a_leftover_policy_goes_though_nothing_is_missing(machine: FakeMachine) -> None:
    machine.policy.write_text(OURS)
    assert machine.setup().returncode == 0
    assert list(machine.policy.parent.iterdir()) == []


@pytest.mark.parametrize("marker", [False, True], ids=["killed between the renames", "killed while installing"])
def test_the_administrators_policy_comes_back(machine: FakeMachine, marker: bool) -> None:
    machine.saved.write_text(THEIRS)
    if marker:
        machine.policy.write_text(OURS)
    assert machine.setup().returncode == 0
    assert machine.policy.read_text() == THEIRS
    assert not machine.saved.exists()


@pytest.mark.parametrize("target", ["theirs", "nowhere"])
def test_a_symlink_stays_a_symlink_even_through_a_sigkill(machine: FakeMachine, target: str) -> None:
    (machine.policy.parent / "theirs").write_text(THEIRS)
    machine.policy.symlink_to(target)
    lack(machine, "php8.2-mbstring")
    machine.put("killer")
    assert machine.setup().returncode == 1
    assert machine.policy.read_text() == OURS
    (machine.root / "killer").unlink()
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    assert machine.policy.readlink() == Path(target)
    assert (machine.policy.parent / "theirs").read_text() == THEIRS
    assert not os.path.lexists(machine.saved)


def test_an_ordinary_user_is_told_of_a_leftover_policy(machine: FakeMachine) -> None:
    machine.policy.write_text(OURS)
    machine.put("uid", "1000\n")
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    assert "hint: an interrupted setup left" in answer.stdout
    assert machine.policy.read_text() == OURS


@pytest.mark.parametrize("mirror", [False, True])
def test_root_updates_lists_without_wordpress_once(machine: FakeMachine, mirror: bool) -> None:
    (machine.root / "candidate").unlink()
    if mirror:
        machine.put("mirror")
    answer = machine.setup()
    assert (answer.returncode, answer.stderr) == (0, "")
    assert machine.asked() == ["update -qq"]
    assert ("hint: apt knows no package wordpress" in answer.stdout) is not mirror


def test_an_ordinary_user_gets_a_hint_about_the_lists(machine: FakeMachine) -> None:
    (machine.root / "candidate").unlink()
    machine.put("uid", "1000\n")
    answer = machine.setup()
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "hint: apt knows no package wordpress" in answer.stdout
    assert machine.asked() == []
