"""`phpdyno selfcheck` on real servers, interrupted and killed on the way."""

import math
import signal
import subprocess
import time
from pathlib import Path

import pytest

from phpdyno.journal.checks import CHECKS_FILE, Checks, read_checks
from tests.support.real.command import document, fault_of, phpdyno, start, the_run
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TINY = ["selfcheck", "--quick", "--comparisons", "2", "--effect", "20%"]


def await_comparisons(runs: Path, count: int, process: subprocess.Popen[str], timeout_s: float = 120.0) -> None:
    """Wait until so many comparisons are on disk."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        found = list(runs.glob(f"*/{CHECKS_FILE}"))
        if found and found[0].read_bytes().count(b'{"type":"comparison"') >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError(f"no {count} comparison(s) within {timeout_s:.0f} s")


@pytest.mark.long
def test_interrupted_and_killed_on_the_way_a_selfcheck_finds_what_was_planted_and_leaves_its_record_only(tmp_path: Path) -> None:
    first = start(*TINY, "--runs", tmp_path)
    await_comparisons(tmp_path, 1, first)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=60)
    run = the_run(tmp_path)
    assert first.returncode == 130, errors
    assert f"phpdyno: interrupted; go on with: phpdyno selfcheck --resume {run}" in errors
    assert not (run / "current").exists()
    assert wait_for_no_traces() == []
    after_interrupt = read_checks(run)

    second = start("selfcheck", "--resume", run)
    await_comparisons(tmp_path, len(after_interrupt.compared) + 1, second)
    second.kill()
    second.communicate(timeout=60)
    assert wait_for_no_traces() == []
    after_kill = read_checks(run)

    answer = phpdyno("selfcheck", "--resume", run, "--json")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    checks = read_checks(run)
    assert checks.finished
    # The comparison in progress is all that is lost.
    assert checks.compared[: len(after_kill.compared)] == after_kill.compared
    assert after_kill.compared[: len(after_interrupt.compared)] == after_interrupt.compared
    assert checks.ground == after_interrupt.ground
    assert len(checks.sessions) == 3
    ends = (len(after_interrupt.compared), len(after_kill.compared), len(checks.compared))
    check_compared(checks, ends)
    found = document(answer)
    assert (found["schema"], found["done"], found["wanted"]) == ("phpdyno.selfcheck/1", 4, 4)
    assert all(found[key] for key in ("host", "php", "measured"))
    (numberless,) = [row for row in found["rows"] if row["check"] == "comparisons without a number"]
    assert (numberless["estimate"], numberless["comparisons"]) == (0.0, 4)
    for each in checks.compared:
        # None may be wrong at this size but by bad luck; what is kept must be a run that can be
        # reported.
        assert not each.kept or phpdyno("report", run / each.kept).returncode == 0
    assert not (run / "current").exists()
    assert not list((run / "logs").glob("php-fpm-*"))
    assert wait_for_no_traces() == []


def check_compared(checks: Checks, ends: tuple[int, ...]) -> None:
    """What was planted, and what all comparisons say of it; the sessions made those up to each of
    `ends`."""
    assert checks.ground is not None
    assert checks.ground.effect == pytest.approx(math.log(1.2), rel=1e-3)
    assert (checks.header.wish.app, checks.ground.turns) == ("hello", 100)
    # The loop is the planted effect and nothing more: what a request costs is the app's own work.
    more = checks.ground.more_turns - checks.ground.turns
    assert 1000.0 < more * checks.ground.line.unit_ns < 0.25 * checks.ground.line.base_ns
    assert sorted(each.kind for each in checks.compared) == ["A/A", "long A/A", "planted", "planted"]
    assert all(each.blocks >= 4 for each in checks.compared)
    assert sorted(each.verdict for each in checks.compared if each.kind == "planted") == ["improved", "regressed"]
    for number, each in enumerate(checks.compared):
        if each.kind == "planted":
            # The size is the selfcheck's own business; that it is the planted one and nothing else
            # must show here as well.
            assert each.truth == pytest.approx(math.log(1.2 if each.swapped else 1 / 1.2), rel=1e-3)
            assert each.ratio is not None
            # Wide: five blocks beside neighbours that take half of the time have been seen at 2.2.
            assert 0.2 < math.log(each.ratio) / each.truth < 3.5
            assert each.early is not None
            assert 0.2 < each.early / each.truth < 3.5
            session = next(session for session, end in zip(checks.sessions, ends, strict=True) if number < end)
            assert each.seconds < session.planted_budget_s + 10
        if each.kind == "long A/A" and each.verdict == "inconclusive":
            assert each.looks >= 12  # 30 and more on a host that nobody else uses
            assert each.lag is not None


def test_wishes_that_cannot_be_are_refused_before_anything_starts(tmp_path: Path) -> None:
    for argv, why in (
        (["--comparisons", "0"], "--comparisons: 0 is not from 1 to 100000"),
        (["--effect", "80%"], "--effect: '80%' is not a share"),
        (["--seed", "-1"], "--seed: a seed is a whole number from 0 on"),
        (["--resume", str(tmp_path), "--quick"], "--resume: a selfcheck that is resumed keeps what it was asked for"),
        (["--resume", str(tmp_path)], f"{tmp_path}: there is no selfcheck here"),
    ):
        answer = phpdyno("selfcheck", *argv, "--runs", tmp_path / "runs")
        assert answer.returncode == 2
        assert why in fault_of(answer.stderr)
    assert not (tmp_path / "runs").exists()
