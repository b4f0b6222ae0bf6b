"""The page of a study, to the letter. After a wanted change: pytest tests/golden --snapshot-update,
and read the difference."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from phpdyno.commands.study.render.page import study_page
from phpdyno.commands.study.render.terminal import study_summary
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.commands.study.view.whole import study_view
from phpdyno.journal.study import PartState
from tests.support.made_up.studies import counts, journals_of, record_of, small_study


@pytest.fixture
def view(tmp_path: Path) -> StudyView:
    study = small_study(tmp_path)
    return study_view(record_of(study, {"blog-cpu": "failed", "blog-syscalls": "impossible"}, counts()), journals_of(study))


def test_page(view: StudyView, snapshot: SnapshotAssertion) -> None:
    assert study_page(view) == snapshot


def test_nothing_measured_is_said_and_no_number_is_made_up(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    study = small_study(tmp_path)
    unmeasured: dict[str, PartState] = dict.fromkeys((part.name for part in record_of(study).parts), "open")
    assert study_page(study_view(record_of(study, unmeasured), {})) == snapshot


def test_terminal(view: StudyView, snapshot: SnapshotAssertion) -> None:
    out = io.StringIO()
    Console(file=out, width=120, no_color=True).print(study_summary(view))
    assert "\n".join(line.rstrip() for line in out.getvalue().splitlines()) == snapshot


def test_names_from_outside_cannot_break_the_page(view: StudyView) -> None:
    page = study_page(view)
    assert "<b>" not in page
    for line in page.splitlines():
        if line.startswith("| "):
            assert line.replace("\\|", "").count("|") >= 3
    assert "/usr/" not in page
    assert "/tmp" not in page
