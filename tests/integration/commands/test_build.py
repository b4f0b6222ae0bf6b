"""Builds on a tiny PHP, from its source to a comparison: compiled to count, trained, compiled by
its profile, laid out, climbed.

The source comes from the distribution's archive, and is compiled without any extension but opcache:
minutes instead of tens of them. One is whole: a drop-in.
"""

import itertools
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from phpdyno.errors import DynoError
from phpdyno.paths import cache_path
from phpdyno.php_build.compile.flags import USE
from phpdyno.php_build.source.needs import TOOLS, missing_of
from phpdyno.php_build.train.profiles import refuse_unread
from tests.support.optional import absent, needs
from tests.support.real.command import await_journal, document, fault_of, phpdyno, start
from tests.support.real.extension import extension_source

BOLT = ("bolt-19", "libbolt-19-dev")
MISSING = missing_of((*TOOLS, *BOLT))
pytestmark = [
    pytest.mark.long,
    pytest.mark.integration,
    pytest.mark.slow,
    needs(not MISSING, f"compiling PHP needs {', '.join(MISSING)}"),
]
MINUTE_S = 60.0
RECIPE = "pgo+bolt"
BROKEN = "march=no-such-machine"
Tiny = tuple[str | Path, ...]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """A PHP without extensions but for one that is given by its source."""
    added = extension_source(tmp_path_factory.mktemp("added") / "answers")
    return ("--standalone", "--extension", "none", "--with-extension", f"answers={added}", "--training", "3s")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tiny: Tiny) -> dict[str, Any]:
    """The build by the recipe, as the command tells of it: out of the cache where a test before or
    an earlier run has made it."""
    return built(tmp_path_factory.mktemp("finished"), tiny)


def built(runs: Path, tiny: Tiny, *, recipe: str = RECIPE) -> dict[str, Any]:
    answer = phpdyno("build", "--train", "hello", *tiny, "--recipe", recipe, "--runs", runs, "--json", timeout_s=25 * MINUTE_S)
    assert answer.returncode == 0, answer.stderr
    (found,) = msgspec.json.decode(answer.stdout)
    told: dict[str, Any] = found
    return told


def test_a_build_that_is_interrupted_leaves_nothing_at_work(tmp_path: Path, tiny: Tiny) -> None:
    building = start("build", "--train", "hello", *tiny, "--recipe", RECIPE, "--runs", tmp_path)
    log = tmp_path / "build-logs" / "build-make.log"
    deadline = time.monotonic() + 5 * MINUTE_S
    while not (log.is_file() and log.stat().st_size) and time.monotonic() < deadline and building.poll() is None:
        time.sleep(0.1)
    compiling = building.poll() is None
    if compiling:
        building.send_signal(signal.SIGINT)
    _, errors = building.communicate(timeout=MINUTE_S)
    assert building.returncode == (130 if compiling else 0), errors
    assert not compilers(), "a compiler is left"
    if not compiling:
        pytest.skip(f"already built in {cache_path()}: nothing is compiled that could be interrupted; PHPDYNO_CACHE names another place")


@pytest.mark.usefixtures("unreserved")
def test_a_ladder_is_built_and_climbed_and_a_recipe_that_fails_is_a_step_that_says_why(tmp_path: Path, tiny: Tiny) -> None:
    """It goes on with what the test before left behind."""
    recipes = ("--recipe", BROKEN, "--recipe", RECIPE)
    runs = tmp_path / "runs"
    ladder, said = interrupted_and_gone_on_with("ladder", runs, "hello", *tiny, *recipes, "--budget", "90s")
    steps = {each["step"]["name"]: each for each in said["steps"]}
    assert list(steps) == [BROKEN, RECIPE, "huge text pages", "JIT", "JIT and huge pages"]
    assert steps[BROKEN]["kind"] == "invalid"
    assert "no-such-machine" in steps[BROKEN]["reason"]
    # (The JIT finds nothing to compile on this page, which is a step without a number.)
    for name in (RECIPE, "huge text pages"):
        assert steps[name]["kind"] in {"improved", "regressed", "equivalent", "inconclusive"}, steps[name]
    (build,) = said["builds"]
    assert (build["skipped"], build["vm_kind"]) == ({}, "HYBRID")
    assert build["trained_on"].startswith("hello, ")
    assert [each["binary"] for each in build["laid_out"]] == ["php-fpm", "opcache.so"]
    for binary in build["laid_out"]:
        counted = {each["name"]: each for each in binary["counted"]}
        assert counted["taken branches"]["after"] < counted["taken branches"]["before"]
    assert {"report.html", "comparison.html", "ladder.json", "knobs"} <= {each.name for each in ladder.iterdir()}


