"""The page of a study's sweep, to the letter. After a wanted change: pytest tests/golden
--snapshot-update, and read the difference."""

import io
from pathlib import Path

from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from phpdyno.commands.study.render.page import study_page
from phpdyno.commands.study.render.terminal import study_summary
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.commands.study.view.whole import study_view
from phpdyno.journal.study import STUDY_SCHEMA, StudyPart, StudyRecord
from tests.support.made_up.sweeps.study_sweeps import study_sweep, sweep_study


def view(folder: Path) -> StudyView:
    part = StudyPart("shop-sweep", "sweep", "done", app_version="6.1.1")
    study, started = sweep_study(folder), "2026-01-02T03:04:05+0000"
    record = StudyRecord(STUDY_SCHEMA, "0.1.0", started, (), study, 1.0, (part,), file="studies/pools.toml")
    return study_view(record, {}, {"shop-sweep": study_sweep()})


def test_page(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert study_page(view(tmp_path)) == snapshot


def test_terminal(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    out = io.StringIO()
    Console(file=out, width=120, no_color=True).print(study_summary(view(tmp_path)))
    assert "\n".join(line.rstrip() for line in out.getvalue().splitlines()) == snapshot
