"""A study of clients of Tarantool: its file, and its page."""

import re
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.connectors.found import DOCUMENT, LabFound, OperationFound, RowFound
from phpdyno.commands.connectors.render.study_page import study_page
from phpdyno.commands.connectors.study import ConnectorStudy, load_connector_study
from phpdyno.commands.study import command as cli_study
from phpdyno.commands.study.options import StudyOptions
from phpdyno.errors import UsageError
from phpdyno.model.runs.connector import CEILING
from tests.support.places import ROOT

OURS = ROOT / "studies" / "connectors.toml"
SMALL = """
kind = "connectors"
title = "Small"
control = { connector = "own" }
operations = ["select"]

[reference]
source = "somebody"

[[row]]
report = "sync"
title = "theirs, one at a time"
ours = { connector = "tarantool-php" }
per_s = { select = 1000 }

[[row]]
report = "many"
title = "theirs, many"
ours = { connector = "tarantool-php", engine = "fibers", in_flight = 25 }
differs = "Another engine."
rejected = 7
per_s = { select = 3500 }

[[row]]
report = "gone"
title = "theirs, gone"
skipped = "It is dead."
failed = "all operations: signal 11"

[[more]]
title = "ours, many"
ours = { connector = "own", engine = "fibers", in_flight = 25 }
"""


def small(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def found(*rows: RowFound, skipped: dict[str, str] | None = None) -> LabFound:
    return LabFound(DOCUMENT, "run", (OperationFound("select", rows, finished=True),), None, 0.95, skipped or {})


def page_of(study: ConnectorStudy, *rows: RowFound, skipped: dict[str, str] | None = None) -> str:
    return study_page(study, found(*rows, skipped=skipped), measured="today")


def test_every_one_of_the_references_reports_has_its_place() -> None:
    study = load_connector_study(OURS)
    assert len({report.report for report in study.row}) == 30
    assert sum(report.ours is None for report in study.row) == 1
    for report in study.row:
        assert set(report.per_s) <= set(study.operations)
        assert report.per_s or report.failed
    names = [row.name for row in study.rows]
    assert len(names) == len(set(names))
    assert (names[0], study.rows[-1].connector) == ("own sync tcp", CEILING)
    # The figures are those of the reference's text.
    assert next(report.per_s for report in study.row if report.report == "swoole__tarantool__proc2__co25")["upsert"] == 97826


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('kind = "connectors"', 'kind = "other"', "this is no study of connectors"),
        ('["select"]', '["selekt"]', r"operations: there is no operation 'selekt'; did you mean select"),
        ('["select"]', "[]", "operations"),
        ('control = { connector = "own" }', 'control = { connector = "redis" }', r"control.connector: there is no connector 'redis'"),
        ('control = { connector = "own" }', 'control = { connector = "own", engine = "swoole" }', "control: this client cannot be driven"),
        ('engine = "fibers"', 'engine = "fibres"', "ours.engine"),
        ("in_flight = 25", "in_flight = 1000", "ours.in_flight"),
        ('skipped = "It is dead."', "", r"row\[2\]: a report has either a row of ours or the reason why not"),
        ('differs = "Another engine."', 'skipped = "x"', r"row\[1\]: a report has either"),
        ("rejected = 7", "rejectd = 7", r"rejectd: unknown key; did you mean .*rejected"),
        ("select = 3500", "select = 0", "per_s"),
        ("select = 3500", "selekt = 3500", r"row\[1\].per_s: there is no operation 'selekt'"),
    ],
)
def test_a_fault_in_a_file_is_named_with_its_place(tmp_path: Path, old: str, new: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_connector_study(small(tmp_path, (old, new)))


def test_the_command_for_studies_names_the_one_that_carries_it_out(tmp_path: Path) -> None:
    path = small(tmp_path)
    options = StudyOptions(path, None, "", None, tmp_path, None, json=False)
    with pytest.raises(UsageError, match=re.escape(f"phpdyno connectors --study {path}")):
        cli_study.run(options)


def test_its_page_sets_ours_beside_theirs_and_gives_every_report_its_place(tmp_path: Path) -> None:
    study = load_connector_study(small(tmp_path))
    sync = RowFound("own sync tcp", 10_000.0, blocks=3)
    theirs = RowFound("tarantool-php sync tcp", 9_000.0, 0.9, 0.85, 0.95, blocks=3)
    many = RowFound("tarantool-php fibers@25 tcp", 90_000.0, 9.0, least=8.5, most=9.5, blocks=3, client_ns=5_000.0, syscalls=0.25)
    ours = RowFound("own fibers@25 tcp", 140_000.0, 14.0, blocks=1)
    page = page_of(study, sync, theirs, many, ours)
    first = page.splitlines()[2]
    assert "Reference, over the same client's sync row: 3.5× to 3.5×." in first
    assert "`tarantool-php fibers@25 tcp` 9.00× (8.50 to 9.50)*" in first
    assert "`own fibers@25 tcp` 14.00×" in first
    assert "| theirs, many | 90,000 (3,500) |" in page
    assert "| theirs, many | 9.00× (8.50 to 9.50)* | 3.5× | – | 5.00 µs | – | – | – | 0.25 |" in page
    assert "| theirs, one at a time | 0.90× (0.85 to 0.95) | 1.0× |" in page
    assert "| `many` | `tarantool-php fibers@25 tcp` | measured | Another engine. 7 iterations of the reference were thrown away. |" in page
    assert "| `gone` | – | skipped | It is dead. The reference's own run failed (all operations: signal 11). |" in page


def test_a_row_that_is_not_here_and_one_that_fails_say_why(tmp_path: Path) -> None:
    study = load_connector_study(small(tmp_path))
    sync = RowFound("own sync tcp", 10_000.0, blocks=3)
    failing = RowFound("tarantool-php fibers@25 tcp", None, problem="it crashed | <b>hard</b> in /srv/app/x.php:5, see /var/log/a.log")
    page = page_of(study, sync, failing, skipped={"tarantool-php sync tcp": "it is not here"})
    assert "| `sync` | `tarantool-php sync tcp` | skipped | it is not here |" in page
    assert "| no figure | Another engine. No figure for select: it crashed \\| &lt;b>hard&lt;/b> in …, see …." in page
    assert "| theirs, many | – (3,500) |" in page


def test_what_the_reference_gives_is_found_by_the_row_of_ours() -> None:
    study = load_connector_study(OURS)
    assert study.published("tarantool-php msgpack sync tcp", "select") == (18012, 17956)
    assert study.published("tarantool-php msgpack sync tcp", "sql-select") == (12304,)
    assert study.published("own sync tcp", "select") == ()


def test_what_was_not_measured_at_all_makes_a_page_too(tmp_path: Path) -> None:
    study = load_connector_study(small(tmp_path))
    page = study_page(study, structs.replace(found(), parts=()), measured="today")
    assert "## Every report in its place" in page
