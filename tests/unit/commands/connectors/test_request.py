"""Operations and rows, as they are asked for on the command line."""

from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.commands.connectors.clients import Here, equipped
from phpdyno.commands.connectors.operations import OPERATIONS
from phpdyno.commands.connectors.request import SWEEP, check_operation, divided, operations_of, paths_of, rows_in, rows_of
from phpdyno.errors import UsageError
from phpdyno.model.runs.connector import CEILING, ConnectorRow


def names(
    *,
    connectors: str = "own",
    engines: str = "sync,fibers",
    in_flight: str = "25",
    over: str = "unix",
    packers: str = "pure",
    processes: str = "1",
) -> list[str]:
    """Of all rows but the ceilings, which are the last."""
    rows = rows_of(connectors=connectors, engines=engines, in_flight=in_flight, over=over, packers=packers, processes=processes)
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


def test_packers_and_processes_multiply_where_the_client_has_them() -> None:
    assert names(packers="pure,codec,msgpack", engines="sync") == ["own sync unix", "own msgpack sync unix"]
    assert names(processes="1,2", engines="fibers") == ["own sync unix", "own fibers@25 unix", "own fibers@25 x2 unix"]
    # Threads are of one process, and no hundreds.
    assert names(processes="1,2", engines="threads", in_flight="16,128") == ["own sync unix", "own threads@16 unix"]


def test_a_client_without_sql_has_no_row_in_it() -> None:
    rows = rows_of(connectors="pecl", engines="swoole", in_flight="25", over="tcp")
    assert [row.connector for row in rows_in("select", rows)] == ["pecl", "pecl", CEILING]
    assert [row.connector for row in rows_in("sql-select", rows)] == [CEILING]


def test_what_cannot_be_built_beforehand_has_no_ceiling() -> None:
    rows = rows_of(connectors="own", engines="fibers", in_flight="25", over="unix")
    assert [row.connector for row in rows_in("sql-select", rows)] == ["own", "own", CEILING]
    assert [row.connector for row in rows_in("sql-select-prepared", rows)] == ["own", "own"]
    rows = rows_of(connectors="own", engines="batch,window,fibers", in_flight="25", over="unix")
    assert [row.engine for row in rows_in("sql-select-prepared", rows)] == ["sync", "fibers"]


def test_an_operation_that_the_control_cannot_do_or_nobody_beside_it_is_refused() -> None:
    rows = rows_of(connectors="pecl,own", engines="sync", in_flight="25", over="tcp")
    check_operation("select", rows)
    with pytest.raises(UsageError, match="--ops sql-select: the control, pecl sync tcp, cannot do it"):
        check_operation("sql-select", rows)
    rows = rows_of(connectors="own", engines="batch", in_flight="25", over="tcp")
    with pytest.raises(UsageError, match="--ops sql-select-prepared: no row can do it beside the control"):
        check_operation("sql-select-prepared", rows)


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
        ({"in_flight": ","}, "'' is no number of operations"),
        ({"processes": "17"}, "'17' is no number of processes from 1 to 16"),
        ({"packers": "json"}, "there is no packer 'json'; known: codec, msgpack, pure"),
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
    kept, skipped = divided(rows, Here(paths_of([f"tarantool-php={loader}"])))
    assert [row.autoload for row in kept] == [(), (str(loader),), ()]
    assert skipped == {}
    kept, skipped = divided(rows, Here({}))
    assert kept == (ConnectorRow("own"), ConnectorRow(CEILING, "window", 512))
    assert skipped == {"tarantool-php sync unix": "it is not here: give it with --with tarantool-php=PATH"}


def test_an_extension_is_loaded_by_its_path_unless_the_php_has_it(tmp_path: Path) -> None:
    (module := tmp_path / "tarantool.so").touch()
    row = ConnectorRow("pecl", "sync", 1, "tcp")
    assert equipped(row, Here({"pecl": module})) == (structs.replace(row, settings=(("ext.tarantool", str(module)),)), "")
    assert equipped(row, Here({"pecl": module}, frozenset({"tarantool"}))) == (row, "")
    assert equipped(row, Here({})) == (row, "it is not here: give it with --with pecl=PATH")
    assert equipped(structs.replace(row, transport="unix"), Here({"pecl": module}))[1] == (
        "this client speaks tcp only: ask for --over tcp"
    )


def test_a_packer_and_an_engine_need_what_they_are_made_of(tmp_path: Path) -> None:
    (module := tmp_path / "msgpack.so").touch()
    (loader := tmp_path / "autoload.php").touch()
    packed, revolt = ConnectorRow("own", packer="msgpack"), ConnectorRow("own", "revolt", 25)
    assert equipped(packed, Here({}))[1] == "it is not here: give it with --with msgpack=PATH"
    assert equipped(packed, Here({"msgpack": module}))[0].settings == (("ext.msgpack", str(module)),)
    assert equipped(packed, Here({}, frozenset({"msgpack"}))) == (packed, "")
    assert equipped(revolt, Here({}))[1] == "it is not here: give it with --with revolt=PATH"
    assert equipped(revolt, Here({"revolt": loader}))[0].autoload == (str(loader),)


def test_threads_have_a_php_of_their_own_and_what_that_one_has(tmp_path: Path) -> None:
    (module := tmp_path / "parallel.so").touch()
    row, zts = ConnectorRow("tarantool-php", "threads", 16), {"php": "/opt/php"}
    (loader := tmp_path / "autoload.php").touch()
    here = {"tarantool-php": loader}
    assert equipped(row, Here(here))[1] == "it is not here: give a PHP for threads with --with php-zts=PATH"
    built_in = frozenset({"php-zts"})
    assert equipped(row, Here(here, built_in_zts=built_in, zts=zts))[1] == "it is not here: give it with --with parallel=PATH"
    found, why = equipped(row, Here({**here, "parallel": module}, built_in_zts=built_in, zts=zts))
    assert (found.settings, why) == ((("php", "/opt/php"), ("ext.parallel", str(module))), "")
    # What the run's own PHP has is nothing to this one.
    assert equipped(row, Here(here, frozenset({"parallel"}), built_in, zts))[1] != ""
    found, why = equipped(row, Here(here, built_in_zts=built_in | {"parallel"}, zts=zts))
    assert (found.settings, why) == ((("php", "/opt/php"),), "")
    # The run's own PHP may be one for threads.
    assert equipped(row, Here(here, frozenset({"php-zts", "parallel"})))[0].settings == ()
    # Our own classes run without opcache in them.
    own = structs.replace(row, connector="own")
    assert equipped(own, Here({}, frozenset({"php-zts", "parallel"})))[0].settings == (("ini.opcache.enable_cli", "0"),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tarantool-php", "this is not NAME=PATH"),
        ("own=x.php", "there is no client, engine or PHP that is given by a path 'own'"),
        ("tarantool-php=/nonexistent/autoload.php", "there is no such file"),
    ],
)
def test_what_loads_no_client_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        paths_of([text])
