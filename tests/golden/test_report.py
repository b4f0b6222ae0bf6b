"""What people see, to the letter. After a wanted change: pytest tests/golden --snapshot-update, and
read the difference."""

import io
import json
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from phpdyno.commands.compare.render.terminal import summary
from phpdyno.commands.compare.view.document import document
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.reader import read_journal
from phpdyno.journal.records import Ended, Record
from tests.support.made_up.journals import JIT, TIMESTAMPS, blocks, finished, opening, plan, reaching
from tests.support.made_up.protocol import full, script
from tests.unit.commands.compare.view.test_old_journal import OLD

STARTED = blocks({JIT.name: 1.07, TIMESTAMPS.name: 1.0}, 5)
INTERRUPTED: list[Record] = [*opening(plan(JIT, TIMESTAMPS)), *STARTED, Ended("interrupted", "SIGINT", 37.0)]
RUNS = {
    "finished": finished(),
    "interrupted": INTERRUPTED,
    "full": full(),
    "script": script(),
    "reaching": reaching(),
    "schema 1": read_journal(OLD),
}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("run", RUNS)
def test_terminal(run: str, width: int, snapshot: SnapshotAssertion) -> None:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(summary(view_of(RUNS[run], "20260102-030405-compare-wordpress")))
    assert "\n".join(line.rstrip() for line in out.getvalue().splitlines()) == snapshot


def test_document(snapshot: SnapshotAssertion) -> None:
    made = rounded(document(view_of(INTERRUPTED, "20260102-030405-compare-wordpress")))
    assert json.dumps(made, indent=2, ensure_ascii=False) == snapshot


def test_document_of_a_finished_run(snapshot: SnapshotAssertion) -> None:
    made = rounded(document(view_of(finished(), "20260102-030405-compare-wordpress")))
    made |= {"blocks": made["blocks"][:6], "control_costs": made["control_costs"][:2], "noise": made["noise"][:2]}
    assert json.dumps(made, indent=2, ensure_ascii=False) == snapshot


def test_document_of_the_whole_protocol(snapshot: SnapshotAssertion) -> None:
    made = rounded(document(view_of(full(), "20260102-030405-compare-wordpress")))
    parts = {name: made[name] for name in ("metric", "loaded_control", "calibrations", "carry_over", "exclusions", "environment")}
    parts |= {"rows": made["rows"][1:3], "noise": made["noise"][9:11], "control_costs": made["control_costs"][23:25]}
    assert json.dumps(parts, indent=2, ensure_ascii=False) == snapshot


def rounded(value: Any) -> Any:
    """Ten digits: the last bits may differ between processors."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value
