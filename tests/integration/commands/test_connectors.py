"""Clients of Tarantool held against each other on the real server, from the command line to what is
printed."""

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from phpdyno.apps.built_in.debian import PackageRecipe, prepared
from phpdyno.apps.built_in.packages import fetch_packages
from phpdyno.apps.source import silent
from phpdyno.commands.connectors.operations import KNOWN
from phpdyno.paths import cache_dir, live_root
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.server import SCRIPT
from tests.support.places import ROOT
from tests.support.real.command import await_journal, fault_of, phpdyno, start
from tests.support.traces import wait_for_no_traces

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("tarantool")]

ELSEWHERE = frozenset({"ping", "select", "delete", "sql-select", "sql-delete"})
"""Operations that other tests carry out, the last two as prepared statements."""
FAKE = ROOT / "tests" / "support" / "clients" / "fake_tarantool_php.php"


def measured(runs: Path, *asked: str, timeout_s: float = 240.0, status: int = 0) -> dict[str, Any]:
    """What the command tells as JSON."""
    answer = phpdyno("connectors", *asked, "--runs", runs, "--json", timeout_s=timeout_s)
    assert answer.returncode == status, answer.stderr
    told: dict[str, Any] = msgspec.json.decode(answer.stdout)
    return told


def test_many_in_flight_are_faster_than_one_and_every_answer_is_right(tmp_path: Path) -> None:
    found = measured(tmp_path, "--ops", "select", "--in-flight", "128", "--budget", "8s")
    (part,) = found["parts"]
    rows = {row["row"]: row for row in part["rows"]}
    assert list(rows) == [
        *("own sync unix", "own fibers@128 unix", "own batch@128 unix", "own window@128 unix", "ceiling window@512 unix"),
    ]
    assert part["finished"]
    for row in rows.values():
        assert (row["problem"], row["failed"]) == ("", 0)
        assert row["operations_per_s"] > 0
        assert row["client_ns"] > 0
        assert row["server_ns"] > 0
        assert row["p99_ns"] >= row["p50_ns"] > 0
    for name in list(rows)[1:]:
        # A round trip is shared by 128: on any host that is more than three times as fast.
        assert rows[name]["ratio"] > 3, rows[name]
        assert 0 < rows[name]["of_ceiling"] <= 1.1, rows[name]
    assert wait_for_no_traces() == []


@pytest.mark.long
@pytest.mark.slow
def test_every_operation_is_carried_out_rightly(tmp_path: Path) -> None:
    operations = [name for name in KNOWN if not name.endswith("-prepared") and name not in ELSEWHERE]
    budget = f"{3 * len(operations)}s"
    asked = ("--engines", "fibers,window", "--in-flight", "25", "--budget", budget)
    found = measured(tmp_path, "--ops", ",".join(operations), *asked, timeout_s=400)
    assert [part["operation"] for part in found["parts"]] == operations
    problems = {(part["operation"], row["row"]): (row["problem"], row["failed"]) for part in found["parts"] for row in part["rows"]}
    assert {key: told for key, told in problems.items() if told != ("", 0)} == {}


@pytest.mark.long
@pytest.mark.slow
def test_prepared_statements_are_carried_out_rightly(tmp_path: Path) -> None:
    operations = [name for name in KNOWN if name.endswith("-prepared")]
    found = measured(tmp_path, "--ops", ",".join(operations), "--engines", "sync,fibers", "--in-flight", "25", "--budget", "24s")
    problems = {(part["operation"], row["row"]): (row["problem"], row["failed"]) for part in found["parts"] for row in part["rows"]}
    assert {key: told for key, told in problems.items() if told != ("", 0)} == {}


@pytest.mark.long
def test_every_engine_deletes_rightly(tmp_path: Path) -> None:
    """A tuple is there once."""
    engines = "sync,fibers,fibers-sockets,batch,window"
    found = measured(tmp_path, "--ops", "delete", "--engines", engines, "--in-flight", "25", "--budget", "15s")
    (part,) = found["parts"]
    assert [(row["problem"], row["failed"]) for row in part["rows"]] == [("", 0)] * 6


