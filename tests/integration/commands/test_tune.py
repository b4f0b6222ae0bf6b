"""`phpdyno tune` on real servers: a page whose truth is known, from the search to the bundle;
interruption; what cannot be decided."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from phpdyno.bundle.reading import read_bundle
from phpdyno.journal.tune import TuneRecord, read_tune
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.real.command import fault_of, phpdyno, site, start, the_run
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

# Arithmetic in a loop, which machine code makes several times cheaper: far beyond any noise of a
# shared machine.
LOOP = """<?php
require __DIR__ . '/part.php';
function turn(int $turns): int { $sum = 0; for ($i = 0; $i < $turns; $i++) { $sum = ($sum * 31 + $i) & 0xffffff; } return $sum; }
echo '<html><body>', turn(150000), part(), '</body></html>';
"""
PART = "<?php function part(): string { return str_repeat('<p>A paragraph that stays.</p>', 40); }\n"
# The JIT is worth far more than 10 % there, so that much is decidable in a minute or two whatever
# the neighbours do.
MARGIN = ("--margin", "10%")
KNOBS = (*MARGIN, "--knob", "ini.opcache.jit=tracing", "--knob", "ini.realpath_cache_ttl", "--knob", "ini.output_buffering")


@pytest.fixture
def docroot(tmp_path: Path) -> Path:
    return site(tmp_path / "site", index=LOOP, part=PART)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def tuned(docroot: Path, runs: Path, *argv: str, timeout_s: float = 400.0) -> tuple[TuneRecord, subprocess.CompletedProcess[str]]:
    answer = phpdyno("tune", "--docroot", docroot, "--url", "/", *argv, "--runs", runs, timeout_s=timeout_s)
    assert answer.returncode == 0, answer.stderr
    return read_tune(the_run(runs)), answer


@pytest.mark.long
def test_preloading_is_made_from_what_the_app_loads(docroot: Path, runs: Path) -> None:
    record, _ = tuned(docroot, runs, *MARGIN, "--knob", "ini.opcache.preload", "--budget", "100s", "--transport", "fastcgi")
    assert set(record.found.scripts) == {"index.php", "part.php"}
    assert set(record.found.preload) == set(record.found.scripts)
    (change,) = record.found.changes
    assert (change.name, change.refused) == ("preloading 2 scripts", "")


PHASES = ("try-1", "screen-1", "race-1", "confirm-1", "ablate-1")


def interrupted_in(phase: str, runs: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a phase has measured something, and send Ctrl-C."""
    deadline = time.monotonic() + 90.0
    while not list(runs.glob(f"*/{phase}/samples/*")):
        assert process.poll() is None, (phase, process.communicate())
        assert time.monotonic() < deadline, phase
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "phpdyno tune --resume" in errors
    assert wait_for_no_traces() == []


@pytest.mark.long
def test_a_tune_that_is_interrupted_in_every_phase_goes_on_without_losing_a_block(docroot: Path, runs: Path) -> None:
    # A second change that helps by itself: assertions that are not compiled. So the winner has two
    # parts to be taken apart.
    asserting = "for ($k = 0; $k < 40000; $k++) { assert($k >= 0); }\necho '<html>"
    (docroot / "index.php").write_text(LOOP.replace("echo '<html>", asserting))
    two = ("--control", "ini.zend.assertions=1", "--knob", "ini.opcache.jit=tracing", "--knob", "ini.zend.assertions=-1", *MARGIN)
    argv: list[str | Path] = ["--docroot", docroot, "--url", "/", *two, "--budget", "150s", "--transport", "fastcgi", "--runs", runs]
    before: TuneRecord | None = None
    kept: dict[Path, bytes] = {}
    for phase in PHASES:
        interrupted_in(phase, runs, start("tune", *argv))
        run = the_run(runs)
        record = read_tune(run)
        assert record.outcome == "interrupted"
        assert phpdyno("report", run).returncode == 0
        for path, content in kept.items():
            assert path.read_bytes().startswith(content)
        if before is not None:
            planned = before.found.plan or record.found.plan, before.found.times or record.found.times
            assert (record.found.plan, record.found.times) == planned
        before, kept = record, {path: path.read_bytes() for path in run.glob("*/journal.jsonl")}
        argv = ["--resume", run]
    answer = phpdyno("tune", "--resume", run, timeout_s=200.0)
    assert answer.returncode == 0, answer.stderr
    after = read_tune(run)
    assert after.outcome == "finished"
    assert all(path.read_bytes().startswith(content) for path, content in kept.items())
    assert after.found.settings.get("ini.opcache.jit") == "tracing"
    again = phpdyno("tune", "--resume", run)
    assert again.returncode == 2
    assert "this tune is finished" in fault_of(again.stderr)


@pytest.mark.long
def test_a_budget_that_decides_nothing_is_refused_with_one_that_is_enough(docroot: Path, runs: Path) -> None:
    # So long a request, in which others may have the cores, that on no host do the fewest blocks of
    # the fewest arms fit.
    (docroot / "index.php").write_text(LOOP.replace("echo '<html>", "usleep(150_000);\necho '<html>"))
    answer = phpdyno("tune", "--docroot", docroot, "--url", "/", *KNOBS[2:], "--budget", "60s", "--runs", runs, timeout_s=200.0)
    assert answer.returncode == 1
    assert "give at least --budget" in answer.stderr.splitlines()[-1]
    assert wait_for_no_traces() == []


