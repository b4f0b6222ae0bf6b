import csv
import io
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.compare.export import COLUMNS, csv_text, export, markdown_text
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.errors import DynoError
from tests.support.made_up.journals import finished

VIEW = view_of(finished(), "run")


def test_the_csv_has_a_line_for_each_treatment_with_the_ratios_of_the_json() -> None:
    head, *lines = csv.reader(io.StringIO(csv_text(VIEW)))
    assert tuple(head) == COLUMNS
    assert len(lines) == len(VIEW.rows)
    by_name = {line[0].removesuffix(" (A/A)"): dict(zip(head, line, strict=True)) for line in lines}
    row = next(row for row in VIEW.rows if row.kind == "improved")
    assert row.ratio is not None
    assert float(by_name[row.name]["ratio"]) == row.ratio
    assert float(by_name[row.name]["change"]) == pytest.approx(1 / row.ratio - 1)


def test_a_name_does_not_break_the_table() -> None:
    row = structs.replace(VIEW.rows[-1], name="env.X=a|b\nc")
    table = markdown_text(structs.replace(VIEW, rows=(row,))).splitlines()
    assert len(table) == 3
    assert "a\\|b" in table[-1]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    export(VIEW, csv=tmp_path / "verdicts.csv", markdown=tmp_path / "verdicts.md")
    assert (tmp_path / "verdicts.md").read_text().startswith("| treatment |")
    with pytest.raises(DynoError, match="cannot be written") as caught:
        export(VIEW, csv=tmp_path / "missing" / "verdicts.csv", markdown=None)
    assert "\n" not in str(caught.value)
