"""The section that runs the README's commands in a fresh clone, without running them."""

import re
from pathlib import Path

import pytest
from tools.bench.results import QUICK, Sizes, Store
from tools.bench.sections.newcomer import STEPS, _run, measure
from tools.bench.stamp import ROOT

from phpdyno.errors import DynoError
from phpdyno.servers.supervision.supervisor import Supervisor


def test_every_step_is_a_target_of_the_makefile_and_in_the_sizes() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {step.command for step in STEPS} <= set(targets)
    assert tuple(step.command for step in STEPS) == Sizes().newcomer


def test_a_rehearsal_takes_no_minutes(tmp_path: Path) -> None:
    said: list[str] = []
    assert measure(QUICK, Store(tmp_path).room("newcomer", said.append)) == []
    assert said == []


def test_a_command_that_fails_ends_the_section(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        assert 0.0 < _run(supervisor, ["true"], tmp_path) < 10.0
        with pytest.raises(DynoError, match="sh -c echo no; exit 3 ended with exit code 3: no"):
            _run(supervisor, ["sh", "-c", "echo no; exit 3"], tmp_path)
