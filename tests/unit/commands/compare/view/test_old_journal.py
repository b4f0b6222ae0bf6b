"""A journal of schema 1, written by a real run of the version before; only its lists of ini names
were cut."""

import json
from pathlib import Path

import pytest

from phpdyno.commands.compare.render.page import figures_of, render_page
from phpdyno.commands.compare.view.document import document
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.errors import DynoError
from phpdyno.journal.reader import find_journal, read_journal
from phpdyno.journal.records import SCHEMA
from tests.support.places import ROOT
from tests.unit.commands.compare.render.test_page import Page
from tests.unit.commands.compare.render.test_terminal import shown

OLD = ROOT / "tests" / "golden" / "schema-1" / "journal.jsonl"
VIEW = view_of(read_journal(OLD), "20261121-151716-compare-wordpress")


def test_it_is_schema_1() -> None:
    assert json.loads(OLD.read_text(encoding="utf-8").split("\n", maxsplit=1)[0])["schema"] == 1 < SCHEMA


def test_its_verdicts_are_those_that_were_recorded() -> None:
    assert VIEW.outcome == "finished"
    assert [(each.kind, each.relevance, each.blocks, each.metric) for each in VIEW.rows] == [
        ("inconclusive", "", 21, "cpu"),
        ("regressed", "relevant", 9, "cpu"),
        ("improved", "relevant", 9, "cpu"),
        ("inconclusive", "", 21, "cpu"),
    ]
    recorded = [json.loads(line) for line in OLD.read_text(encoding="utf-8").splitlines()]
    effects = {each["verdict"]["treatment"]: each["verdict"]["effect"] for each in recorded if each["type"] == "verdict"}
    assert {row.name: (row.ratio, row.low, row.high) for row in VIEW.rows} == {
        name: (effect["ratio"], effect["low"], effect["high"]) for name, effect in effects.items()
    }


def test_what_it_did_not_record_is_missing_and_not_zero() -> None:
    (found,) = VIEW.calibrations
    assert (found.sigma_pair, found.sigma_start, found.sigma_block, found.blocks, found.aa, found.took_s) == (None,) * 6
    assert found.allan == ()
    assert all(point.lag_fraction is None for point in VIEW.noise)
    assert all(row.control is not None and row.control.requests_per_s is None for row in VIEW.rows)
    assert VIEW.carry_over == ()


def test_every_report_shows_it() -> None:
    assert set(figures_of(VIEW)) == {"forest-cpu", "split", "control-cpu", "steal", "blocks-0", "blocks-1", "blocks-2", "blocks-3"}
    text = Page(render_page(VIEW)).text
    assert all(row.name in text for row in VIEW.rows)
    assert "generator kept" not in text
    assert document(VIEW)["rows"][2]["ratio"] == pytest.approx(VIEW.rows[2].ratio)
    printed = shown(read_journal(OLD), 200)
    assert "Calibration" not in printed
    assert "slots  1 request(s) per slot, blocks of about 11.9 s" in printed


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text(OLD.read_text(encoding="utf-8").replace('"schema":1', f'"schema":{SCHEMA + 1}', 1), encoding="utf-8")
    with pytest.raises(DynoError, match=f"has schema {SCHEMA + 1} and this phpdyno reads up to {SCHEMA}"):
        read_journal(find_journal(tmp_path))
