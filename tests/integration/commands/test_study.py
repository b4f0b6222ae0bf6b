"""`phpdyno study` on real servers: resumed after an interruption, with its page, its ordinary runs,
and its syscalls."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.journal.study import STUDY_FILE, read_study, write_study
from tests.support.real.command import fault_of, phpdyno, site, start, the_run
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

STUDY = """\
name = "small"
title = "A small study"
[apps]
site = "app/app.toml"
[load]
workers = 3
concurrency = 3
[factor.loop]
long = "env.TURNS=40000"
short = "env.TURNS=2000"
[factor.opcache]
on = "ini.opcache.enable=1"
off = "ini.opcache.enable=0"
[[arm]]
name = "control"
levels = { loop = "long", opcache = "on" }
[[arm]]
name = "short"
based_on = "control"
levels = { loop = "short" }
[[arm]]
name = "no opcache"
based_on = "control"
levels = { opcache = "off" }
[[comparison]]
name = "cpu"
app = "site"
metric = "cpu"
control = "control"
treatments = ["short"]
budget_s = 8
[[comparison]]
name = "loaded"
app = "site"
metric = "throughput"
control = "control"
treatments = ["short"]
budget_s = 12
[[syscalls]]
app = "site"
arms = ["no opcache", "control"]
requests = 30
[[contrast]]
title = "short against long"
arm = "short"
against = "control"
[reference]
source = "the loop's own length"
throughput_per_s = { control = 1, short = 2 }
"""
BUILT = """\
[[build]]
name = "rebuilt"
recipe = "o2"
train = ["site"]
[[arm]]
name = "built"
spec = "build=rebuilt;ini.opcache.enabel=0"
levels = { loop = "long", opcache = "on" }
"""
BUSY = "<?php require __DIR__ . '/part.php'; turn((int) getenv('TURNS')); echo str_repeat('x', 500);\n"
PART = "<?php function turn(int $n): int { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i % 7; } return $s; }\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    docroot = site(tmp_path / "app" / "public", index=BUSY, part=PART)
    for script in docroot.iterdir():
        # opcache caches no file that is younger than two seconds.
        os.utime(script, (1e9, 1e9))
    (tmp_path / "app" / "app.toml").write_text('name = "site"\ndocroot = "public"\n[[target]]\npath = "/"\n')
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


def await_part(run: Path, state: str, timeout_s: float = 60.0) -> None:
    """Wait until some part of the only study has a state."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        studies = list(run.glob(f"*/{STUDY_FILE}"))
        if studies and any(part.state == state for part in read_study(studies[0].parent).parts):
            return
        time.sleep(0.05)
    raise AssertionError(f"no part became {state} within {timeout_s:.0f} s")


