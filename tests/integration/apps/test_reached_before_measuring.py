"""What an app reaches for is told before the first block, by name, and is in the report; its
services have figures of their own."""

import shutil
from pathlib import Path

import msgspec
import pytest

from phpdyno.commands.measure.view.shape import SweepView
from phpdyno.journal.records import BlockDone, Calibrated, ReachedFor
from phpdyno.journal.sweep import read_sweep
from phpdyno.servers.programs.finding import program_path
from tests.support.optional import needs
from tests.support.real.command import FEWEST, document, phpdyno, records_of, site, the_run
from tests.support.real.scripts import script
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, needs(shutil.which("strace", path=program_path()), "strace is not installed")]

REACHING = """<?php
@fsockopen('127.0.0.1', 6379, $number, $said, 1);
@file_put_contents('/tmp/x', 'x', FILE_APPEND);
echo str_repeat('a page that stays ', 40);
"""
TOLD = (
    "plan: what the app reaches for, seen in 2 requests before measuring:",
    '  once a request 127.0.0.1:6379, refused: `[service.cache] kind = "redis"`, `at = "127.0.0.1:6379"` gives it one',
    "  once a request /tmp/x, opened for writing: it went to a private copy, which is gone after the run; nothing of yours was touched",
)
SERVED = """name = "shop"
root = "."
docroot = "public"
[service.cache]
kind = "redis"
at = "127.0.0.1:6379"
[[target]]
path = "/"
"""
ASKING = """<?php
$cache = stream_socket_client('tcp://127.0.0.1:6379');
fwrite($cache, "SET a 1\\r\\nGET a\\r\\n");
echo str_repeat(trim(fgets($cache)) . trim(fgets($cache)) . trim(fgets($cache)), 40);
"""


def test_compare_tells_it_before_its_first_block_and_the_report_has_it(tmp_path: Path) -> None:
    asked = ("--docroot", site(tmp_path / "site", index=REACHING), "--url", "/", "--aa", *FEWEST, "--budget", "20s")
    answer = phpdyno("compare", *asked, "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    lines = answer.stderr.splitlines()
    assert tuple(lines[: len(TOLD)]) == TOLD
    assert not Path("/tmp/x").exists()
    kinds = [type(record) for record in records_of(tmp_path / "runs")]
    assert kinds.index(ReachedFor) < kinds.index(Calibrated) < kinds.index(BlockDone)
    assert "What the app reached for" in (the_run(tmp_path / "runs") / "report.html").read_text()
    again = phpdyno("report", the_run(tmp_path / "runs"), "--json")
    assert [row["what"] for row in document(again)["reached"]["rows"]] == ["127.0.0.1:6379, refused", "/tmp/x, opened for writing"]
    assert wait_for_no_traces() == []


def test_a_script_is_watched_from_its_start_on(tmp_path: Path) -> None:
    place = script(
        tmp_path,
        "<?php @fsockopen('127.0.0.1', 6379, $number, $said, 1);\n"
        "return static function (): string { @file_put_contents('/tmp/x', 'x'); return str_repeat('an answer ', 40); };\n",
    )
    answer = phpdyno("compare", "--script", place, "--aa", *FEWEST, "--budget", "20s", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stderr.splitlines()[:3] == [
        "plan: what the script reaches for, seen in 2 operations before measuring:",
        f"  once an operation {TOLD[2].removeprefix('  once a request ')}",
        "  1 x 127.0.0.1:6379, refused: `--allow-network 127.0.0.1:6379` lets it through, for this run",
    ]
    assert "What the script reached for" in (the_run(tmp_path / "runs") / "report.html").read_text()
    assert not Path("/tmp/x").exists()
    assert wait_for_no_traces() == []


def test_measure_tells_it_too(tmp_path: Path) -> None:
    asked = ("--docroot", site(tmp_path / "site", index=REACHING), "--url", "/", "--concurrency", "1", "--no-open", "--budget", "8s")
    answer = phpdyno("measure", *asked, "--runs", tmp_path / "runs", "--json")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    view = msgspec.json.decode(answer.stdout, type=SweepView)
    assert view.reached is not None
    assert [row.what for row in view.reached.rows] == ["127.0.0.1:6379, refused", "/tmp/x, opened for writing"]
    assert read_sweep(the_run(tmp_path / "runs")).reached is not None


def test_of_a_built_in_app_nobody_asks(tmp_path: Path) -> None:
    answer = phpdyno("compare", "hello", "--aa", *FEWEST, "--budget", "15s", "--runs", tmp_path / "runs")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "reaches for" not in answer.stdout + answer.stderr
    assert not any(isinstance(record, ReachedFor) for record in records_of(tmp_path / "runs"))


@needs(shutil.which("redis-server", path=program_path()), "redis-server is not installed")
def test_a_service_is_a_part_of_its_own_and_nothing_is_missing(tmp_path: Path) -> None:
    site(tmp_path / "shop/public", index=ASKING)
    (tmp_path / "shop/app.toml").write_text(SERVED)
    answer = phpdyno("compare", tmp_path / "shop", "--aa", *FEWEST, "--budget", "20s", "--runs", tmp_path / "runs", "--json")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    told = document(answer)
    assert told["reached"]["rows"] == []
    (row,) = told["rows"]
    for cost in (row["control"], row["treated"]):
        assert 0.0 < cost["services_cpu_ms_per_request"]["cache"] < cost["host_cpu_ms_per_request"]
    blocks = [record for record in records_of(tmp_path / "runs") if isinstance(record, BlockDone)]
    assert all(seen.control.services_cpu_ns["cache"] > 0 for block in blocks for seen in block.observations)
    terminal = phpdyno("report", the_run(tmp_path / "runs"), "--verbose")
    assert "  service cache: control 0." in terminal.stdout
    assert "service cache" in (the_run(tmp_path / "runs") / "report.html").read_text()