def test_a_client_that_answers_wrongly_has_no_figure(tmp_path: Path) -> None:
    asked = ("--ops", "select", "--connectors", "own,tarantool-php", "--engines", "sync", "--budget", "5s")
    found = measured(tmp_path / "with", *asked, "--with", f"tarantool-php={FAKE}", status=1)
    _, theirs, _ = found["parts"][0]["rows"]
    assert theirs["operations_per_s"] is None
    assert "a wrong answer" in theirs["problem"] or "answers differently" in theirs["problem"]


@pytest.mark.long
def test_several_processes_share_the_work_and_all_of_them_are_metered(tmp_path: Path) -> None:
    asked = ("--ops", "select", "--engines", "sync,fibers", "--in-flight", "25", "--processes", "1,2", "--budget", "20s")
    found = measured(tmp_path, *asked)
    (part,) = found["parts"]
    rows = {row["row"]: row for row in part["rows"]}
    assert list(rows)[:4] == ["own sync unix", "own sync x2 unix", "own fibers@25 unix", "own fibers@25 x2 unix"]
    assert {(row["problem"], row["failed"]) for row in rows.values()} == {("", 0)}
    # One of two processes would have half of it.
    assert 0.7 < rows["own fibers@25 x2 unix"]["client_ns"] / rows["own fibers@25 unix"]["client_ns"] < 3
    assert {each["kind"] for each in part["best"]} == {"own sync unix", "own fibers unix"}


def test_syscalls_of_every_client_over_both_transports_one_that_is_not_here_and_a_budget_that_is_too_small(tmp_path: Path) -> None:
    asked = ("--ops", "ping", "--connectors", "own,tarantool-php", "--engines", "sync,fibers,batch", "--in-flight", "128")
    found = measured(tmp_path, *asked, "--over", "unix,tcp", "--budget", "6s")
    why, clients = "it is not here: give it with --with tarantool-php=PATH", ("sync", "fibers@128")
    assert found["skipped"] == {f"tarantool-php {client} {over}": why for client in clients for over in ("unix", "tcp")}
    (part,) = found["parts"]
    rows = {row["row"]: (row["problem"], row["high"]) for row in part["rows"]}
    kinds = ("own sync", "own fibers@128", "own batch@128", "ceiling window@512")
    # Both transports share one server; one block has a ratio without an interval.
    assert rows == {f"{kind} {over}": ("", None) for kind in kinds for over in ("unix", "tcp")}
    counted = {row["row"]: row["syscalls"] for row in part["rows"]}
    if part["no_syscalls"]:
        pytest.skip(part["no_syscalls"])
    # Written, waited for, read: each once, and two questions who we are.
    assert 3 <= counted["own sync unix"] < 7
    assert counted["own fibers@128 unix"] < 0.5
    assert counted["own batch@128 unix"] < 0.5
    assert counted["ceiling window@512 unix"] is None


@pytest.mark.long
def test_a_packer_by_an_extension_that_is_not_installed_answers_the_same(supervisor: Supervisor, tmp_path: Path) -> None:
    def build(place: Path, versions: Mapping[str, str]) -> None:
        fetch_packages(supervisor, versions, place)

    entry, _ = prepared(PackageRecipe("php-msgpack", "PHP's msgpack", ("php8.2-msgpack",), {}, build), cache_dir(), silent)
    (module,) = (entry / "usr/lib/php").glob("*/msgpack.so")
    asked = ("--ops", "select,update", "--engines", "sync", "--packers", "pure,msgpack", "--with", f"msgpack={module}", "--budget", "16s")
    found = measured(tmp_path, *asked)
    problems = {(part["operation"], row["row"]): (row["problem"], row["failed"]) for part in found["parts"] for row in part["rows"]}
    assert ("select", "own msgpack sync unix") in problems
    assert set(problems.values()) == {("", 0)}


