"""The recipe of docs/how-to/use-in-ci.md: its steps are run on a repository with two commits."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.real.command import site
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-in-ci.md"
WORK = "<?php $s = 0; for ($i = 0; $i < {}; $i++) {{ $s += $i % 7; }} echo str_repeat('<p>page</p>', 100), $s > 0;"


def step(name: str) -> str:
    """What a step of the workflow runs."""
    found = re.search(rf"- name: {name}\n(?:        if: .*\n)?        run: \|\n((?:          .*\n)+)", PAGE.read_text())
    assert found is not None, name
    return "\n".join(line.removeprefix("          ") for line in found[1].splitlines())


def repository(place: Path, before: int, after: int) -> None:
    """An app with two commits: `origin/main`, and a head whose page goes round a loop so often."""

    def git(*argv: str) -> None:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@shop.example")
        subprocess.run(["git", "-C", str(place), *who, *argv], check=True, capture_output=True)

    site(place / "public", index=WORK.format(before))
    (place / "app.toml").write_text('name = "shop"\nroot = "."\ndocroot = "public"\n[[target]]\npath = "/"\n')
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "before")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    site(place / "public", index=WORK.format(after))
    git("commit", "-qam", "after")


@pytest.mark.parametrize(("after", "code", "word"), [(60_000, 3, "worse"), pytest.param(10_000, 0, "better", marks=pytest.mark.long)])
def test_a_slower_commit_is_red_and_a_faster_one_green(tmp_path: Path, after: int, code: int, word: str) -> None:
    tmp_path.chmod(0o755)
    place = tmp_path / "shop"
    place.mkdir()
    repository(place, 30_000, after)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "phpdyno").write_text(f'#!/bin/sh\nexec {sys.executable} -m phpdyno "$@"\n')
    (tools / "phpdyno").chmod(0o755)
    summary = tmp_path / "summary.md"
    env = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    # The budget of the recipe is for an app; this page is decided in seconds.
    compare = step("Compare").replace("--budget 5m", "--budget 25s")
    assert "--budget 25s" in compare
    answer = subprocess.run(["bash", "-e", "-c", compare], cwd=place, env=env, capture_output=True, text=True, check=False, timeout=180)
    assert answer.returncode == code, answer.stdout + answer.stderr
    subprocess.run(["bash", "-e", "-c", step("Tell")], cwd=place, env=env, check=True, timeout=30)
    table = summary.read_text().splitlines()
    assert len(table) == 3
    assert table[-1].startswith("| `source=HEAD` | CPU per request | ")
    assert table[-1].endswith(f"{word} |")
    assert len(list(place.glob("runs/*/report.html"))) == 1
    assert wait_for_no_traces() == []
