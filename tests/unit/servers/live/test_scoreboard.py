"""php-fpm's scoreboard in the layouts of its versions: each is read, and taken for no other."""

import os
import struct
from pathlib import Path

import pytest

from phpdyno.servers.live.scoreboard import LAYOUTS, SLOT_BYTES, ScoreboardLayout, busy_of, fault_of, head_of, holds_name, slots_of
from phpdyno.servers.live.scoreboard_reader import NoScoreboard, ScoreboardReader
from tests.support.made_up.hosts import made_up
from tests.support.made_up.scoreboards import START, Laid, scoreboard

NOW_S = 1_700_000_100.0
WORKERS = [Laid(11, requests=5, stage=4), Laid(12, requests=2), None, None]


def fault(data: bytes, layout: ScoreboardLayout, *, pool: str = "www", workers: frozenset[int] | None = frozenset({11, 12})) -> str:
    return fault_of(data, layout, pool, start=START, mapped=len(data), now_s=NOW_S, workers=workers)


def named(layout: ScoreboardLayout) -> str:
    return layout.versions


@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
@pytest.mark.parametrize("count", [1, 4, 7, 100, 250])
def test_each_layout_is_read_and_taken_for_no_other(layout: ScoreboardLayout, count: int) -> None:
    workers: list[Laid | None] = [Laid(100 + at, stage=1 + at % 6) for at in range(count - count // 3)]
    workers += [None] * (count - len(workers))
    data = scoreboard(layout, workers)
    here = frozenset(range(100, 100 + count))
    assert holds_name(data, "www")
    assert [each.versions for each in LAYOUTS if not fault(data, each, workers=here)] == [layout.versions]
    head = head_of(data, layout)
    assert (head.pool, head.pm, head.started_s, head.requests, head.max_children) == ("www", "dynamic", 1_700_000_000, 77, count)
    assert (head.max_children_reached, head.slow_requests, head.most_active) == (3, 4, 9)
    slots = slots_of(data, layout, count)
    assert [slot.pid for slot in slots] == [worker.pid for worker in workers if worker]
    assert busy_of(data, layout, count) == sum(slot.busy for slot in slots)


def test_of_a_worker_its_times_are_read() -> None:
    slot = slots_of(scoreboard(LAYOUTS[0], WORKERS), LAYOUTS[0], 4)[0]
    assert (slot.pid, slot.requests, slot.stage, slot.accepted_s, slot.duration_s, slot.busy) == (11, 5, 4, 5.5, 0.25, True)


@pytest.mark.parametrize("versions", ["7.4.25", "8.0.12", "8.3.15", "8.4.0", "8.4.2"])
def test_where_the_heads_of_versions_end(versions: str) -> None:
    """By hand from the declarations: name, pm, start_epoch, …, slow_rq, memory_peak (8.4), shared
    (8.0), procs."""
    layout = next(layout for layout in LAYOUTS if versions in layout.versions)
    assert layout.procs_at == {"7.4.25": 120, "8.0.12": 128, "8.3.15": 136, "8.4.0": 136, "8.4.2": 144}[versions]


def test_a_name_is_cut_as_php_fpm_cuts_it() -> None:
    long = "a-pool-with-a-name-of-more-than-32-characters"
    data = scoreboard(LAYOUTS[0], WORKERS, pool=long)
    assert holds_name(data, long)
    assert not fault(data, LAYOUTS[0], pool=long)
    assert not holds_name(data, "a-pool")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"pm": 4}, "pm is 4"),
        ({"started_s": 12}, "its start time is none"),
        ({"idle": -1}, "1 workers are active and -1 idle"),
        ({"pool": "shop"}, "the pool's name is not where it should be"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(changed: dict[str, int], why: str) -> None:
    assert fault(scoreboard(LAYOUTS[0], WORKERS, **changed), LAYOUTS[0]) == why  # type: ignore[arg-type]


def test_a_mapping_of_another_size_is_refused() -> None:
    data = scoreboard(LAYOUTS[0], WORKERS)
    assert "its mapping has" in fault(data + bytes(4096), LAYOUTS[0])


@pytest.mark.parametrize(("offset", "value", "why"), [(16, 7, "neither used nor free"), (48, 9, "in stage 9"), (48, -2, "in stage")])
def test_a_slot_that_does_not_fit_is_refused(offset: int, value: int, why: str) -> None:
    data = bytearray(scoreboard(LAYOUTS[0], WORKERS))
    struct.pack_into("=i", data, LAYOUTS[0].procs_at + SLOT_BYTES + offset, value)
    assert why in fault(bytes(data), LAYOUTS[0])


def test_a_process_that_is_none_of_its_workers_is_refused() -> None:
    assert fault(scoreboard(LAYOUTS[0], WORKERS), LAYOUTS[0], workers=frozenset({13})) == "process 11 is none of its workers"
    assert not fault(scoreboard(LAYOUTS[0], WORKERS), LAYOUTS[0], workers=frozenset({11})), "one may have ended a moment ago"
    assert fault(scoreboard(LAYOUTS[0], [Laid(12)]), LAYOUTS[0], workers=frozenset({11}))
    assert not fault(scoreboard(LAYOUTS[0], WORKERS), LAYOUTS[0], workers=None)


def test_only_where_php_fpms_own_counters_are_known_to_be_wrong_they_are_not_believed() -> None:
    assert [layout.versions for layout in LAYOUTS if layout.counts_wrong] == ["8.4.0 and 8.4.1"]


def memory_of(root: Path, *mappings: bytes) -> Path:
    """A process whose memory begins with these mappings, one page apart."""
    lines, data, at = [], b"", 0x1000
    for held in mappings:
        lines.append(f"{at:x}-{at + len(held):x} rw-s 00000000 00:01 7    /dev/zero (deleted)")
        data = data.ljust(at, b"\0") + held
        at += len(held) + 0x1000
    made_up(root, {"/proc/9/maps": "\n".join(["0-10 r-xp 00000000 08:01 5 /usr/sbin/php-fpm", *lines]) + "\n"})
    (root / "proc/9/mem").write_bytes(data)
    return root


def test_of_several_pools_in_one_memory_the_one_that_is_meant_is_read(tmp_path: Path) -> None:
    root = memory_of(tmp_path, bytes(4096), scoreboard(LAYOUTS[0], [None], pool="www2"), scoreboard(LAYOUTS[0], WORKERS))
    reader = ScoreboardReader(9, "www", workers=frozenset({11, 12}), tree=made_up(root, {}))
    board = reader.read(workers=frozenset({11, 12}))
    assert (board.head.max_children, len(board.slots), reader.busy(), reader.layout) == (4, 2, 1, "8.0.12 to 8.3.14")
    reader.close()
    reader.close()


def test_without_a_worker_the_layout_stays_open_until_there_is_one(tmp_path: Path) -> None:
    empty = scoreboard(LAYOUTS[0], [None] * 2, idle=0, active=0)
    root = memory_of(tmp_path, empty)
    reader = ScoreboardReader(9, "www", workers=None, tree=made_up(root, {}))
    board = reader.read(workers=None)
    assert (board.head.max_children, board.slots, reader.busy()) == (2, [], 0)
    assert " or " in reader.layout
    with (root / "proc/9/mem").open("r+b") as memory:
        memory.seek(0x1000)
        memory.write(scoreboard(LAYOUTS[0], [Laid(11), None]))
    assert [slot.pid for slot in reader.read(workers=frozenset({11})).slots] == [11]
    assert reader.layout == "8.0.12 to 8.3.14"
    reader.close()


def test_an_unknown_layout_is_said(tmp_path: Path) -> None:
    strange = bytearray(scoreboard(LAYOUTS[0], WORKERS))
    struct.pack_into("=i", strange, 48, 17)
    root = memory_of(tmp_path, bytes(strange))
    with pytest.raises(NoScoreboard, match=r"a layout that phpdyno does not know \(pm is 17\)"):
        ScoreboardReader(9, "www", workers=None, tree=made_up(root, {}))


def test_a_memory_that_is_gone_is_said(tmp_path: Path) -> None:
    root = memory_of(tmp_path, scoreboard(LAYOUTS[0], WORKERS))
    reader = ScoreboardReader(9, "www", workers=None, tree=made_up(root, {}))
    os.truncate(root / "proc/9/mem", 0)
    with pytest.raises(NoScoreboard, match="its memory is gone"):
        reader.read(workers=None)
    with pytest.raises(NoScoreboard, match="its memory is gone"):
        reader.busy()
    reader.close()


def test_a_process_without_such_a_pool_is_said(tmp_path: Path) -> None:
    root = memory_of(tmp_path, scoreboard(LAYOUTS[0], WORKERS))
    with pytest.raises(NoScoreboard, match="no scoreboard of this pool"):
        ScoreboardReader(9, "shop", workers=None, tree=made_up(root, {}))
    with pytest.raises(NoScoreboard, match="it has ended"):
        ScoreboardReader(10, "www", workers=None, tree=made_up(root, {}))