def test_a_study_gives_its_page_and_says_what_is_not_here(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    study = tmp_path / "small.toml"
    text = (ROOT / "studies" / "connectors.toml").read_text()
    study.write_text(re.sub(r"^operations = .*$", 'operations = ["ping"]', text, flags=re.MULTILINE))
    answer = phpdyno("connectors", "--study", study, "--page", page, "--budget", "12s", "--runs", tmp_path / "runs", timeout_s=240)
    assert answer.returncode == 0, answer.stderr
    written = page.read_text()
    assert "| `swoole__client__packer_pecl__co25` | `tarantool-php msgpack swoole@25 tcp` | skipped | it is not here: give it" in written
    assert re.search(r"\| our client, 25 Fibers on one socket \| [\d,]{5,} \|", written)
    assert str(tmp_path) not in written
    (run,) = (tmp_path / "runs").iterdir()
    again = phpdyno("connectors", "--show", run, "--page", tmp_path / "again.md")
    assert again.returncode == 0
    assert (tmp_path / "again.md").read_text() == written


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("php-zts=/nonexistent/php", "there is no such file"),
        ("php-zts=no-such-build", "there is no build 'no-such-build'"),
        (f"php-zts={shutil.which('php') or '/usr/bin/php'}", "this PHP is not built for threads"),
    ],
)
def test_what_is_no_php_for_threads_is_refused(tmp_path: Path, given: str, why: str) -> None:
    answer = phpdyno("connectors", "--engines", "threads", "--with", given, "--runs", tmp_path)
    assert (answer.returncode, why in fault_of(answer.stderr)) == (2, True), answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    asked = ("--ops", "ping,select", "--engines", "sync,window", "--in-flight", "25", "--budget", "10s")
    working = start("connectors", *asked, "--runs", tmp_path, "--json")
    await_journal(tmp_path, "block", by=working)
    working.send_signal(signal.SIGINT)
    _, errors = working.communicate(timeout=60)
    assert working.returncode == 130
    (run,) = tmp_path.iterdir()
    assert f"phpdyno: interrupted; go on with: phpdyno connectors --resume {run}" in errors
    answer = phpdyno("connectors", "--resume", run, "--json", timeout_s=120)
    assert answer.returncode == 0, answer.stderr
    assert [part["finished"] for part in msgspec.json.decode(answer.stdout)["parts"]] == [True, True]
    again = phpdyno("connectors", "--resume", run)
    assert (again.returncode, "this run is finished" in fault_of(again.stderr)) == (2, True)
    shown = phpdyno("connectors", "--show", run)
    assert shown.returncode == 0
    assert "own window@25 unix" in shown.stdout
    assert wait_for_no_traces() == []


def our_server() -> int:
    """The Tarantool below the live root of this session: other tests may run one beside it."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            titled = SCRIPT.name.encode() in (process / "cmdline").read_bytes()
            if titled and (process / "cwd").readlink().is_relative_to(live_root()):
                return int(process.name)
    raise AssertionError("no server runs")


def test_a_server_that_is_killed_ends_the_run_in_one_line(tmp_path: Path) -> None:
    working = start("connectors", "--ops", "select", "--engines", "sync,window", "--in-flight", "25", "--budget", "60s", "--runs", tmp_path)
    await_journal(tmp_path, "block", by=working)
    os.kill(our_server(), signal.SIGKILL)
    _, errors = working.communicate(timeout=60)
    assert working.returncode == 1
    assert "Tarantool was ended by SIGKILL" in fault_of(errors.splitlines()[-1]), errors
    assert wait_for_no_traces() == []


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("--ops", "selekt"), "there is no operation 'selekt'"),
        (("--engines", "sync"), "there is nothing to hold against the control"),
        (("--in-flight", "0"), "'0' is no number of operations from 1 to 512"),
        (("--server", "/bin/true"), "this is no Tarantool"),
        (("--php", "/usr/sbin/php-fpm8.2"), "this is not a command-line PHP"),
        (("--resume", "/nonexistent"), "this is no run of connectors"),
        (("--budget", "soon"), "'soon' is not a duration"),
        (("--connectors", "tarantool-php,own"), "the control, tarantool-php sync unix, cannot be measured"),
        (("--engines", "batch", "--ops", "sql-select-prepared"), "no row can do it beside the control"),
        (("--page", "page.md"), "this is no study"),
        (("--study", "/nonexistent.toml"), "there is no such file"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(tmp_path: Path, asked: tuple[str, ...], why: str) -> None:
    answer = phpdyno("connectors", *asked, "--runs", tmp_path)
    assert answer.returncode in {1, 2}
    assert why in fault_of(answer.stderr.splitlines()[-1]), answer.stderr
