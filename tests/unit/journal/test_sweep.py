"""The record of a sweep, read back."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.limits.bottleneck import shares_of
from phpdyno.journal.sweep import (
    SWEEP_FILE,
    SWEEP_SCHEMA,
    CrossChecked,
    Lengths,
    Limited,
    SweepEnded,
    SweepHeader,
    SweepHost,
    Visited,
    read_sweep,
)
from phpdyno.model.runs.bottleneck import Bottleneck, Load
from phpdyno.model.runs.sweep import Point, Visit
from tests.support.made_up.journals import preflight
from tests.support.made_up.sweeps.sweeps import arm, plan_of, visit

PLAN = plan_of([arm("five"), arm("ten")], (Point(1), Point(5)))
HEADER = SweepHeader(SWEEP_SCHEMA, "0.1.0", "2026-11-21T20:00:00+0000", ("measure", "hello"), PLAN)
HOST = SweepHost(preflight().host, ("busy",))
LENGTHS = Lengths({"five": (100, 400), "ten": (100, 400)}, {"five": 0.0, "ten": 0.0}, 4)

LOAD = Load(duration_ns=10**9, concurrency=5, workers=2, php_cores=(1,), helper_cores=(0,), php_ns=4 * 10**8, generator_ns=10**8)
WORKERS_FULL = Bottleneck("workers", LOAD, shares_of(LOAD))


def whole(number: int) -> list[Struct]:
    visits = [visit(number, name=name, point=point) for name in ("five", "ten") for point in PLAN.points]
    return [Visited(each, 10.0 * number + place) for place, each in enumerate(visits)]


def write(folder: Path, records: Sequence[Struct], cut: bytes = b"") -> Path:
    (folder / SWEEP_FILE).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records) + cut)
    return folder


def test_a_sweep_survives_its_record(tmp_path: Path) -> None:
    check = CrossChecked("wrk", "five", 5, (0.98, 1.01))
    end = SweepEnded("finished", "", 31.0)
    limits = [Limited(name, point, WORKERS_FULL) for name in ("five", "ten") for point in PLAN.points]
    found = read_sweep(write(tmp_path, [HEADER, HOST, LENGTHS, *whole(1), *whole(2), *limits, check, end]))
    assert (found.header, found.plan, found.hosts, found.lengths) == (HEADER, PLAN, (HOST,), LENGTHS)
    assert (found.rounds, len(found.visits), found.unfinished) == (2, 8, 0)
    assert (found.cross_checks, found.ends, found.finished, found.spent_s) == ((check,), (end,), True, 31.0)
    assert found.limits == {(each.arm, each.point): WORKERS_FULL for each in limits}


def test_the_budget_is_the_plans_unless_the_first_round_raised_it(tmp_path: Path) -> None:
    assert read_sweep(write(tmp_path, [HEADER, HOST])).budget_s == PLAN.budget_s == 60.0
    assert read_sweep(write(tmp_path, [HEADER, HOST, LENGTHS])).budget_s == 60.0
    raised = msgspec.structs.replace(LENGTHS, budget_s=95.0)
    assert read_sweep(write(tmp_path, [HEADER, HOST, raised, *whole(1)])).budget_s == 95.0


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    found = read_sweep(write(tmp_path, [HEADER, HOST, LENGTHS, *whole(1)], cut=b'{"type":"visit","vis'))
    assert (found.rounds, found.finished, found.spent_s) == (1, False, 13.0)


def test_an_unfinished_round_does_not_count(tmp_path: Path) -> None:
    found = read_sweep(write(tmp_path, [HEADER, HOST, LENGTHS, *whole(1), *whole(2)[:3]]))
    assert (found.rounds, len(found.visits), found.unfinished, found.spent_s) == (1, 4, 3, 22.0)


def test_a_round_is_begun_again_by_the_next_session(tmp_path: Path) -> None:
    found = read_sweep(write(tmp_path, [HEADER, HOST, LENGTHS, *whole(1), *whole(2)[:3], HOST, *whole(2)]))
    assert (found.rounds, len(found.visits), found.unfinished) == (2, 8, 3)


def test_a_visit_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="round 1 visits a point of five twice"):
        read_sweep(write(tmp_path, [HEADER, HOST, *whole(1), whole(1)[0]]))
    # A finished round cannot be begun again either.
    with pytest.raises(DynoError, match="twice"):
        read_sweep(write(tmp_path, [HEADER, HOST, *whole(1), HOST, whole(1)[0]]))


@pytest.mark.parametrize("stray", [visit(1, name="twelve", point=Point(1)), visit(1, name="five", point=Point(7))])
def test_a_visit_that_is_not_planned_is_refused(tmp_path: Path, stray: Visit) -> None:
    with pytest.raises(DynoError, match="not in its plan"):
        read_sweep(write(tmp_path, [HEADER, HOST, Visited(stray, 1.0)]))


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    newer = msgspec.structs.replace(HEADER, schema=SWEEP_SCHEMA + 1)
    with pytest.raises(DynoError, match=f"schema {SWEEP_SCHEMA + 1} and this phpdyno reads up to {SWEEP_SCHEMA}"):
        read_sweep(write(tmp_path, [newer]))


def test_what_is_no_sweep_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no sweep here"):
        read_sweep(tmp_path)
    with pytest.raises(DynoError, match="does not begin with a header"):
        read_sweep(write(tmp_path, [HOST]))
    with pytest.raises(DynoError, match="line 2 is damaged"):
        read_sweep(write(tmp_path, [HEADER], cut=b'{"type":"visit"}\n'))
