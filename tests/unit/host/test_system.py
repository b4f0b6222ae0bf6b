"""Which system it is, by its files, and where measuring is refused from the start."""

from pathlib import Path

import pytest

from phpdyno.errors import DynoError
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.system import Distribution, php_package, postgresql_package, read_distribution, require_linux, usual_php


def tree(root: Path, files: dict[str, str]) -> SmallFiles:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return SmallFiles(root)


LINUX = {"/proc/self/stat": "1 (python3) R", "/proc/sys/kernel/osrelease": "6.12.48+deb13-arm64\n"}
TRIXIE = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\n\n# a remark\n'


def test_a_distribution_is_what_os_release_says(tmp_path: Path) -> None:
    assert read_distribution(tree(tmp_path, {"/etc/os-release": TRIXIE})) == Distribution("debian", "13", "Debian GNU/Linux 13 (trixie)")
    assert read_distribution(tree(tmp_path / "none", {})) == Distribution()
    (tmp_path / "etc/os-release").unlink()
    moved = tree(tmp_path, {"/usr/lib/os-release": "ID='alpine'\nVERSION_ID=3.20.1\n"})
    assert read_distribution(moved) == Distribution("alpine", "3.20.1")


@pytest.mark.parametrize(
    ("named", "php", "postgresql"),
    [
        (Distribution("debian", "12"), "php8.2-fpm", "postgresql-15"),
        (Distribution("debian", "13"), "php8.4-fpm", "postgresql-17"),
        (Distribution("ubuntu", "24.04"), "php8.3-fpm", "postgresql-16"),
        (Distribution("debian", "14"), "php-fpm", "postgresql"),
        (Distribution(), "php-fpm", "postgresql"),
    ],
)
def test_packages_are_called_as_the_distribution_does(named: Distribution, php: str, postgresql: str) -> None:
    assert (php_package("fpm", distribution=named), postgresql_package(named)) == (php, postgresql)
    assert php_package("cli", "8.3", named) == "php8.3-cli"
    assert php.startswith(f"php{usual_php(named)}-")


def test_linux_may_go_on(tmp_path: Path) -> None:
    require_linux(tree(tmp_path, LINUX), system="linux", longest=(1 << 63) - 1)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("5.15.146.1-microsoft-standard-WSL2")
    require_linux(SmallFiles(tmp_path), system="linux", longest=(1 << 63) - 1)


@pytest.mark.parametrize(
    ("system", "longest", "change", "words"),
    [
        ("darwin", (1 << 63) - 1, {}, "and this is macOS; run it in a virtual machine with one of Debian 12 and 13"),
        ("freebsd14", (1 << 63) - 1, {}, "this is freebsd14"),
        ("linux", (1 << 31) - 1, {}, "32-bit Python"),
        ("linux", (1 << 63) - 1, {"/proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft"}, "WSL 1 has no Linux kernel"),
        ("linux", (1 << 63) - 1, {"/proc/self/stat": ""}, "/proc is not mounted here"),
    ],
)
def test_where_nothing_can_be_measured_one_line_says_so(
    tmp_path: Path, system: str, longest: int, change: dict[str, str], words: str
) -> None:
    files = tree(tmp_path, {name: text for name, text in (LINUX | change).items() if text})
    with pytest.raises(DynoError) as caught:
        require_linux(files, system=system, longest=longest)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
