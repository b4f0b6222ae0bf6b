"""scripts/fuzz.sh says what is missing, and installs nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT

SCRIPT = ROOT / "scripts" / "fuzz.sh"


def run(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments], env={"PATH": str(path)}, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with next to nothing in it."""
    (tmp_path / "dirname").symlink_to(shutil.which("dirname") or "/usr/bin/dirname")
    return tmp_path


@pytest.mark.parametrize("seconds", ["0", "-1", "1h", "abc"])
def test_seconds_are_a_number(seconds: str, programs: Path) -> None:
    done = run(seconds, path=programs)
    assert done.returncode == 2
    assert f"SECONDS must be a number above 0, not '{seconds}'" in done.stderr


def test_without_rust(programs: Path) -> None:
    done = run("1", path=programs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fuzz.sh: cargo is missing; next: install Rust\n"


def test_without_a_nightly_compiler(programs: Path) -> None:
    cargo = programs / "cargo"
    cargo.write_text('#!/bin/sh\ncase $1 in +nightly) echo "error: toolchain is not installed" >&2; exit 1 ;; esac\n')
    cargo.chmod(0o755)
    done = run("1", path=programs)
    assert done.returncode == 2
    assert done.stderr == "fuzz.sh: a nightly compiler is missing; next: rustup toolchain install nightly\n"
