"""The journal survives a cut, refuses a newer schema, and says what to do when the disk is full."""

import errno
import os
from pathlib import Path

import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.comparison.state import FAILED, RunState
from phpdyno.journal.reader import drop_cut_off_line, find_journal, read_journal
from phpdyno.journal.records import SCHEMA, BlockDone, Concluded, Ended, Header, Incident, Planned, Record
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm, PhpBuild
from phpdyno.model.plan import MAX_LAG_OF_CPU, Plan
from phpdyno.model.verdict import Verdict
from phpdyno.model.workload import Target, Workload

PHP = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.0")
PLAN = Plan("hello", "1", Workload((Target("/"),)), Arm("control", PHP), (Arm("one", PHP, {}, {"ini.x": "1"}), Arm("two", PHP)))
HEADER = Header(SCHEMA, "0.1.0", "compare", "2026-01-01T00:00:00", ())
RECORDS: list[Record] = [HEADER, Planned(PLAN), BlockDone(0, 1.0, 2.5, (), "samples/block-0000.npz"), Ended("interrupted", "", 3.0)]


def write(path: Path, records: list[Record]) -> Path:
    with JournalWriter(path) as journal:
        for record in records:
            journal.append(record)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = write(tmp_path / "journal.jsonl", RECORDS)
    assert read_journal(path) == RECORDS
    assert find_journal(tmp_path) == path


def test_a_plan_of_before_cpu_had_a_lag_of_its_own_is_held_to_what_it_declared(tmp_path: Path) -> None:
    declared = structs.replace(PLAN, max_lag=0.1, max_lag_of_cpu=MAX_LAG_OF_CPU)
    path = write(tmp_path / "journal.jsonl", [HEADER, Planned(declared)])
    assert RunState.replay(read_journal(path)).plan.limits_of("cpu").lag == MAX_LAG_OF_CPU
    before = path.read_text().replace(f',"max_lag_of_cpu":{MAX_LAG_OF_CPU}', "")
    assert "max_lag_of_cpu" not in before
    path.write_text(before)
    resumed = RunState.replay(read_journal(path)).plan
    assert (resumed.limits_of("cpu").lag, resumed.limits_of("throughput").lag) == (0.1, 0.1)


@pytest.mark.parametrize("cut", [1, 2, 10, 40])
def test_a_line_cut_off_by_a_crash_is_left_out_and_dropped_before_appending(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "journal.jsonl", RECORDS)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_journal(path) == RECORDS[:-1]
    assert drop_cut_off_line(path)
    assert not drop_cut_off_line(path)
    write(path, [RECORDS[-1]])
    assert read_journal(path) == RECORDS


def test_every_possible_cut_leaves_a_readable_journal_or_a_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path / "journal.jsonl", RECORDS)
    whole = path.read_bytes()
    header_bytes = whole.index(b"\n") + 1
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length < header_bytes:
            with pytest.raises(DynoError, match="cannot be used"):
                read_journal(path)
        else:
            assert read_journal(path) == RECORDS[: whole[:length].count(b"\n")]


def test_damage_in_the_middle_names_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "journal.jsonl", RECORDS)
    lines = path.read_bytes().split(b"\n")
    lines[1] = b'{"type":"plan"'
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DynoError, match="line 2 is damaged"):
        read_journal(path)


@pytest.mark.parametrize("number", [1, 2])
def test_bytes_that_are_no_text_are_damage(tmp_path: Path, number: int) -> None:
    path = write(tmp_path / "journal.jsonl", RECORDS)
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = lines[number - 1].replace(b'"type":"', b'"type":"\xff')
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DynoError, match=f"line {number} is damaged"):
        read_journal(path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"type":"header","schema":99,"brand_new":true}\n')
    with pytest.raises(DynoError, match="schema 99"):
        read_journal(path)


def test_no_journal_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no journal"):
        find_journal(tmp_path)


def test_a_full_disk_says_so() -> None:
    with JournalWriter(Path("/dev/full")) as journal, pytest.raises(DynoError, match="the disk is full") as caught:
        journal.append(HEADER)
    assert "--resume" in str(caught.value)


def test_state_is_rebuilt_from_the_journal() -> None:
    verdict = Verdict("two", "invalid", reason="crashed")
    state = RunState.replay([*RECORDS, Incident(1, "one", FAILED, "502"), Concluded(verdict)])
    assert state.plan == PLAN
    assert state.next_block == 2
    assert state.spent_s == 2.5
    assert state.open_treatments() == ["one"]
    assert state.failed_blocks == {"one": 1}
    assert state.verdicts == {"two": verdict}


def test_a_line_that_did_not_fit_leaves_no_fragment_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "journal.jsonl", [HEADER])
    really_write = os.write
    calls = iter([lambda fd, data: really_write(fd, data[:10]), _no_space])

    def fill_up(fd: int, data: bytes) -> int:
        return next(calls)(fd, data)

    with JournalWriter(path) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", fill_up)
            with pytest.raises(DynoError, match="the disk is full"):
                journal.append(RECORDS[1])
        journal.append(RECORDS[3])
    assert read_journal(path) == [HEADER, RECORDS[3]]


def test_what_is_no_text_is_refused_and_the_journal_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as journal:
        with pytest.raises(DynoError, match="is not UTF-8 text"):
            journal.append(Header(SCHEMA, "0.1.0", "compare", "2026-01-01T00:00:00", ("--docroot", "/srv/caf\udce9")))
        journal.append(HEADER)
    assert read_journal(path) == [HEADER]


def test_the_next_block_is_never_an_earlier_one() -> None:
    state = RunState.replay([*RECORDS, Incident(2, "one", FAILED, "502"), BlockDone(1, 2.5, 4.0, (), "samples/block-0001.npz")])
    assert state.next_block == 3


def _no_space(fd: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
