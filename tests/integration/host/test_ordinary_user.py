"""An ordinary user, without cgroups of its own: the same command works, and says what it falls back
to."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from phpdyno.commands.doctor.run import CheckUp
from phpdyno.journal.reader import read_journal
from phpdyno.journal.records import BlockDone, Preflight
from phpdyno.model.inside.explained import Explained
from tests.support.places import ROOT
from tests.support.real.command import FEWEST, site, the_run

pytestmark = [pytest.mark.integration, pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")]

NOBODY = 65534


def run_as_nobody(argv: list[str], env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, user=NOBODY, group=NOBODY, extra_groups=[], env=env, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory of that user's."""
    path = Path(tempfile.mkdtemp(prefix="pd-user-", dir="/tmp"))
    os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def python(home: Path) -> tuple[str, dict[str, str]]:
    """An interpreter that this user may run, and the environment that finds phpdyno and its
    libraries in it."""
    libraries = sysconfig.get_path("purelib")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PHPDYNO_LIVE": str(home), "PYTHONPATH": f"{ROOT / 'src'}:{libraries}"}
    for interpreter in (sys.executable, "/usr/bin/python3"):
        try:
            answer = run_as_nobody([interpreter, "-c", "import phpdyno._native, numpy; print('ok')"], env, home)
        except OSError:
            continue
        if answer.stdout == "ok\n":
            return interpreter, {**env, "PYTHONDONTWRITEBYTECODE": "1"}
    pytest.skip("no interpreter with phpdyno's libraries is open to another account here")


def test_an_ordinary_user_gets_verdicts_from_schedstat(home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    docroot = site(home / "site")
    runs = home / "runs"
    command = [interpreter, "-m", "phpdyno", "compare", "--docroot", str(docroot), "--url", "/", "--aa", *FEWEST]
    answer = run_as_nobody([*command, "--verbose", "--budget", "15s", "--runs", str(runs)], env, home)
    assert answer.returncode == 0, answer.stderr
    assert "CPU time is read from each process's schedstat" in " ".join(answer.stdout.replace("!", "").split())
    host = next(record.host for record in read_journal(the_run(runs) / "journal.jsonl") if isinstance(record, Preflight))
    assert host.cpu_source == "schedstat"
    assert not list(home.glob("phpdyno-*"))


def test_doctor_tells_an_ordinary_user_what_only_root_may(home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    answer = run_as_nobody([interpreter, "-m", "phpdyno", "doctor", "--no-estimate", "--json"], env, home)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    seen = msgspec.json.decode(answer.stdout, type=CheckUp)
    states = {check.name: check for check in seen.checks}
    assert seen.possible
    assert states["cgroups"].fix == "run phpdyno as root"
    assert "schedstat" in states["CPU time"].found
    assert states["huge pages (hugetlb)"].state in {"limits", "ok"}
    assert "as phpdyno itself" in states["account"].found
    assert list(home.iterdir()) == []


def test_an_ordinary_user_has_a_request_explained(home: Path, python: tuple[str, dict[str, str]]) -> None:
    """The workers are processes of the same account, so that what they wait for may be read."""
    interpreter, env = python
    docroot = site(home / "site", index="<?php usleep(3000); echo 'page';")
    command = [interpreter, "-m", "phpdyno", "explain", "--docroot", str(docroot), "--url", "/", "--budget", "2s"]
    skipped = ("--skip", "functions", "--skip", "instructions")
    answer = run_as_nobody([*command, *skipped, "--runs", str(home / "runs"), "--json"], env, home)
    assert answer.returncode == 0, answer.stderr
    sections = {each.key: each for each in msgspec.json.decode(answer.stdout, type=Explained).sections}
    assert not sections["cpu"].unread
    assert {each.name for each in sections["wall"].figures} >= {"on a CPU", "sleep"}
    assert {each.name for each in sections["memory"].figures} >= {"shared (opcache, JIT, APCu)"}
    # Yama may forbid strace to attach to what is no child of it: then that is said.
    assert sections["syscalls"].figures or "ptrace is forbidden here" in sections["syscalls"].unread
    assert not list(home.glob("phpdyno-*"))


def test_an_ordinary_user_measures_a_script(home: Path, python: tuple[str, dict[str, str]]) -> None:
    interpreter, env = python
    script = home / "script" / "bench.php"
    script.parent.mkdir()
    script.write_text("<?php return fn (): string => hash('sha256', str_repeat('x', 100_000));")
    runs = home / "runs"
    command = [interpreter, "-m", "phpdyno", "compare", "--script", str(script), "--aa", *FEWEST]
    answer = run_as_nobody([*command, "--budget", "15s", "--runs", str(runs), "--json"], env, home)
    assert answer.returncode == 0, answer.stderr
    records = read_journal(the_run(runs) / "journal.jsonl")
    assert [record.host.cpu_source for record in records if isinstance(record, Preflight)] == ["schedstat"]
    assert any(isinstance(record, BlockDone) for record in records)
    assert not list(home.glob("phpdyno-*"))
