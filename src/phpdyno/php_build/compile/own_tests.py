"""PHP's own tests, run with what was built."""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from phpdyno.apps.files.copies import copy_as, give_to_service
from phpdyno.errors import DynoError
from phpdyno.model.build import BuildCheck
from phpdyno.php_build.compile.tree_commands import Tell
from phpdyno.servers.supervision.supervisor import Supervisor

SUITES = ("Zend/tests", "ext/opcache/tests")
SCRIPT = "run-tests.php"
MOST_S = 3600.0
POLL_S = 0.5
MOST_NAMED = 5
_COUNT = re.compile(r"^(Tests passed|Tests failed|Tests skipped)\s*:\s*(\d+)", re.MULTILINE)
_DONE = re.compile(r"(?:^|\r)(?:PASS|FAIL|SKIP|XFAIL|BORK|WARN) ", re.MULTILINE)
_FAILED = re.compile(r"(?:^|\r)FAIL .*\[(\S+\.phpt)\]", re.MULTILINE)


def run_own_tests(source: Path, place: Path, settings: Mapping[str, str], supervisor: Supervisor, tell: Tell) -> BuildCheck:
    """Run the tests of Zend and opcache of a source with the command-line PHP of a build in
    `place`, and say how many pass.

    Raises DynoError where they cannot be run.
    """
    if not (source / SCRIPT).is_file():
        raise DynoError(f"this source has no {SCRIPT}", where=str(source))
    php = place / "php"
    opcache = settings.get("ext.opcache") or next(map(str, place.glob("extensions/opcache.so")), "")
    loading = ["-d", f"zend_extension={opcache}"] if opcache and not Path(opcache).is_symlink() else []
    expected = sum(1 for suite in SUITES for _ in (source / suite).rglob("*.phpt"))
    jobs = len(os.sched_getaffinity(0))
    # Tests write beside themselves, and those of preloading are not for root.
    home = supervisor.live / "own-tests"
    home.mkdir(mode=0o700)  # ours until all is in it
    for name in (SCRIPT, *SUITES):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        copy_as(supervisor, source / name, home / name)
    # They leave in the directory for what is temporary what they have put there.
    temporary = home / "tmp"
    temporary.mkdir()
    give_to_service(supervisor, home)
    for used in (place, *([Path(opcache).parent] if opcache else [])):
        supervisor.show(used)
    argv = [str(php), "-n", SCRIPT, "-q", f"-j{jobs}", "-n", "-p", str(php), *loading, "--no-color", *SUITES]
    env = {"NO_INTERACTION": "1", "SKIP_SLOW_TESTS": "1", "TMPDIR": str(temporary)}
    child = supervisor.spawn("build-own-tests", argv, env=env, cwd=home)
    began = time.monotonic()
    while not child.wait(POLL_S):
        tell("PHP's own tests", len(_DONE.findall(child.said())) / max(1, expected))
        if time.monotonic() - began > MOST_S:
            child.stop()
            raise DynoError("PHP's own tests did not end within an hour", where=str(child.log))
    return check_of(child.said())


def check_of(said: str) -> BuildCheck:
    """What the tests' output comes to. Raises DynoError for one that is none."""
    counts = {name: int(number) for name, number in _COUNT.findall(said)}
    if "Tests passed" not in counts:
        raise DynoError("PHP's own tests said nothing", where=SCRIPT)
    failed = counts.get("Tests failed", 0)
    named = list(dict.fromkeys(_FAILED.findall(said)))
    which = f" ({', '.join(named[:MOST_NAMED])}{' and more' if len(named) > MOST_NAMED else ''})" if named else ""
    passed = counts["Tests passed"]
    words = f"{passed} passed, {failed} failed{which}, {counts.get('Tests skipped', 0)} skipped"
    return BuildCheck("PHP's own tests", ok=failed == 0 and passed > 0, seen=words)