def test_an_interrupted_study_goes_on_and_ends_with_its_page(file: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    process = start("study", file, "--runs", runs)
    await_part(runs, "done")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    run = the_run(runs)
    assert process.returncode == 130, errors
    assert f"phpdyno: interrupted; go on with: phpdyno study --resume {run}" in errors
    assert wait_for_no_traces() == []
    first = [part for part in read_study(run).parts if part.state == "done"]

    refused_where_the_kernel_is_another(run)
    resumed = phpdyno("study", "--resume", run)
    assert resumed.returncode == 0, resumed.stderr
    record = read_study(run)
    assert {part.state for part in record.parts} == {"done"}, record.parts
    assert record.parts[: len(first)] == tuple(first)
    # What was done before the interruption was not measured again.
    assert len(list((run / "cpu").glob("*/journal.jsonl"))) == 1
    assert "all parts are measured" in " ".join(resumed.stdout.split())
    calls = {each.arm: {call.name: call.calls for call in each.syscalls} for each in record.counts}
    assert calls["no opcache"]["openat"] >= 2 * 30
    assert calls["control"].get("openat", 0) == 0
    check_page((run / "study.md").read_text(), tmp_path)

    (comparison,) = (run / "loaded").iterdir()
    assert phpdyno("report", comparison).returncode == 0
    shown = phpdyno("study", "--resume", run, "--json", "--page", tmp_path / "page.md")
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert document["schema"] == "phpdyno.study/1"
    assert {each["name"]: len(each["arms"]) for each in document["comparisons"]} == {"cpu": 2, "loaded": 2}
    check_page((tmp_path / "page.md").read_text(), tmp_path)
    assert wait_for_no_traces() == []


def refused_where_the_kernel_is_another(run: Path) -> None:
    """Parts are not added to those of another kernel; nothing is measured or changed by trying."""
    record = read_study(run)
    assert record.ground is not None
    kernel = record.ground.host["kernel"]
    other = structs.replace(record, ground=structs.replace(record.ground, host={**record.ground.host, "kernel": "2.6.32"}))
    write_study(run, other)
    answer = phpdyno("study", "--resume", run)
    assert answer.returncode == 2, answer.stderr
    assert f"kernel 2.6.32, now {kernel}; start a new study" in fault_of(answer.stderr)
    assert read_study(run) == other
    write_study(run, record)


def check_page(page: str, folder: Path) -> None:
    """What every page of this study holds; no path of the machine."""
    for heading in (
        "## Machine",
        "## site: throughput, 3 static workers",
        "## site: CPU per request",
        "## site: syscalls per 1,000 requests",
    ):
        assert heading in page, page
    assert "| short against long | 2.00× |" in page
    assert str(folder) not in page
    assert "/tmp" not in page


def test_without_strace_the_rest_is_measured_and_the_page_says_so(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("nginx", "php-fpm8.2", "php8.2", "php"):
        for folder in ("/usr/sbin", "/usr/bin"):
            if (Path(folder) / name).exists():
                (programs / name).symlink_to(Path(folder) / name)
    monkeypatch.setenv("PHPDYNO_PATH", str(programs))
    answer = phpdyno("study", file, "--runs", tmp_path / "runs", "--only", "syscalls")
    assert answer.returncode == 0, answer.stderr
    assert wait_for_no_traces() == []
    told = " ".join(answer.stdout.split())
    assert "site-syscalls is not possible on this host: strace is not installed; install it with: sudo apt-get install" in told
    assert "`site-syscalls`: not possible on this host: strace is not installed" in (the_run(tmp_path / "runs") / "study.md").read_text()


def test_a_budget_that_decides_nothing_names_one_of_the_study_that_would(file: Path, tmp_path: Path) -> None:
    answer = phpdyno("study", file, "--runs", tmp_path / "runs", "--only", "loaded", "--budget", "1s")
    assert answer.returncode == 1, answer.stderr
    detail = next(part.detail for part in read_study(the_run(tmp_path / "runs")).parts if part.name == "loaded")
    found = re.fullmatch(
        r"this budget can decide nothing: .*; start a study with --budget (\d+)s at least, or with budget_s = (\d+) .*", detail
    )
    assert found, detail
    # Nothing else was asked for, so all of it is this comparison's.
    assert int(found[1]) == int(found[2]) > 1
    assert wait_for_no_traces() == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "no study file is named; give one, for example studies/opcache.toml"),
        (["none.toml"], "there is no such file"),
        (["small.toml", "--resume", "x"], "keeps its file and its budgets"),
        (["--resume", "."], "there is no study here"),
        (["small.toml", "--budget", "soon"], "--budget: 'soon' is not a duration"),
        (["small.toml", "--only", "loded"], "no part 'loded'; did you mean loaded?"),
        (["unknown-app.toml"], "apps.site: helo: there is no such app; did you mean hello?"),
        (["unknown-setting.toml"], "this PHP has no ini setting 'opcache.enabel'; did you mean ini.opcache.enable?"),
        (["of-a-build.toml"], "this PHP has no ini setting 'opcache.enabel'; did you mean ini.opcache.enable?"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unknown-app.toml").write_text(STUDY.replace('"app/app.toml"', '"helo"'))
    (tmp_path / "unknown-setting.toml").write_text(STUDY.replace("ini.opcache.enable=0", "ini.opcache.enabel=0"))
    built = STUDY.replace('["short"]', '["short", "built"]') + BUILT
    (tmp_path / "of-a-build.toml").write_text(built)
    answer = phpdyno("study", *argv)
    assert answer.returncode == 2, answer.stderr
    assert said in fault_of(answer.stderr)
    assert not (tmp_path / "runs").exists()
