"""Builds on a tiny PHP, from its source to a comparison: compiled to count, trained, compiled by its profile, laid out, climbed.

The source comes from the distribution's archive, and is compiled without any extension but opcache: minutes instead of tens of them.
"""

import signal
import time
from pathlib import Path

import msgspec
import pytest

from phpdyno.build.needs import TOOLS, is_installed
from tests.support.command import document, fault_of, phpdyno, start

BOLT = ("bolt-19", "libbolt-19-dev")
MISSING = [package for package in (*TOOLS, *BOLT) if not is_installed(package)]
pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"compiling PHP needs {', '.join(MISSING)}"),
]
TINY = ("--standalone", "--extension", "none", "--training", "3s")
MINUTES = 60.0
BROKEN = "march=no-such-machine"


def test_a_ladder_is_built_and_climbed_and_a_recipe_that_fails_is_a_step_that_says_why(tmp_path: Path) -> None:
    recipes = [word for recipe in (BROKEN, "pgo", "pgo+bolt") for word in ("--recipe", recipe)]
    answer = phpdyno("ladder", "hello", *TINY, *recipes, "--budget", "90s", "--runs", tmp_path, "--json", timeout_s=20 * MINUTES)
    assert answer.returncode == 0, answer.stderr
    steps = {each["step"]["name"]: each for each in document(answer)["steps"]}
    assert list(steps) == [BROKEN, "pgo", "pgo+bolt", "huge text pages", "JIT", "JIT and huge text pages"]
    assert steps[BROKEN]["kind"] == "invalid"
    assert "no-such-machine" in steps[BROKEN]["reason"]
    for name in ("pgo", "pgo+bolt", "JIT"):
        assert steps[name]["kind"] in {"improved", "regressed", "equivalent", "inconclusive"}, steps[name]
    builds = {each["name"].rpartition("-")[0]: each for each in document(answer)["builds"]}
    assert set(builds) == {"pgo", "pgo+bolt"}
    assert builds["pgo+bolt"]["skipped"] == {}
    assert builds["pgo"]["vm_kind"] == "HYBRID"
    assert "hello, " in builds["pgo"]["trained_on"]
    counted = {each["name"]: each for each in builds["pgo+bolt"]["counted"]}
    assert counted["taken branches"]["after"] < counted["taken branches"]["before"]
    (ladder,) = [each for each in tmp_path.iterdir() if "ladder" in each.name]
    assert {"report.html", "comparison.html", "ladder.json"} <= {each.name for each in ladder.iterdir()}


def test_a_finished_build_is_found_again_and_what_it_is_made_of_is_shown(tmp_path: Path) -> None:
    argv = ("build", "--train", "hello", *TINY, "--recipe", "pgo", "--runs", tmp_path, "--json")
    assert phpdyno(*argv, timeout_s=15 * MINUTES).returncode == 0
    began = time.monotonic()
    answer = phpdyno(*argv)
    assert answer.returncode == 0, answer.stderr
    assert time.monotonic() - began < MINUTES
    (found,) = msgspec.json.decode(answer.stdout)
    assert all(check["ok"] for check in found["build"]["checks"])
    assert (Path(found["directory"]) / "php-fpm").is_file()
    # One that is older than what is installed, as sources of the archive can be, is never packaged.
    packed = phpdyno(*argv, "--package", tmp_path / "packages")
    if found["build"]["measuring_only"]:
        assert packed.returncode == 1
        assert "for measuring only" in fault_of(packed.stderr)
    else:
        (package,) = (tmp_path / "packages").glob("*.deb")
        assert msgspec.json.decode(packed.stdout)[0]["package"] == str(package)


def test_an_app_that_a_build_answers_otherwise_trains_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.php").write_text("<?php echo '<p>', mb_strlen('what the control can'), '</p>', str_repeat('<p>same</p>', 50);\n")
    (site / "app.toml").write_text('name = "wants-mbstring"\nroot = "."\n\n[[targets]]\npath = "/"\n')
    answer = phpdyno("build", "--train", site / "app.toml", *TINY, "--recipe", "pgo", "--runs", tmp_path / "runs", timeout_s=15 * MINUTES)
    assert answer.returncode == 1
    assert "what is to be trained answers differently" in fault_of(answer.stderr)


def test_a_build_that_is_interrupted_leaves_nothing_running_and_goes_on(tmp_path: Path) -> None:
    argv = ("build", "--train", "hello", *TINY, "--recipe", "o3", "--runs", tmp_path)
    building = start(*argv)
    deadline = time.monotonic() + MINUTES
    log = tmp_path / "build-logs" / "build-make.log"
    while not (log.is_file() and log.stat().st_size) and time.monotonic() < deadline and building.poll() is None:
        time.sleep(0.1)
    building.send_signal(signal.SIGINT)
    _, errors = building.communicate(timeout=MINUTES)
    assert building.returncode == 130, errors
    assert not compilers(), "a compiler is left"
    again = phpdyno(*argv, timeout_s=15 * MINUTES)
    assert again.returncode == 0, again.stderr


def compilers() -> list[str]:
    """Command lines of compilers that are at work in a tree of ours."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "cc1" in line and "phpdyno" in line:
            found.append(line)
    return found
