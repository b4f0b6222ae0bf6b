"""Facts of a worker: what is no answer, what may not be looked at, and names that are no text."""

import mmap
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from phpdyno.errors import DynoError
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.workload import Workload
from phpdyno.servers import instance
from phpdyno.servers.facts import worker as facts
from phpdyno.servers.facts.meter import HostMeter
from phpdyno.servers.facts.worker import MAY_LOOK, mapped_paths, probe_worker, read_facts
from phpdyno.servers.instance import ArmFailed, Instance

ARM = Arm("control", PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36"))


def test_an_answer_that_is_no_text_is_no_answer_of_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = SimpleNamespace(outcome=0, body=b'{"pid": 1, "php_version": "\xff"}')
    monkeypatch.setattr(facts, "Engine", lambda *_, **__: SimpleNamespace(fetch=lambda _: answer))
    assert probe_worker("unix:/live/fpm.sock", Path("/live/probe.php")) is None


def test_a_worker_that_may_not_be_looked_at_is_not_one_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/42/exe")

    monkeypatch.setattr(facts, "facts_of", refused)
    answer: Any = SimpleNamespace(pid=42)
    with pytest.raises(DynoError) as raised:
        read_facts(lambda: answer, "unix", os.getpid())
    assert str(raised.value) == f"what /proc shows of the worker may not be read; {MAY_LOOK}"
    with pytest.raises(DynoError, match="no worker answers the probe"):
        read_facts(lambda: None, "unix", os.getpid())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DynoError("it may not be read", next_step="give the right"), "control: it may not be read; give the right"),
        (DynoError("no worker answers the probe"), "control: no worker answers the probe: its last words"),
    ],
)
def test_an_arm_without_facts_says_what_helps_else_what_the_log_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: DynoError, said: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(instance, "read_facts", fail)
    fpm: Any = SimpleNamespace(pid=42, tail=lambda: "its last words")
    app = PreparedApp("hello", tmp_path, Workload(()))
    started = Instance(ARM, 1, tmp_path, fpm=fpm, fastcgi="unix:/x", php_meter=HostMeter(), probe=tmp_path, app=app, originals={}, real={})
    with pytest.raises(ArmFailed) as raised:
        started.read_facts(())
    assert str(raised.value) == said


def test_a_mapped_file_of_any_name_can_be_written_down(tmp_path: Path) -> None:
    named = os.path.join(os.fsencode(tmp_path), b"\xff\x0bx.so")  # noqa: PTH118 (a name that is no text)
    with open(named, "wb+") as file:  # noqa: PTH123
        file.write(b"x")
        file.flush()
        with mmap.mmap(file.fileno(), 0):
            found = mapped_paths(os.getpid())
    assert f"{tmp_path}/\ufffd\x0bx.so" in found
    assert msgspec.json.encode(found)
