"""The sweeps of a study: their tables beside the reference's figures, and nothing made up where
there is none."""

import io
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console

from phpdyno.commands.study.render.page import study_page
from phpdyno.commands.study.render.terminal import study_summary
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.commands.study.view.sweeps import loads_table, pool_table, throughput_table
from phpdyno.commands.study.view.whole import study_view
from phpdyno.journal.study import STUDY_SCHEMA, StudyPart, StudyRecord
from phpdyno.journal.sweep import Sweep
from tests.support.made_up.sweeps.study_sweeps import study_sweep, sweep_study


def record(folder: Path, *, done: bool = True) -> StudyRecord:
    part = StudyPart("shop-sweep", "sweep", "done" if done else "failed", "" if done else "the reason")
    return StudyRecord(STUDY_SCHEMA, "0.1.0", "2026-01-02T03:04:05+0000", (), sweep_study(folder), 1.0, (part,), file="studies/pools.toml")


@pytest.fixture
def view(tmp_path: Path) -> StudyView:
    return study_view(record(tmp_path), {}, {"shop-sweep": study_sweep()})


def test_arms_have_their_names_of_the_study_file(view: StudyView) -> None:
    (sweep,) = view.sweeps
    assert [(arm.arm, arm.levels, arm.found.workers) for arm in sweep.arms] == [
        ("dynamic 5", ("dynamic 5",), 5),
        ("static 10", ("static 10",), 10),
    ]
    assert (sweep.rounds, sweep.app_version, sweep.confidence, sweep.excluded) == (5, "6.1.1", 0.95, 0)
    assert view.elapsed_s == 96.0
    assert view.php == "8.2.0"
    assert view.host is not None


def test_the_table_has_the_form_of_the_references(view: StudyView) -> None:
    head, rows, left = throughput_table(view, view.sweeps[0])
    assert (head, left) == (("machine", "arm", "c=1", "c=5", "c=50"), 2)
    assert [row[:2] for row in rows] == [
        ("here", "dynamic 5"),
        ("here", "static 10"),
        ("2 vCPU | <b>", "dynamic 5"),
        ("16 vCPU", "static 10"),
    ]
    assert rows[2][2:] == ("1,509", "1,853", "–")
    assert rows[3][2:] == ("–", "–", "7,251")
    assert all(" to " in cell for row in rows[:2] for cell in row[2:])


def test_pools_stand_side_by_side(view: StudyView) -> None:
    head, rows, _ = pool_table(view.sweeps[0])
    assert len(head) == len(rows[0]) == len(rows[1])
    assert rows[1][-2:] == ("5.0", "50.0")
    loads, by_load, _ = loads_table(view.sweeps[0])
    assert loads == ("c", "dynamic 5", "static 10")
    assert [row[0] for row in by_load] == ["1", "5", "50"]


def test_the_page_says_how_it_was_measured_what_limits_and_what_differs(view: StudyView) -> None:
    page = study_page(view)
    for said in (
        "## shop 6.1.1: throughput over requests in flight",
        "A sweep is measured in rounds.",
        "| machine | arm | c=1 | c=5 | c=50 |",
        "| 2 vCPU \\| &lt;b> | dynamic 5 | 1,509 | 1,853 | – |",
        "PHP's CPU is the limit.",
        "`dynamic 5`, c = 50: failed: 15 of ",
        "`dynamic 5`, open loop at 70 %, 1,260 requests per s offered: response time in ms: p50 ",
        "5 rounds; each interval holds with 95 % by itself",
        "closed loop, 1, 5, 50 in flight, keep-alive, on the same machine",
        "- Always said.",
        "`phpdyno study studies/pools.toml` measures it again (throughput over requests in flight).",
    ):
        assert said in page, said
    assert "static workers" not in page
    assert "<b>" not in page
    assert "CPU per request is the CPU of all php-fpm processes" not in page


def test_the_terminal_shows_it_too(view: StudyView) -> None:
    out = io.StringIO()
    Console(file=out, width=120, no_color=True).print(study_summary(view))
    assert "shop 6.1.1: throughput over requests in flight" in out.getvalue()


def test_names_and_reasons_from_outside_are_obeyed_nowhere(tmp_path: Path) -> None:
    held = record(tmp_path, done=False)
    arms = tuple(structs.replace(arm, name=f"[/{arm.name}]\x1b[2J") for arm in held.study.arms)
    sweeps = tuple(structs.replace(each, arms=tuple(arm.name for arm in arms)) for each in held.study.sweeps)
    study = structs.replace(held.study, title="\x1b]0;title\x07", arms=arms, sweeps=sweeps, reference=None)
    parts = (structs.replace(held.parts[0], detail="\x1b[31m<script>"),)
    view = study_view(structs.replace(held, study=study, parts=parts), {}, {"shop-sweep": study_sweep()})
    out = io.StringIO()
    Console(file=out, width=200, no_color=True).print(study_summary(view))
    for said in (out.getvalue(), study_page(view)):
        assert "[/static 10]" in said
        assert "\x1b" not in said
        assert "\x07" not in said
    assert "<script>" not in study_page(view)


def test_a_sweep_without_a_round_has_no_table_and_is_named_as_missing(tmp_path: Path) -> None:
    cases: tuple[dict[str, Sweep], ...] = ({}, {"shop-sweep": study_sweep(0)})
    for sweeps in cases:
        view = study_view(record(tmp_path, done=False), {}, sweeps)
        assert view.sweeps[0].arms == ()
        page = study_page(view)
        assert "| machine |" not in page
        assert "- `shop-sweep`: failed: the reason" in page
