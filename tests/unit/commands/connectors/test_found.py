"""What a run of the lab came to, and how it is said, from journals that are made up."""

import math
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.connectors import view
from phpdyno.commands.connectors.counting import FILE as SYSCALLS
from phpdyno.commands.connectors.counting import SyscallsFound, is_counted
from phpdyno.commands.connectors.found import BestFound, LabFound, RowFound, best_of, lab_found
from phpdyno.commands.connectors.measuring import plan_of
from phpdyno.commands.connectors.record import SCHEMA, LabRecord, write_lab
from phpdyno.commands.connectors.render.page import check_page, page_view, write_page
from phpdyno.commands.connectors.request import LabRequest
from phpdyno.errors import UsageError
from phpdyno.experiment.comparison.state import FAILED
from phpdyno.journal.reader import FILE
from phpdyno.journal.records import SCHEMA as JOURNAL_SCHEMA
from phpdyno.journal.records import BlockDone, Concluded, Header, Incident, Planned, Record
from phpdyno.journal.replacing import replace_record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.runs.connector import CEILING, ConnectorRow
from phpdyno.model.verdict import Effect, Verdict

SYNC, FIBERS, TCP, MOST = (
    ConnectorRow("own"),
    ConnectorRow("own", "fibers", 128),
    ConnectorRow("own", transport="tcp"),
    ConnectorRow(CEILING, "window", 512),
)


def cost(per_s: float, *, failed: int = 0) -> Cost:
    """A thousand operations at so many per second, each with 10 µs of the client's CPU and 2 of the
    server's."""
    return Cost(
        requests=1000,
        php_cpu_ns=10_000_000,
        web_cpu_ns=0,
        database_cpu_ns=0,
        host_cpu_ns=0,
        wall_ns=0,
        service_p50_ns=80_000,
        service_p99_ns=300_000,
        failed=failed,
        drive_ns=round(1e9 * 1000 / per_s),
        services_cpu_ns={"tarantool": 2_000_000},
    )


def observation(row: ConnectorRow, block: int, *, excluded: str = "", failed: int = 0) -> Observation:
    treated = cost(200_000.0, failed=failed)
    return Observation(row.name, block, 3.0, 3.0, 0.1, 2, cost(10_000.0), treated, excluded=excluded)


def run_with(
    place: Path, *records: Record, skipped: dict[str, str] | None = None, rows: tuple[ConnectorRow, ...] = (FIBERS, TCP)
) -> LabFound:
    asked = LabRequest(("select", "ping"), (SYNC, FIBERS, TCP), "/usr/bin/php", skipped=skipped or {})
    write_lab(place, LabRecord(SCHEMA, asked, (), "digest"))
    plan = plan_of(
        "select",
        SYNC,
        rows,
        arm_of=lambda row: Arm(row.name, PhpBuild("/usr/bin/php", "8.2"), {}, {}),
        version="1",
        budget_s=1.0,
        seed=1,
        confidence=0.95,
    )
    (place / "select").mkdir()
    with JournalWriter(place / "select" / FILE) as journal:
        for record in (Header(JOURNAL_SCHEMA, "1", "connectors", "", ()), Planned(plan), *records):
            journal.append(record)
    return lab_found(place)


def blocks_of(row: ConnectorRow) -> list[BlockDone]:
    return [BlockDone(n, float(n), n + 1.0, (observation(row, n),), "") for n in range(3)]


def blocks(*, excluded: str = "", failed: int = 0) -> list[BlockDone]:
    return [BlockDone(n, float(n), n + 1.0, (observation(FIBERS, n, excluded=excluded, failed=failed),), "") for n in range(3)]


def concluded(row: ConnectorRow, **kept: object) -> Concluded:
    return Concluded(Verdict(row.name, **kept))  # type: ignore[arg-type]


def test_rows_have_their_speed_and_what_an_operation_costs_either_side(tmp_path: Path) -> None:
    effect = Effect(20.0, 15.0, 25.0, 3, 0.95, 0.1, 20.0)
    found = run_with(tmp_path, *blocks(), concluded(FIBERS, kind="improved", effect=effect))
    (part,) = found.parts
    control, fibers, tcp = part.rows
    assert (control.row, control.ratio) == ("own sync unix", None)
    assert control.operations_per_s == pytest.approx(10_000.0)
    assert fibers.operations_per_s == pytest.approx(200_000.0)
    assert (fibers.ratio, fibers.low, fibers.high) == (20.0, 15.0, 25.0)
    assert (fibers.client_ns, fibers.server_ns, fibers.p50_ns, fibers.p99_ns) == (10_000.0, 2_000.0, 80_000, 300_000)
    assert (tcp.problem, part.finished) == ("not measured yet", False)
    table = list(view.cells(part))
    assert table[0] == ("own sync unix", "10,000", "control", "–", "10.0 µs", "2.00 µs", "80.0 µs", "300 µs", "–")
    assert table[1][1:3] == ("200,000", "20.00× (15.00 to 25.00)")
    assert table[2][2] == "not measured yet"
    assert view.title(part) == "select (not finished)"


