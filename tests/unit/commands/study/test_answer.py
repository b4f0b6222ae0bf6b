"""The answer of a study."""

from pathlib import Path

from phpdyno.commands.study.answer import study_answer
from phpdyno.commands.study.view.whole import study_view
from phpdyno.journal.study import PartState
from phpdyno.report.answer.shape import MOST_LINES
from tests.support.made_up.studies import counts, journals_of, record_of, small_study

RUN, PAGE = "runs/20260102-study-small", "runs/20260102-study-small/study.md"


def test_claims_are_a_table_and_what_failed_or_cannot_be_is_told(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    view = study_view(record_of(study, {"blog-cpu": "failed", "blog-syscalls": "impossible"}, counts()), journals_of(study))
    answer = study_answer(view, RUN, PAGE)
    assert (answer.standing, answer.result) == ("open", "the one effect that the reference gives is smaller here; 1 part not measured yet")
    assert answer.table is not None
    assert answer.table.heads == ("QUESTION", "CLAIMED", "HERE: REQ/S, × BETTER")
    assert [row.cells[:2] for row in answer.table.rows] == [("opcache on against off", "10.5×"), ("unix against TCP (opcache off)", "–")]
    assert answer.doubts == ("blog-cpu failed: the reason",)
    assert answer.notes[-1] == "blog-syscalls is not possible on this host: the reason"
    assert answer.next == (("Go on", f"phpdyno study --resume {RUN}"), ("Page", PAGE))
    assert answer.lines <= MOST_LINES


def test_one_that_is_done_has_its_page_and_nothing_to_go_on_with(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    answer = study_answer(study_view(record_of(study), journals_of(study)), RUN, PAGE)
    assert answer.result.endswith("; all parts are measured")
    assert (answer.standing, answer.doubts, answer.next) == ("none", (), (("Page", PAGE),))


def test_nothing_measured_has_no_number(tmp_path: Path) -> None:
    study = small_study(tmp_path)
    unmeasured: dict[str, PartState] = dict.fromkeys((part.name for part in record_of(study).parts), "open")
    answer = study_answer(study_view(record_of(study, unmeasured), {}), RUN, "")
    assert answer.result == "5 parts not measured yet"
    assert answer.table is None
    assert answer.next == (("Go on", f"phpdyno study --resume {RUN}"),)
