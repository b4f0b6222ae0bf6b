"""Which tests `make test-long` ran, how long each took, and the last commit that it passed on: a
plugin of pytest, and a table."""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "benchmarks" / "long-tests.json"
COVERAGE = ROOT / "docs" / "benchmarks" / "coverage.json"


class LongTest(Struct, frozen=True):
    """The last time that a test passed; `seconds` of its call and of what was set up for it."""

    seconds: float
    commit: str
    date: str


class Coverage(Struct, frozen=True):
    """Lines of src/phpdyno that there were at a commit, and those that no fast test ran."""

    commit: str
    what: str
    lines: int
    missed: int


class Passed:
    """Notes what passes, and adds it to the record when the tests end."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._seconds: dict[str, float] = {}
        self._passed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Each phase of a test counts; only one whose call passed is kept."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.when == "call" and report.passed:
            self._passed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Tests that did not pass this time keep what was said of them before."""
        commit, date = _commit(), time.strftime("%Y-%m-%d")
        now = {name: LongTest(round(self._seconds[name], 1), commit, date) for name in self._passed}
        if now:
            known = read(self._record) | now
            self._record.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(known.items()))), indent=1) + b"\n")


def read(record: Path) -> dict[str, LongTest]:
    """What is recorded, by the name of the test; nothing where there is no record yet."""
    return msgspec.json.decode(record.read_bytes(), type=dict[str, LongTest]) if record.is_file() else {}


def table(known: Mapping[str, LongTest]) -> str:
    """The section of docs/benchmarks.md."""
    lines = [
        "## Long tests",
        "",
        "What `make test` leaves to `make test-long`, and the last commit that each passed on.",
        "",
        "| test | seconds | passed on | date |",
        "| --- | --- | --- | --- |",
        *(f"| `{name.removeprefix('tests/')}` | {each.seconds:.0f} | {each.commit} | {each.date} |" for name, each in known.items()),
    ]
    return "\n".join(lines) + "\n"


def coverage_words(record: Path) -> str:
    """The paragraph of docs/benchmarks.md about lines that the fast tests run."""
    known = msgspec.json.decode(record.read_bytes(), type=list[Coverage])
    told = (f"{100 * (1 - each.missed / each.lines):.1f} % at {each.commit} ({each.what})" for each in known)
    return f"Lines of `src/phpdyno` that the tests without a server run: {', '.join(told)}.\n"


def pytest_configure(config: pytest.Config) -> None:
    """Loaded by `-p tools.long_tests`."""
    config.pluginmanager.register(Passed(RECORD))


def _commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
