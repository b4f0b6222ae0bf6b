"""Debian 12 and 13 from nothing, each in a chroot of its own: `make setup` and the first commands
of a newcomer, then the wheel, the package and the container's steps on systems without a compiler.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.optional import needs
from tests.support.places import ROOT
from tests.support.real.bare_debian import BareDebian, why_not
from tests.support.real.containerfile import copied, stages_of

pytestmark = [pytest.mark.integration, pytest.mark.alone, pytest.mark.long, needs(not why_not(), why_not() or "-")]

SUITES = {"bookworm": "8.2", "trixie": "8.4"}
"""By its name, the series of a release's PHP."""
SOURCE = "/src"
LEAK = "<?php echo '<p>', PHP_VERSION, '</p>'; echo file_exists('/etc/machine-secret') ? 'it sees the host' : 'it sees nothing';"


KEPT = os.environ.get("PHPDYNO_TEST_ROOTS", "")
"""A directory in which what takes minutes to make stays for the next run of these tests; without it
nothing stays."""


@pytest.fixture(scope="module", params=sorted(SUITES))
def bare(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareDebian]:
    """One release, untouched; copies of it are made and not this one."""
    place = Path(KEPT).absolute() / request.param if KEPT else tmp_path_factory.mktemp(request.param)
    place.mkdir(parents=True, exist_ok=True)
    debian = BareDebian(request.param, place / "bare")
    debian.make()
    yield debian
    if not KEPT:
        shutil.rmtree(debian.root)


def copy_of(bare: BareDebian, name: str) -> BareDebian:
    """The same system once more."""
    other = BareDebian(bare.suite, bare.root.with_name(name))
    shutil.rmtree(other.root, ignore_errors=True)
    subprocess.run(["cp", "-a", str(bare.root), str(other.root)], check=True)
    return other


@pytest.fixture(scope="module")
def built(bare: BareDebian) -> Iterator[BareDebian]:
    """The container's first stage carried out: a clean clone, set up, its package built."""
    made = BareDebian(bare.suite, bare.root.with_name("built"))
    if KEPT and (made.root / "said").exists():
        yield made
        return
    made = copy_of(bare, "built")
    cwd, said = "/", ""
    for word, text in stages_of(ROOT / "Containerfile")[0].steps:
        if word == "RUN":
            said = made.run(text, cwd=cwd, timeout_s=900, tmpfs=("/run",))
        elif word == "COPY":
            assert copied(text) == ("", (".",), SOURCE)
            clone = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(made.root / SOURCE.lstrip("/"))]
            subprocess.run(clone, check=True)
        else:
            assert word == "WORKDIR"
            cwd = text
    (made.root / "said").write_text(said)
    yield made
    if not KEPT:
        shutil.rmtree(made.root)


@pytest.fixture
def nothing_left(built: BareDebian) -> Iterator[None]:
    """No process and no mount of the system is there before or after the test."""
    before = Path("/proc/self/mountinfo").read_text()
    yield
    assert built.processes() == []
    assert built.mounts() == []
    assert Path("/proc/self/mountinfo").read_text() == before


def phpdyno(system: BareDebian, *words: str, timeout_s: float = 120.0) -> str:
    return system.run(f".venv/bin/phpdyno {' '.join(words)}", cwd=SOURCE, timeout_s=timeout_s)


def document(said: str) -> dict[str, Any]:
    """The JSON document in what was printed, progress before it left aside."""
    found: dict[str, Any] = json.loads(said[said.index("\n{") if not said.startswith("{") else 0 :])
    return found


@pytest.mark.usefixtures("nothing_left")
def test_a_clean_clone_is_set_up_and_measures(built: BareDebian) -> None:
    series = SUITES[built.suite]
    assert f"setup: PHP {series}, that of Debian GNU/Linux" in (built.root / "said").read_text()
    again = built.run("make setup", cwd=SOURCE)
    assert "installing" not in again
    assert f"setup: PHP {series}, the newest php-fpm that is installed" in again
    seen = document(phpdyno(built, "doctor", "--no-estimate", "--json"))
    assert seen["possible"]
    states = {check["name"]: check["state"] for check in seen["checks"]}
    for name in ("account", "bottle", "nginx", f"php-fpm {series}", f"php {series}", "MariaDB"):
        assert states[name] == "ok", seen
    assert "can be measured (" in phpdyno(built, "check", "hello")
    same = document(phpdyno(built, "compare", "hello", "--aa", "--budget", "20s", "--json"))
    assert same["outcome"] == "finished"
    assert [row["kind"] for row in same["rows"]] in (["equivalent"], ["inconclusive"])
    changed = document(phpdyno(built, "compare", "hello", "--treatment", "ini.opcache.enable=0", "--budget", "20s", "--json"))
    assert [row["kind"] for row in changed["rows"]] == ["regressed"]


