"""A script as an app: what is refused before anything of it runs, and what a failed operation
says."""

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.answers.answer import Answer
from phpdyno.answers.check import fault, require_valid
from phpdyno.apps import script as module
from phpdyno.apps.script import ScriptApp
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.comparison.planning import base_requests
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.workload import OPERATION_DONE, OPERATION_FAILED, Target, Workload
from phpdyno.servers.script import HostCommand

CONTROL = Arm("control", PhpBuild("/usr/bin/php8.2", "8.2.36"))
OPERATION = Target("main", status=OPERATION_DONE)


def test_its_name_is_the_files(tmp_path: Path) -> None:
    path = tmp_path / "my bench (2).php"
    path.write_text("<?php return fn () => '';")
    assert ScriptApp(path, CONTROL).name == "my-bench-2"


def test_a_directory_or_nothing_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is a directory"):
        ScriptApp(tmp_path, CONTROL)
    with pytest.raises(UsageError, match="there is no such file"):
        ScriptApp(tmp_path / "none.php", CONTROL)


@pytest.mark.parametrize("place", ["home", "temporary"])
def test_a_directory_that_holds_everything_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    path = tmp_path / "bench.php"
    path.write_text("<?php return fn () => '';")
    ScriptApp(path, CONTROL)
    if place == "home":
        monkeypatch.setenv("HOME", str(tmp_path))
    else:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(UsageError, match="holds more than the script needs"):
        ScriptApp(path, CONTROL)


def test_a_php_that_cannot_run_the_host_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.php"
    path.write_text("<?php return fn () => '';")
    with pytest.raises(UsageError, match="needs PHP 8 or later"):
        ScriptApp(path, Arm("control", PhpBuild("/usr/bin/php7.4", "7.4.33")))


def test_an_operation_may_answer_nothing_or_quote_an_error_and_says_why_it_failed() -> None:
    assert fault(OPERATION, Answer(OPERATION_DONE, (), b"")) is None
    assert fault(OPERATION, Answer(OPERATION_DONE, (), b"Fatal error: quoted")) is None
    failed = Answer(OPERATION_FAILED, (), b"LogicException: boom in bench.php:3")
    assert fault(OPERATION, failed) == "it fails: LogicException: boom in bench.php:3"
    with pytest.raises(DynoError) as refused:
        require_valid(OPERATION, failed)
    assert str(refused.value) == "main: this target cannot be timed: it fails: LogicException: boom in bench.php:3"


def test_slots_are_long_enough_for_the_command_that_they_take() -> None:
    assert base_requests(100_000) < 100
    assert base_requests(100_000, 10_000_000) == 100
    assert base_requests(20_000_000, 10_000_000) == 1


@pytest.mark.parametrize("list_", [b'[{"name": "main", "wei', b'[{"name": "\xff", "weight": 1.0}]', b""])
def test_a_list_of_operations_that_is_cut_off_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, list_: bytes) -> None:
    path = tmp_path / "bench.php"
    path.write_text("<?php return fn () => '';")

    class FakeSupervisor:
        live = tmp_path

        def directory(self, name: str) -> Path:
            (self.live / name).mkdir()
            return self.live / name

        def run(self, *_: object, **__: object) -> SimpleNamespace:
            (self.live / "listing" / "out" / "operations.json").write_bytes(list_)
            return SimpleNamespace(status=0, log="the log")

    monkeypatch.setattr(module, "host_command", lambda *_, **__: HostCommand([], {}, {}))
    supervisor: Any = FakeSupervisor()
    with pytest.raises(DynoError, match=r"bench\.php: the list of its operations cannot be read: .*; see the log"):
        ScriptApp(path, CONTROL)._operations(supervisor, PreparedApp("bench", tmp_path, Workload(())))
