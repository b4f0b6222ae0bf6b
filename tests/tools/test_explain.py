"""Section `explain`, with tiny sizes, on real servers."""

import shutil
from pathlib import Path

import pytest
from tools.bench.figures import measured_text, reached
from tools.bench.results import QUICK, Room
from tools.bench.sections.explain import compare_starts

from tests.support.optional import needs
from tests.support.traces import wait_for_no_traces


@pytest.mark.integration
@needs(shutil.which("valgrind"), "valgrind is not installed")
def test_starts_of_one_arm_are_held_against_each_other(tmp_path: Path) -> None:
    said: list[str] = []
    figure = compare_starts("hello", QUICK, Room(said.append, tmp_path / "logs", tmp_path, tmp_path))
    assert said == ["hello: start 1 of 2", "hello: start 2 of 2"]
    # One difference has no interval, so that a rehearsal reaches nothing.
    assert reached(figure) == "open"
    assert "no interval yet" in measured_text(figure)
    assert figure.estimate < 0.01
    assert "instructions; from the fewest to the most of 2 starts" in figure.detail
    assert wait_for_no_traces() == []
