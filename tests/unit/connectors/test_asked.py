"""Operations and rows, as they are asked for on the command line."""

from pathlib import Path

import pytest

from phpdyno.commands.connectors.asked import OPERATIONS, SWEEP, divided, operations_of, paths_of, rows_in, rows_of
from phpdyno.errors import UsageError
from phpdyno.model.connector import CEILING, Row


def names(*, connectors: str = "own", engines: str = "sync,fibers", in_flight: str = "25", over: str = "unix") -> list[str]:
    """Of all rows but the ceilings, which are the last."""
    rows = rows_of(connectors=connectors, engines=engines, in_flight=in_flight, over=over)
    ways = len(over.split(","))
    assert [row.connector for row in rows[-ways:]] == [CEILING] * ways
    return [row.name for row in rows[:-ways]]


def test_operations_are_listed_or_all_of_the_references() -> None:
    assert operations_of(" select, sql-select-prepared,select") == ("select", "sql-select-prepared")
    assert operations_of("all") == OPERATIONS


def test_the_control_is_one_request_at_a_time_whatever_is_asked_for() -> None:
    assert names() == ["own sync unix", "own fibers@25 unix"]
    assert names(engines="batch", over="tcp,unix") == ["own sync tcp", "own batch@25 tcp", "own batch@25 unix"]


def test_every_engine_is_measured_with_every_number_in_flight_over_every_transport() -> None:
    assert names(engines="sync,fibers", in_flight="25,128", over="unix,tcp") == [
        *("own sync unix", "own fibers@25 unix", "own fibers@128 unix"),
        *("own sync tcp", "own fibers@25 tcp", "own fibers@128 tcp"),
    ]


def test_a_client_has_the_engines_that_it_can_be_driven_by_and_sockets_are_not_had_by_hundreds() -> None:
    assert names(connectors="own,tarantool-php", engines="sync,batch") == ["own sync unix", "own batch@25 unix", "tarantool-php sync unix"]
    assert names(engines="fibers-sockets", in_flight="25,512") == ["own sync unix", "own fibers-sockets@25 unix"]


def test_what_cannot_be_built_beforehand_has_no_ceiling() -> None:
    rows = rows_of(connectors="own", engines="fibers", in_flight="25", over="unix")
    assert [row.connector for row in rows_in("sql-select", rows)] == ["own", "own", CEILING]
    assert [row.connector for row in rows_in("sql-select-prepared", rows)] == ["own", "own"]


def test_a_sweep_goes_from_one_to_the_most() -> None:
    rows = rows_of(connectors="own", engines="fibers", in_flight="7", over="unix", sweep=True)
    assert [row.in_flight for row in rows[1:-1]] == list(SWEEP)


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"engines": "fibres"}, r"there is no engine 'fibres'.*fibers"),
        ({"engines": ","}, "this names no engine"),
        ({"connectors": "redis"}, "there is no connector 'redis'; known: own"),
        ({"over": "udp"}, "there is no transport 'udp'"),
        ({"in_flight": "0"}, "'0' is no number of operations from 1 to 512"),
        ({"in_flight": "25,1000"}, "'1000' is no number of operations"),
        ({"in_flight": "٣"}, "is no number of operations"),
    ],
)
def test_what_is_no_row_is_refused_in_one_line(lists: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        names(**lists)


@pytest.mark.parametrize("text", ["", "selekt", "select,"])
def test_what_is_no_operation_is_refused(text: str) -> None:
    if text == "select,":
        assert operations_of(text) == ("select",)
        return
    with pytest.raises(UsageError, match="no operation"):
        operations_of(text)


def test_a_client_of_somebody_elses_is_measured_where_it_is_and_skipped_with_the_reason_where_not(tmp_path: Path) -> None:
    loader = tmp_path / "autoload.php"
    loader.touch()
    rows = rows_of(connectors="own,tarantool-php", engines="sync", in_flight="25", over="unix")
    kept, skipped = divided(rows, paths_of([f"tarantool-php={loader}"]))
    assert [row.autoload for row in kept] == [(), (str(loader),), ()]
    assert skipped == {}
    kept, skipped = divided(rows, {})
    assert kept == (Row("own"), Row(CEILING, "window", 512))
    assert skipped == {"tarantool-php sync unix": "it is not here: give it with --with tarantool-php=PATH"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tarantool-php", "this is not NAME=PATH"),
        ("own=x.php", "there is no connector that is given by a path 'own'"),
        ("tarantool-php=/nonexistent/autoload.php", "there is no such file"),
    ],
)
def test_what_loads_no_client_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        paths_of([text])