def test_every_row_is_told_as_a_share_of_the_ceiling_over_its_own_transport(tmp_path: Path) -> None:
    def seen(row: ConnectorRow, block: int, ratio: float) -> Observation:
        return structs.replace(observation(row, block), treatment=row.name, log_ratio=math.log(ratio))

    blocks = [
        BlockDone(n, float(n), n + 1.0, (seen(FIBERS, n, 20.0), seen(TCP, n, 0.9), seen(MOST, n, 80.0 + n % 2)), "") for n in range(12)
    ]
    control, fibers, tcp, most = run_with(tmp_path, *blocks, rows=(FIBERS, TCP, MOST)).parts[0].rows
    assert fibers.of_ceiling == pytest.approx(0.2484, abs=1e-3)
    assert fibers.of_ceiling_low is not None
    assert fibers.of_ceiling_high is not None
    assert fibers.of_ceiling_low < 20 / 80.5 < fibers.of_ceiling_high < 0.26
    assert control.of_ceiling == pytest.approx(1 / 80.5, rel=1e-3)
    assert (tcp.of_ceiling, most.of_ceiling) == (None, 1.0)


def test_what_failed_counts_for_nothing_and_is_told(tmp_path: Path) -> None:
    found = run_with(tmp_path, *blocks(failed=500))
    assert found.parts[0].rows[1].operations_per_s == pytest.approx(100_000.0)
    assert "1,500 operations had no right answer" in list(view.lines(found))


def test_what_is_excluded_has_no_part_in_a_figure(tmp_path: Path) -> None:
    found = run_with(tmp_path, *blocks(excluded="steal 70 %"))
    assert found.parts[0].rows[1].problem == "not measured yet"
    assert any(line.startswith("3 measurements discarded by a rule") for line in view.lines(found))


def test_a_row_that_gave_wrong_answers_has_no_figure_but_the_reason(tmp_path: Path) -> None:
    found = run_with(tmp_path, *blocks(), concluded(FIBERS, kind="invalid", reason="requests fail: 3 wrong_status (1)"))
    row = found.parts[0].rows[1]
    assert (row.operations_per_s, row.problem) == (None, "requests fail: 3 wrong_status (1)")


def test_a_row_whose_every_block_failed_says_why(tmp_path: Path) -> None:
    found = run_with(tmp_path, Incident(0, FIBERS.name, FAILED, "requests fail during warm-up: 1 wrong_status (1)"), *blocks_of(TCP))
    control, fibers, tcp = found.parts[0].rows
    assert (fibers.operations_per_s, fibers.problem) == (None, "requests fail during warm-up: 1 wrong_status (1)")
    assert (control.problem, tcp.problem) == ("", "")


def test_an_interval_that_is_not_there_yet_is_not_made_up(tmp_path: Path) -> None:
    found = run_with(tmp_path, *blocks(), concluded(FIBERS, kind="inconclusive", effect=Effect(20.0, None, None, 3, 0.95, 0.1, 20.0)))
    assert list(view.cells(found.parts[0]))[1][2] == "20.00× (no interval yet: 20.09 to 20.09 in blocks)"


def test_skipped_rows_are_kept_with_their_reason(tmp_path: Path) -> None:
    assert run_with(tmp_path, skipped={"pecl sync tcp": "it is not here"}).skipped == {"pecl sync tcp": "it is not here"}


def test_another_directory_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is no run of connectors"):
        lab_found(tmp_path)


def test_its_page_holds_every_figure_and_draws_every_operation(tmp_path: Path) -> None:
    effect = Effect(20.0, 15.0, 25.0, 3, 0.95, 0.1, 20.0)
    found = run_with(tmp_path, *blocks(), concluded(FIBERS, kind="improved", effect=effect), skipped={"pecl sync tcp": "it is not <here>"})
    text = write_page(tmp_path, found, page_view(tmp_path, found)).read_text()
    for said in ("20.00× (15.00 to 25.00)", "200,000", "select (not finished)", "pecl sync tcp skipped: it is not &lt;here&gt;"):
        assert said in text, said
    assert 'id="speeds-select"' in text
    assert "not measured yet" in text


