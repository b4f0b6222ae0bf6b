"""`phpdyno compare --script` on the real PHP: verdicts, proofs, invalid arms, refusals, resume,
nothing left."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from phpdyno.journal.records import BlockDone, Planned, Proved
from tests.support.real.command import FEWEST, await_journal, document, fault_of, phpdyno, records_of, row, start, the_run
from tests.support.real.scripts import SPIN, script
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "runs"
    assert wait_for_no_traces() == []


def test_planted_effects_are_found_with_their_sign_and_the_rest_is_journaled(tmp_path: Path, runs: Path) -> None:
    argv: list[str | Path] = ["--script", script(tmp_path, SPIN), "--control", "env.SPIN=40000", "--aa"]
    treatments = ["--treatment", "env.SPIN=10000", "--treatment", "env.SPIN=160000"]
    asked = (*FEWEST, "--budget", "20s", "--seed", "4")
    answer = phpdyno("compare", *argv, *treatments, *asked, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    assert row(answer, "env.SPIN=10000")["kind"] == "improved"
    assert row(answer, "env.SPIN=160000")["kind"] == "regressed"
    # Far from its neighbours, whatever the host does; a direction may be claimed by chance, but
    # none that matters.
    assert 0.8 < row(answer, "A/A")["ratio"] < 1.25, row(answer, "A/A")
    assert row(answer, "A/A")["relevance"] != "relevant"
    assert "script bench.php, operation main" in document(answer)["workload"]
    plan = next(record.plan for record in records_of(runs) if isinstance(record, Planned))
    assert (plan.transport, plan.source.script) == ("script", str(tmp_path / "script/bench.php"))


def test_the_jit_is_proved_in_the_process_and_what_is_not_at_work_gets_no_number(tmp_path: Path, runs: Path) -> None:
    jit = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=32M"
    idle = "ini.opcache.enable_cli=0;ini.opcache.memory_consumption=256"
    argv: list[str | Path] = ["--script", script(tmp_path, SPIN), "--treatment", jit, "--treatment", idle]
    asked = (*FEWEST, "--budget", "12s")
    answer = phpdyno("compare", *argv, "--treatment", "ini.opcache.enable_cli=0", *asked, "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    assert row(answer, jit)["kind"] == "improved"
    assert all(proof["proved"] for proof in row(answer, jit)["proofs"])
    assert "not effective" in row(answer, idle)["reason"]
    assert all(proof["proved"] for proof in row(answer, "ini.opcache.enable_cli=0")["proofs"])
    facts = {record.arm: record.facts for record in records_of(runs) if isinstance(record, Proved)}
    assert (facts["control"].opcache is not None, facts["ini.opcache.enable_cli=0"].opcache) == (True, None)


def test_arms_that_answer_differently_or_end_are_invalid_and_the_rest_go_on(tmp_path: Path, runs: Path) -> None:
    text = """<?php
    return function () {
        static $done = 0;
        if (getenv('EXIT') && ++$done > 30) { exit(3); }
        if (getenv('THROW')) { throw new DomainException('not today'); }
        usleep(300);
        return str_repeat(getenv('WORD') ?: 'same ', 50);
    };"""
    asked = ("--slot", "10", *FEWEST, "--budget", "15s")
    argv: list[str | Path] = ["--script", script(tmp_path, text), "--aa", *asked, "--runs", runs, "--json"]
    answer = phpdyno("compare", *argv, "--treatment", "env.WORD=other", "--treatment", "env.THROW=1", "--treatment", "env.EXIT=1")
    assert answer.returncode == 0, answer.stderr
    assert "answers differently" in row(answer, "env.WORD=other")["reason"]
    assert "DomainException: not today in bench.php:5" in row(answer, "env.THROW=1")["reason"]
    assert "it calls exit in the operation main" in row(answer, "env.EXIT=1")["reason"]
    for name in ("env.WORD=other", "env.THROW=1", "env.EXIT=1"):
        assert (row(answer, name)["kind"], row(answer, name)["ratio"]) == ("invalid", None)
    assert row(answer, "A/A")["blocks"] > 0


def test_a_control_whose_operation_throws_ends_the_run_with_the_exception(tmp_path: Path, runs: Path) -> None:
    answer = phpdyno("compare", "--script", script(tmp_path, "<?php return fn () => throw new Exception('nope');"), "--aa", "--runs", runs)
    assert answer.returncode == 1
    assert "main: this target cannot be timed: it fails: Exception: nope in bench.php:1" in fault_of(answer.stderr)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--treatment", "pool.pm=dynamic"], "pool.pm means nothing to a script"),
        (["--treatment", "web.socket=tcp"], "web.socket means nothing to a script"),
        (["--aa", "--concurrency", "2"], "one operation at a time"),
        (["--aa", "--metric", "throughput"], "CPU per operation only"),
        (["--aa", "--transport", "fastcgi"], "a script has no server"),
        (["--aa", "--url", "/"], "both a script and an app"),
    ],
)
def test_what_belongs_to_servers_is_refused_before_anything_starts(tmp_path: Path, runs: Path, argv: list[str], words: str) -> None:
    answer = phpdyno("compare", "--script", script(tmp_path, SPIN), *argv, "--runs", runs)
    assert answer.returncode == 2
    assert words in fault_of(answer.stderr)
    assert not runs.exists()


def test_a_missing_script_and_a_php_fpm_are_refused(tmp_path: Path, runs: Path) -> None:
    missing = phpdyno("compare", "--script", tmp_path / "none.php", "--aa", "--runs", runs)
    assert (missing.returncode, "there is no such file" in fault_of(missing.stderr)) == (2, True)
    fpm = phpdyno("compare", "--script", script(tmp_path, SPIN), "--treatment", "php=/usr/sbin/php-fpm8.2", "--runs", runs)
    assert (fpm.returncode, "this is not a command-line PHP: its server API is FPM" in fault_of(fpm.stderr)) == (1, True)
    assert not runs.exists()


def test_interrupted_it_goes_on_and_killed_it_leaves_nothing(tmp_path: Path, runs: Path) -> None:
    text = "<?php return function () { usleep(900_000); return 'slow'; };"
    process = start("compare", "--script", script(tmp_path, text), "--aa", "--budget", "180s", "--slot", "3", "--runs", runs)
    await_journal(runs, "answers", 2)
    time.sleep(1.0)  # in the middle of a slot
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, time.monotonic() - began < 5.0) == (130, True)
    assert "--resume" in fault_of(errors)
    assert wait_for_no_traces() == []
    resumed = start("compare", "--resume", the_run(runs))
    await_journal(runs, "preflight", 2)
    time.sleep(1.0)
    os.kill(resumed.pid, signal.SIGKILL)
    resumed.communicate(timeout=30)
    assert wait_for_no_traces() == []


def test_a_changed_script_is_not_mixed_with_earlier_blocks(tmp_path: Path, runs: Path) -> None:
    path = script(tmp_path, SPIN)
    process = start("compare", "--script", path, "--aa", "--margin", "0", "--budget", "30s", "--runs", runs)
    await_journal(runs, "block", 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    before = sum(isinstance(record, BlockDone) for record in records_of(runs))
    path.write_text(SPIN.replace("% 7", "% 9"))
    refused = phpdyno("compare", "--resume", the_run(runs))
    assert refused.returncode == 1
    assert "the app is not the one that this run began with" in refused.stderr
    assert sum(isinstance(record, BlockDone) for record in records_of(runs)) == before