def test_a_finished_build_is_found_again_and_one_for_measuring_only_is_never_packaged(
    tmp_path: Path, tiny: Tiny, finished: dict[str, Any]
) -> None:
    began = time.monotonic()
    found = built(tmp_path, tiny)
    # Compiling it takes minutes.
    assert time.monotonic() - began < MINUTE_S
    assert found == finished
    assert found["build"]["checks"]
    assert all(check["ok"] for check in found["build"]["checks"])
    seen = {check["name"]: check["seen"] for check in found["build"]["checks"]}
    assert (seen["threads"], seen["interpreter"]) == ("not thread-safe", "HYBRID")
    assert "the system's database in the control" in seen["time zones"]
    # What is compiled as a module has a profile too, that was given by its source included.
    cache = cache_path() / "builds"
    assert list(cache.glob("profiles/*/gcda/added/answers/.libs/answers.gcda"))
    assert seen["profiles"].endswith("; the compiler found all of them")
    place = Path(found["directory"])
    assert (place / "php-fpm").is_file()
    loading = ["-n", "-d", f"extension={place / 'extensions' / 'answers.so'}"]
    answered = subprocess.run([place / "php", *loading, "-r", "echo the_answer();"], capture_output=True, text=True, check=True)
    assert answered.stdout == "42"
    argv = ("build", "--train", "hello", *tiny, "--recipe", RECIPE, "--runs", tmp_path, "--json")
    tested = phpdyno(*argv, "--run-tests", timeout_s=10 * MINUTE_S)
    *_, own = msgspec.json.decode(tested.stdout)[0]["build"]["checks"]
    assert (own["name"], own["ok"]) == ("PHP's own tests", True), own["seen"]
    packed = phpdyno(*argv, "--package", tmp_path / "packages")
    if found["build"]["measuring_only"]:
        # Before anything is built for it.
        assert packed.returncode == 1
        assert "an older one is for measuring only" in fault_of(packed.stderr.splitlines()[-1])
    else:
        (package,) = (tmp_path / "packages").glob("*.deb")
        assert msgspec.json.decode(packed.stdout)[0]["package"] == str(package)


@pytest.mark.usefixtures("finished")
def test_a_matrix_that_was_interrupted_goes_on_and_has_every_profile_on_every_app(tmp_path: Path, tiny: Tiny) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "index.php").write_text(
        "<?php for ($n = 0, $all = []; $n < 2000; $n++) { $all[] = md5((string) $n); } echo implode(' ', $all);\n"
    )
    (shop / "app.toml").write_text('name = "shop"\ndocroot = "."\n\n[[target]]\npath = "/"\n')
    runs = tmp_path / "runs"
    asked = ("hello", shop / "app.toml", *tiny, "--recipe", "pgo", "--budget", "90s")
    matrix, said = interrupted_and_gone_on_with("matrix", runs, *asked)
    profiles = ["hello", "shop", "all together"]
    assert [each["name"] for each in said["profiles"]] == profiles
    assert {(each["profile"], each["app"]) for each in said["cells"]} == set(itertools.product(profiles, said["apps"]))
    assert said["outcome"] == "finished"
    assert {each["kind"] for each in said["cells"]} <= {"improved", "regressed", "equivalent", "inconclusive"}
    assert all(each["ratio"] for each in said["cells"]), said["cells"]
    taught = [each["trained_on"] for each in said["builds"]]
    assert [[app for app in said["apps"] if app in words] for words in taught] == [[], ["hello"], ["shop"], ["hello", "shop"]]
    assert (matrix / "report.html").is_file()


def test_a_php_for_threads_and_this_processor_answers_as_the_control_does(tmp_path: Path, tiny: Tiny) -> None:
    found = built(tmp_path, (*tiny, "--zts"), recipe="o3+march=native")
    seen = {check["name"]: check["seen"] for check in found["build"]["checks"]}
    assert seen["threads"] == "thread-safe"
    assert seen["processor"].startswith("march=native is ")
    said = subprocess.run([Path(found["directory"]) / "php", "-n", "-v"], capture_output=True, text=True, check=True).stdout
    assert "ZTS" in said


