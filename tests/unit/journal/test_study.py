"""study.json: replaced whole, read back exactly, refused when damaged or newer."""

from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.study import STUDY_FILE, STUDY_SCHEMA, StudyPart, read_study, write_study
from tests.support.made_up.studies import counts, record_of, small_study


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    record = record_of(small_study(tmp_path), {"blog-cpu": "failed"}, counts())
    write_study(tmp_path, record)
    assert read_study(tmp_path) == record
    assert not list(tmp_path.glob("*.new"))


def test_a_part_that_ended_replaces_itself_and_its_counts(tmp_path: Path) -> None:
    record = record_of(small_study(tmp_path), {"shop-syscalls": "impossible"}, counts())
    again = structs.replace(counts()[0], requests=7)
    after = record.with_part(StudyPart("shop-syscalls", "syscalls", "done"), (again,))
    assert {each.name: each.state for each in after.parts}["shop-syscalls"] == "done"
    assert sorted((each.arm, each.requests) for each in after.counts) == [("control", 500), ("no opcache", 7)]
    assert len(after.parts) == len(record.parts)


def test_no_study_a_damaged_one_and_a_newer_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no study here"):
        read_study(tmp_path)
    write_study(tmp_path, record_of(small_study(tmp_path)))
    path = tmp_path / STUDY_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DynoError, match="cannot be used"):
        read_study(tmp_path)
    newer = msgspec.json.decode(whole) | {"schema": STUDY_SCHEMA + 1}
    path.write_bytes(msgspec.json.encode(newer))
    with pytest.raises(DynoError, match=f"schema {STUDY_SCHEMA + 1} and this phpdyno reads up to"):
        read_study(tmp_path)


def test_a_disk_that_takes_no_more_is_said(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="cannot write"):
        write_study(tmp_path / "gone", record_of(small_study(tmp_path)))