@pytest.mark.usefixtures("nothing_left")
def test_an_app_of_ones_own_in_roots_home_is_shut_off_from_the_chroot(built: BareDebian) -> None:
    """In a chroot / is no mount, and root's home lets nobody else through."""
    docroot = built.root / "root/shop/public"
    docroot.mkdir(parents=True, exist_ok=True)
    (docroot / "index.php").write_text(LEAK)
    (built.root / "etc/machine-secret").write_text("x")
    said = phpdyno(built, "check", "--docroot", "/root/shop/public")
    assert "without a bottle" not in said
    assert "can be measured (" in said
    assert "36" in said or "it sees" not in said


@pytest.mark.usefixtures("nothing_left")
def test_a_php_that_is_not_there_is_named_with_those_that_are(built: BareDebian) -> None:
    series = SUITES[built.suite]
    assert "can be measured (" in phpdyno(built, "check", "hello", "--control", f"php=php-fpm{series}")
    answer = built.answer(".venv/bin/phpdyno check hello --control php=9.9", cwd=SOURCE)
    assert answer.returncode == 2
    assert f"php=9.9: there is no php-fpm9.9 here; installed are {series}" in answer.stdout


@pytest.mark.usefixtures("nothing_left")
def test_without_the_right_to_mount_an_app_of_ones_own_is_refused_in_one_line(built: BareDebian) -> None:
    """As in a container without CAP_SYS_ADMIN."""
    (built.root / "root/plain").mkdir(exist_ok=True)
    (built.root / "root/plain/index.php").write_text("<?php echo 1;")
    less = "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin .venv/bin/phpdyno"
    refused = built.answer(f"{less} check --docroot /root/plain", cwd=SOURCE)
    assert refused.returncode == 2
    (line,) = (line for line in refused.stdout.splitlines() if line.startswith("phpdyno: "))
    assert "--no-bottle" in line
    assert "can be measured (" in built.run(f"{less} check --no-bottle --docroot /root/plain", cwd=SOURCE)


def test_without_proc_one_line_says_so(built: BareDebian) -> None:
    answer = subprocess.run(
        ["chroot", str(built.root), f"{SOURCE}/.venv/bin/phpdyno", "check", "hello"], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout) == (1, "")
    words = "phpdyno: /proc is not mounted here, and all that is measured is read there; run: mount -t proc proc /proc\n"
    assert answer.stderr == words


@pytest.mark.usefixtures("nothing_left")
def test_the_container_s_second_stage_installs_the_package_and_measures(bare: BareDebian, built: BareDebian) -> None:
    """Its steps, one by one, on a system without a compiler; no image was made of them."""
    system = copy_of(bare, "installed")
    stage = stages_of(ROOT / "Containerfile")[1]
    entry: list[str] = []
    for word, text in stage.steps:
        if word == "COPY":
            source, what, to = copied(text)
            assert source == "build"
            place = system.root / to.lstrip("/")
            place.mkdir(parents=True)
            for path in built.root.glob(what[0].lstrip("/")):
                shutil.copy(path, place)
        elif word == "RUN":
            system.run(text, timeout_s=400, tmpfs=("/run",))
        elif word == "ENTRYPOINT":
            entry = json.loads(text)
    assert system.answer("command -v gcc cargo").stdout == ""
    assert document(system.run(f"{entry[0]} doctor --no-estimate --json"))["possible"]
    assert "can be measured (" in system.run(f"{entry[0]} check hello")
    assert "dist-packages" not in system.run(f"{entry[0]} --version; dpkg -L phpdyno")
    system.run("apt-get purge -y phpdyno", timeout_s=120)
    assert not (system.root / "usr/lib/phpdyno").exists()
    shutil.rmtree(system.root)


@pytest.mark.usefixtures("nothing_left")
def test_the_wheel_needs_no_compiler(bare: BareDebian, built: BareDebian) -> None:
    system = copy_of(bare, "wheel")
    (wheel,) = (built.root / SOURCE.lstrip("/") / "dist").glob("*.whl")
    shutil.copy(wheel, system.root / "root")
    packages = "python3-venv nginx php-fpm php-cli"
    system.run(f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {packages}", timeout_s=400, tmpfs=("/run",))
    assert system.answer("command -v gcc cargo").stdout == ""
    system.run(f"python3 -m venv /root/v && /root/v/bin/pip install -q --only-binary :all: /root/{wheel.name}", timeout_s=400)
    assert document(system.run("/root/v/bin/phpdyno doctor --no-estimate --json"))["possible"]
    assert "can be measured (" in system.run("/root/v/bin/phpdyno check hello")
    shutil.rmtree(system.root)


def test_lintian_finds_no_error_in_the_package(bare: BareDebian, built: BareDebian) -> None:
    system = copy_of(bare, "lintian")
    (package,) = (built.root / SOURCE.lstrip("/") / "dist").glob("*.deb")
    shutil.copy(package, system.root / "root")
    system.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends lintian", timeout_s=400, tmpfs=("/run",))
    said = system.answer(f"lintian /root/{package.name}", timeout_s=400).stdout.splitlines()
    assert said
    assert not [line for line in said if line.startswith("E:")]
    shutil.rmtree(system.root)