def test_a_drop_in_has_its_own_opcache_and_every_other_extension_is_the_distributions(tmp_path: Path) -> None:
    """The whole PHP: the same options as the one that is there, but for what is a shared
    extension."""
    argv = ("build", "--train", "hello", "--recipe", "o2", "--training", "3s", "--runs", tmp_path, "--json")
    answer = phpdyno(*argv, timeout_s=15 * MINUTE_S)
    if "compiling PHP needs" in answer.stderr:
        absent(answer.stderr.splitlines()[-1])
    assert answer.returncode == 0, answer.stderr
    (found,) = msgspec.json.decode(answer.stdout)
    build, extensions = found["build"], Path(found["directory"]) / "extensions"
    assert all(check["ok"] for check in build["checks"])
    seen = {check["name"]: check["seen"] for check in build["checks"]}
    assert seen["opcache"] == f"{extensions}/opcache.so is mapped"
    assert (seen["time zones"], seen["places"]) == ("the system's database", "as in the control")
    assert seen["other programs"] == "php and php-cgi load the same"
    assert {path.name for path in extensions.iterdir() if not path.is_symlink()} == {"opcache.so"}
    assert {"mysqli.so", "mbstring.so"} <= {path.name for path in extensions.iterdir() if path.is_file()}


def test_the_compiler_tells_of_a_profile_that_it_does_not_find(tmp_path: Path) -> None:
    """What a build is refused by rests on the words of this one."""
    (tmp_path / "answers.c").write_text("int the_answer(void) { return 42; }\n")
    argv = ["gcc", *USE, "-O2", "-c", str(tmp_path / "answers.c"), "-o", str(tmp_path / "answers.o")]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stderr
    with pytest.raises(DynoError, match=r"has not found 1 of the 1 profiles"):
        refuse_unread([Path(".libs/answers.gcda")], said, tmp_path)


def test_an_app_that_a_build_answers_otherwise_trains_nothing(tmp_path: Path, tiny: Tiny) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.php").write_text("<?php echo '<p>', mb_strlen('what the control can'), '</p>', str_repeat('<p>same</p>', 50);\n")
    (site / "app.toml").write_text('name = "wants-mbstring"\ndocroot = "."\n\n[[target]]\npath = "/"\n')
    argv = ("build", "--train", site / "app.toml", *tiny, "--recipe", RECIPE, "--runs", tmp_path / "runs")
    answer = phpdyno(*argv, timeout_s=15 * MINUTE_S)
    assert answer.returncode == 1
    assert "it does not answer as the control does" in fault_of(answer.stderr.splitlines()[-1])


@pytest.mark.usefixtures("finished")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount the small file system that this needs")
@pytest.mark.parametrize(("more_mib", "status", "said"), [(1, 2, "a copy of it takes "), (20, 1, "No space left on device")])
def test_a_disk_without_room_for_the_sources_and_one_that_fills_up_while_compiling_are_one_line(
    tmp_path: Path, tiny: Tiny, more_mib: int, status: int, said: str
) -> None:
    """On the source that the finished build was made of."""
    source = next(path.parents[1] for path in sorted((cache_path() / "builds" / "sources").glob("*/main/php_version.h")))
    used_kib = int(subprocess.run(["du", "-sk", source], capture_output=True, text=True, check=True).stdout.split()[0])
    cache = tmp_path / "cache"
    cache.mkdir()
    room = f"size={used_kib + 1024 * more_mib}k"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", room, "phpdyno-test", cache], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        argv = ("build", "--train", "hello", *tiny, "--source", source, "--recipe", "o2", "--runs", tmp_path / "runs")
        answer = phpdyno(*argv, timeout_s=5 * MINUTE_S, env={**os.environ, "PHPDYNO_CACHE": str(cache)})
        assert answer.returncode == status
        assert said in fault_of(answer.stderr.splitlines()[-1])
        assert not compilers()
    finally:
        subprocess.run(["umount", cache], check=True)


def interrupted_and_gone_on_with(command: str, runs: Path, *asked: str | Path) -> tuple[Path, dict[str, Any]]:
    """A run that is interrupted once a block is measured, and resumed to its end: its directory,
    and what it came to."""
    working = start(command, *asked, "--runs", runs, "--json")
    await_journal(runs, "block", timeout_s=25 * MINUTE_S, by=working)
    working.send_signal(signal.SIGINT)
    _, errors = working.communicate(timeout=MINUTE_S)
    (run,) = [each for each in runs.iterdir() if command in each.name]
    assert working.returncode == 130
    assert f"phpdyno: interrupted; go on with: phpdyno {command} --resume {run}" in errors
    answer = phpdyno(command, "--resume", run, "--json", timeout_s=6 * MINUTE_S)
    assert answer.returncode == 0, answer.stderr
    return run, document(answer)


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
