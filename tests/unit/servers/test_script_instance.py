"""What a script's host may say that is no answer, and what may not be read of it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.servers import script as module
from phpdyno.servers.facts.meter import HostMeter
from phpdyno.servers.facts.worker import MAY_LOOK
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.script import ScriptInstance
from tests.support.fakes.fake_script_host import FakeScriptHost

ARM = Arm("control", PhpBuild("/usr/bin/php8.2", "8.2.36"))
NO_TEXT = b'{"operations": ["\xff"], "php_version": "\xff", "jit_free_bytes": 0}'
FACTS = b"""{"pid": 1, "php_version": "8.2", "ini": {}, "env": {}, "extensions": [], "realpath_cache_bytes": 0, "opcache": null}"""


def instance_at(path: Path) -> ScriptInstance:
    child: Any = SimpleNamespace(
        pid=42,
        status=None,
        alive=lambda: False,
        wait=lambda _: False,
        ended_how=lambda: "ended with exit code 1",
        said=lambda: "",
        tail=lambda: "its last words",
    )
    return ScriptInstance(ARM, 1, path.parent, children=[child], paths=[path], php_meter=HostMeter(), originals={})


def test_an_answer_that_is_no_text_is_none(tmp_path: Path) -> None:
    path = tmp_path / "host.sock"
    with FakeScriptHost(path, lambda _: [NO_TEXT]):
        with pytest.raises(ArmFailed, match="the script does not start: ended with exit code 1: its last words"):
            instance_at(path).await_ready(("main",))
        with pytest.raises(ArmFailed, match=r"the script's process tells no facts: .*codec can't decode"):
            instance_at(path).read_facts(())


def test_a_process_that_may_not_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/1/exe")

    monkeypatch.setattr(module, "facts_of", refused)
    path = tmp_path / "host.sock"
    with FakeScriptHost(path, lambda _: [FACTS]), pytest.raises(ArmFailed, match="Permission denied: '/proc/1/exe'") as raised:
        instance_at(path).read_facts(())
    assert raised.value.next_step == MAY_LOOK
