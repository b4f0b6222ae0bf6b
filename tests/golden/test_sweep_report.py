"""What people see of a sweep, to the letter. After a wanted change: pytest tests/golden
--snapshot-update, and read the difference."""

import io
import json

import msgspec
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from phpdyno.commands.measure.render.terminal import sweep_summary
from phpdyno.commands.measure.view.whole import sweep_view
from tests.golden.test_report import rounded
from tests.support.made_up.sweeps.sweep_runs import empty_sweep, full_sweep, short_sweep

NAME = "20260102-030405-measure-hello"
SWEEPS = {"full": full_sweep, "short": short_sweep, "empty": empty_sweep}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("sweep", SWEEPS)
def test_terminal(sweep: str, width: int, snapshot: SnapshotAssertion) -> None:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(sweep_summary(sweep_view(SWEEPS[sweep](), NAME)))
    assert "\n".join(line.rstrip() for line in out.getvalue().splitlines()) == snapshot


def test_document(snapshot: SnapshotAssertion) -> None:
    made = rounded(msgspec.json.decode(msgspec.json.encode(sweep_view(full_sweep(), NAME))))
    made |= {"points": [made["points"][1], made["points"][8]], "visits": made["visits"][:2]}
    assert json.dumps(made, indent=2, ensure_ascii=False) == snapshot