# What each planted knob does to the page: nothing of it is a knob's own doing, so every one of them
# is known beforehand.
PLANTED = """<?php
require __DIR__ . '/part.php';
$arenas = getenv('MALLOC_ARENA_MAX');
if ($arenas === '2') { posix_kill(getmypid(), 11); sleep(1); }
if ($arenas === '3') {
    $libc = FFI::cdef('void *malloc(size_t); void *memset(void *, int, size_t);');
    // Little, many times: on a virtual machine a page that was never touched before may cost ten microseconds.
    $libc->memset($libc->malloc(1 << 15), 1, 1 << 15);
}
turn($arenas === '3' ? 10000 : 150000);
echo '<html><body>', ini_get('zend.assertions'), part(), '</body></html>';
function turn(int $turns): int { $sum = 0; for ($i = 0; $i < $turns; $i++) { $sum = ($sum * 31 + $i) & 0xffffff; } return $sum; }
"""


@pytest.mark.long
def test_changes_that_break_something_are_rejected_with_the_reason_and_the_search_goes_on(docroot: Path, runs: Path) -> None:
    (docroot / "index.php").write_text(PLANTED)
    fatal = docroot / "fatal.php"
    fatal.write_text("<?php throw new Exception('no start');\n")
    planted = ("env.MALLOC_ARENA_MAX=2", "env.MALLOC_ARENA_MAX=3", f"ini.opcache.preload={fatal}", "ini.zend.assertions=1")
    knobs = [word for each in (*planted, "ini.opcache.jit=tracing") for word in ("--knob", each)]
    argv = (
        "--control",
        "ini.ffi.enable=1;ini.zend.assertions=0",
        *MARGIN,
        *knobs,
        "--budget",
        "150s",
        "--transport",
        "fastcgi",
        "--verbose",
    )
    record, answer = tuned(docroot, runs, *argv)
    reasons = {each.name: each.refused for each in record.found.changes}
    assert "signal 11" in reasons["env.MALLOC_ARENA_MAX=2"], reasons
    assert "does not start" in reasons[f"ini.opcache.preload={fatal}"], reasons
    assert "answers differently" in reasons["ini.zend.assertions=1"], reasons
    assert "env.MALLOC_ARENA_MAX" not in record.found.settings
    race = record.found.race
    assert race is not None
    # It is the best of all by CPU, so nothing but its memory keeps it out.
    leaking = [each for each in race.racers if "env.MALLOC_ARENA_MAX=3" in each.name]
    assert leaking
    assert all("holds" in each.fate for each in leaking), race
    assert record.found.settings.get("ini.opcache.jit") == "tracing"
    for word in ("Took no part", "signal 11", "answers differently"):
        assert word in answer.stdout
    assert wait_for_no_traces() == []


# Two changes that each help or do nothing alone, and beside each other give another answer.
AT_ODDS = LOOP.replace(
    "echo '<html>",
    "$odd = ini_get('output_buffering') === '65536' && opcache_get_status(false)['jit']['on'];\necho $odd ? 'odd' : '', '<html>",
)


def test_what_helps_is_found_proved_and_bundled_without_what_does_not_go_together_with_it(docroot: Path, runs: Path) -> None:
    (docroot / "index.php").write_text(AT_ODDS)
    record, answer = tuned(docroot, runs, *KNOBS, "--budget", "90s", "--transport", "fastcgi")
    assert record.outcome == "finished"
    assert record.spent_s < 105.0  # the last block was begun in time
    reasons = {each.name: each.refused for each in record.found.changes}
    assert "does not work together" in reasons["ini.output_buffering=65536"], reasons
    assert "answers differently" in reasons["ini.output_buffering=65536"], reasons
    assert (reasons["ini.opcache.jit=tracing"], reasons["ini.realpath_cache_ttl=600"]) == ("", "")
    assert record.found.broken is not None
    assert (the_run(runs) / "screen-again-1" / "journal.jsonl").is_file()
    assert record.found.settings.get("ini.opcache.jit") == "tracing"
    assert "screening again without ini.output_buffering=65536" in answer.stderr + answer.stdout
    check_proved(record, answer.stdout)
    check_bundle(record, the_run(runs))
    assert wait_for_no_traces() == []


def check_proved(record: TuneRecord, printed: str) -> None:
    """The JIT helps by much, in the screening and as the winner."""
    screening = record.found.screening
    assert screening is not None
    tracing = {each.name: each for each in screening.effects}["ini.opcache.jit=tracing"]
    assert tracing.ratio is not None
    # Of two blocks, which is all that a slow host may have time for, there is no interval; the race
    # decides then.
    assert tracing.standing == ("open" if tracing.ratio.low is None else "helps")
    assert tracing.ratio.value > 1.5
    screen = printed.strip().splitlines()
    assert len(screen) <= MOST_LINES
    assert re.fullmatch(r"RESULT  [\d.]+ % less CPU per request \(95 % CI [\d.]+ to [\d.]+ %\)", screen[1].rstrip())
    assert any(line.startswith("Apply:") and "/bundle" in line for line in screen)


def check_bundle(record: TuneRecord, run: Path) -> None:
    """What was found is in the bundle with its evidence, on the page and in the JSON."""
    manifest = read_bundle(run / "bundle").manifest
    assert manifest.settings == record.found.settings
    assert manifest.together is not None
    assert manifest.together.low is not None
    # How near to the ratio its interval comes is a matter of how many blocks there was time for.
    assert manifest.together.low > 1.0
    assert manifest.together.ratio is not None
    assert manifest.together.ratio > 1.5
    assert "screening" in (run / "report.html").read_text()
    shown = phpdyno("report", run, "--json")
    assert json.loads(shown.stdout)["found"]["settings"] == record.found.settings
