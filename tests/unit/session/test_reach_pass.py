"""What is watched before a measurement, and that it never ends one. Nothing is started."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.commands.compare import run as comparing
from phpdyno.errors import DynoError
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.cores import split_cores
from phpdyno.journal.records import ReachedFor
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.inside.reach import Connection, Reached
from phpdyno.model.workload import Target, Workload
from phpdyno.package import APP_FILES
from phpdyno.servers.bench import Bench
from phpdyno.servers.instance import ArmFailed
from phpdyno.session import reach_pass
from phpdyno.session.environment import Environment
from tests.support.made_up.journals import CONTROL, JIT, plan, preflight, reaching

SHOP = Workload((Target("/"), Target("/cart")))
REDIS = Reached(4, (Connection("127.0.0.1", 6379, "", "inet", "tcp", "refused", "ECONNREFUSED", 4),))


class Told:
    """Remembers notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def phase(self, text: str) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None: ...


def bench(original: Path | None = Path("/srv/shop")) -> Bench:
    made = Bench.__new__(Bench)
    made.app, made.apps = PreparedApp("shop", Path("/srv/shop/public"), SHOP, original=original), {}
    made.cores = split_cores()
    made.supervisor = SimpleNamespace(no_bottle="")  # type: ignore[assignment]
    return made


def finding(monkeypatch: pytest.MonkeyPatch, found: object) -> None:
    def watch(*_: object, **__: object) -> object:
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(reach_pass, "watch_app", watch)


def test_what_was_reached_for_is_told_and_given_to_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    finding(monkeypatch, (REDIS, ""))
    told = Told()
    assert reach_pass.look_before(bench(), CONTROL, SHOP, progress=told) == ReachedFor(REDIS)
    assert told.notes[0] == "what the app reaches for, seen in 4 requests before measuring:"
    assert told.notes[1].startswith("  once a request 127.0.0.1:6379, refused: `[service.cache]")


@pytest.mark.parametrize("found", [(None, "strace is not installed"), DynoError("strace is not installed")])
def test_where_it_cannot_be_seen_one_line_says_why(monkeypatch: pytest.MonkeyPatch, found: object) -> None:
    finding(monkeypatch, found)
    told = Told()
    assert reach_pass.look_before(bench(), CONTROL, SHOP, progress=told) == ReachedFor(None, "strace is not installed")
    assert told.notes == ["what the app reaches for is not known: strace is not installed"]


def test_an_arm_that_does_not_start_is_for_the_measurement_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    finding(monkeypatch, ArmFailed(CONTROL, "php-fpm ended"))
    told = Told()
    assert reach_pass.look_before(bench(), CONTROL, SHOP, progress=told) is None
    assert told.notes == []


@pytest.mark.parametrize("stage", [bench(None), bench(APP_FILES / "hello"), SimpleNamespace()], ids=["plain", "built-in", "another stage"])
def test_nobody_looks_at_our_own_apps(monkeypatch: pytest.MonkeyPatch, stage: Any) -> None:
    finding(monkeypatch, AssertionError("it was watched"))
    assert reach_pass.look_before(stage, CONTROL, SHOP, progress=Told()) is None


@pytest.mark.parametrize("resumed", [False, True])
def test_a_resumed_run_does_not_look_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, resumed: bool) -> None:
    looked: list[object] = []

    class Measured:
        def __init__(self, *_: object, **__: object) -> None: ...

        def measure(self) -> None: ...

    def look(*_: object, **__: object) -> ReachedFor:
        looked.append(1)
        return ReachedFor(REDIS)

    monkeypatch.setattr(comparing, "look_before", look)
    monkeypatch.setattr(comparing, "change_of", lambda _: "")
    monkeypatch.setattr(comparing, "Runner", Measured)
    monkeypatch.setattr(comparing, "open_environment", lambda *_, **__: Environment(None, None, preflight()))  # type: ignore[arg-type]
    state = RunState.replay(reaching()) if resumed else RunState(plan(JIT))
    with JournalWriter(tmp_path / "journal.jsonl") as journal:
        comparing.measure(state, None, None, journal=journal, run=tmp_path, progress=Told())  # type: ignore[arg-type]
    assert bool(looked) is not resumed
    assert ('"reached"' in (tmp_path / "journal.jsonl").read_text()) is not resumed
