"""`phpdyno compare` on real servers: verdicts, proofs, interleaving, resume, reports from the
journal alone."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from phpdyno.journal.records import BlockDone, Calibrated, CarriedOver, Concluded, Ended, Header, Planned, Proved, Record
from tests.support.real.command import FEWEST, await_journal, compared, document, fault_of, phpdyno, records_of, row, site, start, the_run
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

BUSY = "<?php $s = 0; $n = getenv('TURNS') ?: 20000; for ($i = 0; $i < $n; $i++) { $s += $i % 7; } echo str_repeat('x', 500);\n"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def test_a_large_effect_is_found_with_its_sign_and_everything_is_journaled(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "busy", index=BUSY)
    arms = ("--control", "env.TURNS=40000", "--aa", "--treatment", "env.TURNS=10000", "--treatment", "env.TURNS=160000")
    asked = (*FEWEST, "--budget", "12s", "--seed", "4", "--fail-on", "regression")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *arms, *asked, "--runs", runs, "--json")
    assert answer.returncode == 3, answer.stdout + answer.stderr  # one has regressed
    assert document(answer)["schema"] == "phpdyno.compare/1"
    # Three quarters of the loop away, or three loops more: the true ratios are about 4 and 1/4,
    # whatever else a request costs.
    assert row(answer, "env.TURNS=10000")["kind"] == "improved"
    assert row(answer, "env.TURNS=160000")["kind"] == "regressed"
    # Far from its neighbours, whatever the host does; a direction may be claimed by chance, but
    # none that matters.
    assert 0.8 < row(answer, "A/A")["ratio"] < 1.25, row(answer, "A/A")
    assert row(answer, "A/A")["relevance"] != "relevant"
    records = records_of(runs)
    for kind in (Header, Planned, Proved, Calibrated, BlockDone, Concluded, Ended):
        assert any(isinstance(record, kind) for record in records), kind
    check_samples(runs, records)
    assert wait_for_no_traces() == []


def check_samples(runs: Path, records: list[Record]) -> None:
    """The samples of a block add up to what the journal says of it, and both slots of a pair drove
    the same requests."""
    block = next(record for record in records if isinstance(record, BlockDone))
    with np.load(the_run(runs) / block.samples) as samples:
        for observation in block.observations:
            index = samples["treatments"].tolist().index(observation.treatment)
            mine = samples["slot_treatment"] == index
            treated = mine & (samples["slot_treated"] == 1)
            assert samples["slot_php_ns"][treated].sum() == observation.treated.php_cpu_ns
            assert samples["slot_php_ns"][mine & ~treated].sum() == observation.control.php_cpu_ns
            assert treated.sum() == observation.pairs
        first = samples["slot_first"].reshape(-1, 2)
        assert (first.sum(axis=1) == 1).all()
        assert 0 < first[:, 0].sum() < len(first)
        assert (samples["outcome"] == 0).all()
        assert (samples["sent_ns"] <= samples["first_byte_ns"]).all()
        assert (samples["first_byte_ns"] <= samples["done_ns"]).all()


def test_opcache_jit_realpath_and_timestamps_are_proved_on_the_running_worker(tmp_path: Path, runs: Path) -> None:
    docroot = site(
        tmp_path / "site",
        index="<?php require __DIR__ . '/part.php'; for ($i = 0; $i < 3000; $i++) { part($i); } echo str_repeat('x', 400);",
        part="<?php function part(int $i): int { return $i * 3; }",
    )
    jit = "ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=32M"
    files = "ini.opcache.validate_timestamps=0;ini.realpath_cache_size=16M;ini.realpath_cache_ttl=600"
    treatments = ["--treatment", "ini.opcache.enable=0", "--treatment", jit, "--treatment", files]
    answer = compared(docroot, runs, *treatments, *FEWEST, "--budget", "16s")
    for name in ("ini.opcache.enable=0", jit, files):
        assert row(answer, name)["kind"] != "invalid", row(answer, name)["reason"]
        assert all(proof["proved"] for proof in row(answer, name)["proofs"])


def test_a_setting_that_is_not_at_work_gets_no_number(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    idle = "ini.opcache.enable=0;ini.opcache.memory_consumption=256"
    answer = compared(docroot, runs, "--treatment", idle, "--treatment", "ini.opcache.validate_timestamps=1", "--budget", "20s", code=5)
    assert (row(answer, idle)["kind"], row(answer, idle)["ratio"]) == ("invalid", None)
    assert "ini.opcache.memory_consumption=256 is not effective: opcache is off" in row(answer, idle)["reason"]
    assert "the control has the same value" in row(answer, "ini.opcache.validate_timestamps=1")["reason"]


RARE = """<?php
$s = 0; for ($i = 0; $i < (getenv('TURNS') ?: 2000); $i++) { $s += $i % 7; }
$rare = (int) getenv('RARE');
$wrong = $rare && mt_rand(1, $rare) === 1;
if ($every = (int) getenv('EVERY')) {
    // Never twice in a row, so it is the count that finds it, and not two answers that are looked at by themselves.
    file_put_contents($counter = ini_get('session.save_path') . '/counter', 'x', FILE_APPEND);
    $wrong = filesize($counter) % $every === 0;
}
echo getenv('CLOCK') ? '<p>at ' . date('H:i:s') . ', token ' . bin2hex(random_bytes(8)) . '</p>' : '';
echo str_repeat('<p>some words of a page</p>', 80), $wrong ? '<p>wrung</p>' : '<p>right</p>';
"""


@pytest.mark.parametrize(
    ("rare", "clock"),
    [("12", "1"), *(pytest.param(rare, clock, marks=pytest.mark.long) for rare, clock in (("12", ""), ("1500", ""), ("1500", "1")))],
)
def test_a_treatment_that_answers_wrongly_now_and_then_gets_no_verdict(tmp_path: Path, runs: Path, rare: str, clock: str) -> None:
    """Whatever it saves, and also where much of the page moves by itself."""
    docroot = site(tmp_path / "site", index=RARE)
    wrong = f"env.TURNS=500;env.{'RARE' if rare == '1500' else 'EVERY'}={rare}"
    arms = ("--control", f"env.TURNS=2000;env.CLOCK={clock}", "--treatment", wrong, "--treatment", "env.TURNS=501")
    # What is wrong rarely shows in the answers that are asked for before it is called improved.
    answer = compared(docroot, runs, *arms, *FEWEST, "--budget", "60s" if rare == "1500" else "12s", "--seed", "3")
    found, other = row(answer, wrong), row(answer, "env.TURNS=501")
    # On a busy host too few answers show the rarer ones, and too few blocks an effect.
    assert found["kind"] == "invalid" or (rare == "1500" and found["kind"] == "inconclusive"), found
    if found["kind"] == "invalid":
        assert found["ratio"] is None
        counted = r"[1-9]\d* of [\d,]+ answers were not the control's \(of its own: 0 of [\d,]+\); first: /: the body differs"
        assert re.search(counted, found["reason"]), found["reason"]
    assert other["kind"] != "invalid", other
    counts = other["answers"]
    assert counts["wrong"] == 0 < counts["masked" if clock else "exact"]
    assert counts["may_have_missed"] == pytest.approx(3 / (counts["masked"] + counts["exact"]))
    assert wait_for_no_traces() == []


def test_a_page_that_varies_by_itself_is_held_against_nobody(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site", index=RARE)
    answer = compared(docroot, runs, "--control", "env.TURNS=2000;env.RARE=40", "--treatment", "env.TURNS=500", *FEWEST, "--budget", "12s")
    found = row(answer, "env.TURNS=500")
    assert found["kind"] != "invalid", found
    # It was seen in both, learnt from the control, or is no more than its share.
    assert found["answers"]["wrong"] == 0 or found["answers"]["control_wrong"] > 0, found["answers"]


@pytest.mark.alone
def test_fastcgi_and_tcp_and_several_workers(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    answer = compared(docroot, runs, "--treatment", "web.socket=tcp", "--transport", "fastcgi", "--concurrency", "3", "--budget", "6s")
    tcp = row(answer, "web.socket=tcp")
    assert tcp["kind"] != "invalid", tcp["reason"]
    facts = {record.arm: record.facts for record in records_of(runs) if isinstance(record, Proved)}
    assert (facts["control, loaded"].socket_family, facts["web.socket=tcp"].socket_family) == ("unix", "tcp")
    assert facts["control, loaded"].workers == 3
    assert tcp["metric"] == "throughput"


def test_an_interrupted_run_goes_on_where_it_was_and_its_report_comes_from_the_journal(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    # Slots so long that there is time to interrupt it after its first block.
    asked = ("--aa", "--slot", "250", *FEWEST, "--budget", "60s")
    process = start("compare", "--docroot", docroot, "--url", "/", *asked, "--runs", runs)
    await_journal(runs, "block", by=process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert fault_of(errors) == f"phpdyno: interrupted; go on with: phpdyno compare --resume {the_run(runs)}"
    assert wait_for_no_traces() == []
    before = [record for record in records_of(runs) if isinstance(record, BlockDone)]
    journal = the_run(runs) / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"type":"block","block":99,"obs')

    shown = phpdyno("report", the_run(runs))
    assert shown.returncode == 0, shown.stderr
    assert "interrupted" in shown.stdout

    resumed = phpdyno("compare", "--resume", the_run(runs))
    assert resumed.returncode == 0, resumed.stderr
    after = [record for record in records_of(runs) if isinstance(record, BlockDone)]
    assert after[: len(before)] == before
    assert [record.block for record in after] == list(range(len(after)))
    assert len(after) > len(before)
    assert resumed.stdout.rstrip().endswith("report.html")

    again = phpdyno("compare", "--resume", the_run(runs))
    assert again.returncode == 2
    assert "this run is finished" in again.stderr

    (the_run(runs) / "samples").rename(tmp_path / "samples-elsewhere")
    (the_run(runs) / "report.html").unlink()
    assert phpdyno("report", the_run(runs)).stdout == resumed.stdout
    assert (the_run(runs) / "report.html").stat().st_size > 100_000


def test_the_calibration_is_journaled_and_told_before_the_first_block(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "busy", index=BUSY)
    answer = phpdyno(
        "compare", "--docroot", docroot, "--url", "/", "--aa", "--control", "env.TURNS=20000", *FEWEST, "--budget", "12s", "--runs", runs
    )
    assert answer.returncode == 0, answer.stderr
    (told,) = [line for line in answer.stderr.splitlines() if line.startswith("plan: ")]
    records = records_of(runs)
    kinds = [type(record) for record in records]
    (planned,) = [record for record in records if isinstance(record, Calibrated)]
    assert kinds.index(Calibrated) < kinds.index(BlockDone)
    assert told == f"plan: {planned.note}"
    assert planned.sigma_pair > 0.0
    assert planned.blocks >= 4
    assert planned.allan[0].slot_requests <= planned.slot_requests <= planned.allan[-1].slot_requests
    assert len(planned.aa) == 2
    assert all(abs(seen.log_ratio) < 0.5 for seen in planned.aa)


def test_carry_over_is_looked_at_at_one_and_at_twenty_requests(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "busy", index=BUSY)
    # With a margin of 0 an A/A is open to the end of its budget.
    asked = ("--aa", "--control", "env.TURNS=2000", "--margin", "0", "--confidence", "99%", "--budget", "9s", "--slot", "5")
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", *asked, "--require-verdict", "--runs", runs)
    assert answer.returncode == 4, answer.stdout + answer.stderr
    seen = [record for record in records_of(runs) if isinstance(record, CarriedOver)]
    assert {record.slot_requests for record in seen} == {1, 20}
    assert {record.treatment for record in seen} == {"A/A"}


def test_each_treatment_has_the_metric_of_its_knobs(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "site")
    answer = compared(docroot, runs, "--aa", "--treatment", "pool.pm.max_children=1", "--concurrency", "2", *FEWEST, "--budget", "60s")
    assert {entry["name"]: entry["metric"] for entry in document(answer)["rows"]} == {"A/A": "cpu", "pool.pm.max_children=1": "throughput"}
    records = records_of(runs)
    assert {record.metric for record in records if isinstance(record, Calibrated)} == {"cpu", "throughput"}
    loaded = [seen for record in records if isinstance(record, BlockDone) for seen in record.observations if seen.treatment != "A/A"]
    assert loaded
    assert all(seen.control.drive_ns > 0 and seen.control.requests == seen.pairs * 40 for seen in loaded)


def test_throughput_goes_on_through_failed_requests_and_counts_them(tmp_path: Path, runs: Path) -> None:
    alone = "<?php $f = fopen('/dev/shm/' . getenv('ALONE'), 'c'); if (!flock($f, LOCK_EX | LOCK_NB)) { http_response_code(503); } "
    docroot = site(tmp_path / "crowded", index=alone + "usleep(3000); echo str_repeat('x', 400);")
    lock = Path("/dev/shm") / f"phpdyno-test-{os.getpid()}"
    lock.touch()
    lock.chmod(0o666)
    try:
        load = ("--metric", "throughput", "--concurrency", "4", "--control", f"env.ALONE={lock.name}")
        answer = compared(docroot, runs, "--aa", *load, *FEWEST, "--budget", "20s")
    finally:
        lock.unlink()
    assert row(answer, "A/A")["kind"] != "invalid"
    costs = [seen.control for record in records_of(runs) if isinstance(record, BlockDone) for seen in record.observations]
    assert sum(cost.failed for cost in costs) > 0
    assert {kind for cost in costs for kind in cost.kinds} == {"wrong_status (503)"}
    assert all(cost.failed < cost.requests for cost in costs)


def test_a_budget_that_can_decide_nothing_is_refused_with_one_that_can(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "busy", index=BUSY)
    argv: list[str | Path] = ["compare", "--docroot", docroot, "--url", "/", "--control", "env.TURNS=300000", "--aa"]
    answer = phpdyno(*argv, "--budget", "3s", "--runs", runs)
    assert answer.returncode == 1
    fault = fault_of(answer.stderr)
    assert "this budget can decide nothing" in fault
    named = re.search(r"give at least --budget (\d+s)", fault)
    assert named is not None, fault
    again = phpdyno("compare", "--resume", the_run(runs))
    assert again.returncode == 1
    assert "this budget can decide nothing" in fault_of(again.stderr)
    assert not [record for record in records_of(runs) if isinstance(record, BlockDone)]
    enough = phpdyno(*argv, "--budget", named[1], "--runs", tmp_path / "enough")
    assert enough.returncode == 0, enough.stderr
    assert [record for record in records_of(tmp_path / "enough") if isinstance(record, BlockDone)]
    assert wait_for_no_traces() == []


def test_a_mix_in_which_few_requests_reach_php_goes_on(tmp_path: Path, runs: Path) -> None:
    docroot = site(tmp_path / "mixed", index=BUSY)
    (docroot / "a.css").write_text("p { color: red }\n" * 40)
    description = tmp_path / "app.toml"
    target = '[[target]]\npath = "{}"\nweight = {}\n'
    description.write_text('name = "mixed"\ndocroot = "mixed"\n' + target.format("/index.php", 1) + target.format("/a.css", 200))
    answer = phpdyno("compare", description, "--aa", *FEWEST, "--budget", "12s", "--runs", runs, "--json")
    assert answer.returncode == 0, answer.stderr
    assert row(answer, "A/A")["kind"] != "invalid"
