"""`phpdyno report RUN` of a sweep: recognised by its record, shown on the terminal, as JSON and as
a page."""

import json
from pathlib import Path

import pytest

from phpdyno.commands.report.command import report_any
from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.reader import FILE
from phpdyno.journal.sweep import SWEEP_FILE
from phpdyno.journal.writer import JournalWriter
from tests.support.made_up.journals import finished
from tests.support.made_up.sweeps.sweep_runs import full_sweep, records_of


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "20260102-030405-measure-hello"
    folder.mkdir()
    with JournalWriter(folder / SWEEP_FILE) as journal:
        for record in records_of(full_sweep()):
            journal.append(record)
    return folder


@pytest.mark.parametrize("name", ["", SWEEP_FILE])
def test_a_sweep_is_recognised_by_its_record(run: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    report_any(run / name if name else run)
    answer = capsys.readouterr().out
    assert "requests a second with" in answer
    assert answer.rstrip().endswith("report.html")
    report_any(run / name if name else run, verbose=True)
    said = capsys.readouterr().out
    assert "throughput and times as more is asked" in said
    assert said.endswith(answer)
    assert "What was found" in (run / "report.html").read_text(encoding="utf-8")


def test_the_json_is_one_document_and_nothing_else(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report_any(run, json=True)
    document = json.loads(capsys.readouterr().out)
    assert next(iter(document.items())) == ("schema", "phpdyno.measure/1")
    assert document["run"] == run.name
    assert len(document["points"]) == 18


def test_a_page_that_cannot_be_written_is_said_after_what_can_be_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "report.html").mkdir()
    with pytest.raises(DynoError, match="the page cannot be written"):
        report_any(run)
    assert "requests a second with" in capsys.readouterr().out


def test_the_folder_of_a_part_shows_the_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = tmp_path / "wordpress" / "20260102-030405-compare-wordpress"
    part.mkdir(parents=True)
    with JournalWriter(part / FILE) as journal:
        for record in finished():
            journal.append(record)
    report_any(tmp_path / "wordpress")
    assert str(part / "report.html") in capsys.readouterr().out.replace("\n", "")


def test_where_neither_lies_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no journal here"):
        report_any(tmp_path)
