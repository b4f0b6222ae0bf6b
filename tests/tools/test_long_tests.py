"""The record of long tests: what passed is kept with its commit, what failed keeps what was said
before."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tools.long_tests import LongTest, Passed, read, table

from tools import long_tests


def reported(name: str, when: str, seconds: float, *, passed: bool = True) -> Any:
    return SimpleNamespace(nodeid=name, when=when, duration=seconds, passed=passed)


def test_what_passed_replaces_what_was_known_and_the_rest_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "long-tests.json"
    for commit, two_passes in (("aaa", True), ("bbb", False)):
        monkeypatch.setattr(long_tests, "_commit", lambda commit=commit: commit)
        ran = Passed(record)
        ran.pytest_runtest_logreport(reported("tests/one", "setup", 1.0))
        ran.pytest_runtest_logreport(reported("tests/one", "call", 2.0))
        ran.pytest_runtest_logreport(reported("tests/two", "call", 5.0, passed=two_passes))
        ran.pytest_sessionfinish()
    known = read(record)
    assert {name: (each.seconds, each.commit) for name, each in known.items()} == {"tests/one": (3.0, "bbb"), "tests/two": (5.0, "aaa")}
    assert "| `one` | 3 | bbb |" in table(known)


def test_without_a_record_nothing_is_known(tmp_path: Path) -> None:
    assert read(tmp_path / "none.json") == {}
    Passed(tmp_path / "none.json").pytest_sessionfinish()
    assert not (tmp_path / "none.json").exists()
    assert "| `a` | 0 | c |" in table({"tests/a": LongTest(0.2, "c", "2026-01-02")})


def test_coverage_is_told_by_commit(tmp_path: Path) -> None:
    record = tmp_path / "coverage.json"
    record.write_text('[{"commit": "abc", "what": "before", "lines": 200, "missed": 20}]')
    assert long_tests.coverage_words(record) == "Lines of `src/phpdyno` that the tests without a server run: 90.0 % at abc (before).\n"
