"""What a failure means, against a fake logbook."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phpdyno.errors import DynoError
from phpdyno.experiment.comparison.findings import Findings
from tests.support.made_up.journals import CONTROL, arm, plan


@pytest.mark.parametrize(("kind", "hint"), [("1 wrong_length", True), ("1 timed_out", False)])
def test_a_control_whose_length_moves_is_told_how_it_can_be_compared(kind: str, hint: bool) -> None:
    log: Any = SimpleNamespace(plan=plan(arm("jit")))
    with pytest.raises(DynoError) as told:
        Findings(log, None, Path("logs")).invalidate(CONTROL, f"requests fail during warm-up: {kind}")
    assert told.value.what == f"the control cannot be measured: requests fail during warm-up: {kind}"
    assert ('answers = "status"' in told.value.next_step) == hint
    assert told.value.next_step.endswith("see logs")