@pytest.mark.parametrize(("in_flight", "operations"), [(1, 2_000), (128, 2_560), (512, 10_000)])
def test_a_slot_fills_the_flight_and_deletes_no_tuple_twice(in_flight: int, operations: int) -> None:
    row = ConnectorRow("own", "window", in_flight)
    plan = plan_of(
        "delete",
        SYNC,
        [row],
        arm_of=lambda row: Arm(row.name, PhpBuild("/usr/bin/php", "8.2"), {}, {}),
        version="1",
        budget_s=1.0,
        seed=1,
        confidence=0.95,
    )
    assert plan.fixed is not None
    assert plan.fixed.slot_requests == operations


def test_on_a_terminal_a_row_is_two_lines(tmp_path: Path) -> None:
    found = run_with(tmp_path, *blocks(), concluded(FIBERS, kind="improved", effect=Effect(20.0, 15.0, 25.0, 3, 0.95, 0.1, 20.0)))
    lines = list(view.table(found.parts[0]))
    assert lines[2:4] == [
        "own fibers@128 unix  200,000 per s  20.00× (15.00 to 25.00)",
        "  CPU 10.0 µs client, 2.00 µs server; median 80.0 µs, 99 % 300 µs",
    ]
    assert lines[4].split() == ["own", "sync", "tcp", "–", "per", "s", "not", "measured", "yet"]
    assert max(map(len, lines)) <= 80


def test_syscalls_stand_beside_what_was_measured_and_the_reason_where_they_could_not_be_counted(tmp_path: Path) -> None:
    run_with(tmp_path, *blocks())
    replace_record(tmp_path / "select" / SYSCALLS, SyscallsFound(1, {FIBERS.name: 0.25}))
    found = lab_found(tmp_path)
    assert [row.syscalls for row in found.parts[0].rows] == [None, 0.25, None]
    assert any(line.endswith("; 0.25 syscalls") for line in view.table(found.parts[0]))
    replace_record(tmp_path / "select" / SYSCALLS, SyscallsFound(1, why_not={FIBERS.name: "requests fail"}))
    assert f"Syscalls were not counted: {FIBERS.name}: requests fail" in list(view.lines(lab_found(tmp_path)))
    replace_record(tmp_path / "select" / SYSCALLS, SyscallsFound(1, missing="strace is not installed"))
    assert "Syscalls were not counted: strace is not installed" in list(view.lines(lab_found(tmp_path)))


def test_of_rows_that_differ_in_flight_the_fastest_is_named_and_what_is_not_told_apart_from_it() -> None:
    def row(flight: int, ratio: float, low: float | None, high: float | None, **seen: float) -> RowFound:
        return RowFound(f"own fibers@{flight} unix", 1.0, ratio, low, high, blocks=3, **seen)  # type: ignore[arg-type]

    rows = tuple(ConnectorRow("own", "fibers", flight) for flight in (25, 128, 512))
    told = list(best_of([row(25, 10, 9, 11), row(128, 30, 28, 33), row(512, 31, 29, 33)], rows))
    assert told == [BestFound("own fibers unix", "own fibers@512 unix", ("own fibers@128 unix",))]
    # Without intervals by what single blocks gave, and of one block nothing is known.
    told = list(best_of([row(25, 10, None, None, least=9, most=11), row(128, 30, None, None, least=28, most=33)], rows))
    assert told == [BestFound("own fibers unix", "own fibers@128 unix", ())]
    alone = [structs.replace(each, blocks=1) for each in (row(25, 10, None, None), row(128, 30, None, None))]
    assert next(iter(best_of(alone, rows))).alike == ("own fibers@25 unix",)
    assert list(best_of([row(25, 10, 9, 11)], rows)) == []
    # The control is one of them: two processes may be slower than it.
    control = RowFound("own sync unix", 1.0, blocks=3)
    several = RowFound("own sync x2 unix", 0.5, 0.5, 0.4, 0.6, blocks=3)
    assert list(best_of([control, several], (ConnectorRow("own"), ConnectorRow("own", processes=2)))) == [
        BestFound("own sync unix", "own sync unix", ())
    ]


def test_a_page_is_of_a_study_and_has_a_directory(tmp_path: Path) -> None:
    check_page(tmp_path / "page.md", is_study=True)
    with pytest.raises(UsageError, match="this is no study"):
        check_page(tmp_path / "page.md", is_study=False)
    with pytest.raises(UsageError, match="there is no such directory"):
        check_page(tmp_path / "none" / "page.md", is_study=True)


def test_an_operation_whose_syscalls_were_not_counted_is_not_finished(tmp_path: Path) -> None:
    assert not is_counted(tmp_path)
    replace_record(tmp_path / SYSCALLS, SyscallsFound(1, missing="no strace"))
    assert is_counted(tmp_path)
