import os
from pathlib import Path
from typing import cast

import pytest

from phpdyno.commands.size.decision.caps import caps_of
from phpdyno.commands.size.measuring import limits, memory_guard
from phpdyno.commands.size.measuring.managers import settings_of
from phpdyno.commands.size.measuring.memory_guard import MemoryGuard, short
from phpdyno.commands.size.measuring.running_pools import Neighbours, full_kib
from phpdyno.commands.size.record import LimitsRead, PoolLimit
from phpdyno.commands.size.request import GivenLimits as Named
from phpdyno.commands.size.request import SizeRequest
from phpdyno.host.free_memory import Room, free_kib
from phpdyno.model.plan import AppSource
from phpdyno.model.runs.readings import WorkerMemory
from phpdyno.servers.live.watched_masters import WatchedMaster, WatchedPool
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.made_up import sizes
from tests.support.made_up.hosts import made_up

MEMINFO = "MemTotal: 4194304 kB\nMemFree: 100 kB\nMemAvailable: 2097152 kB\n"
NOBODY = cast("Supervisor", None)
V2 = {"/proc/self/cgroup": "0::/pod/web\n", "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/proc/meminfo": MEMINFO}


def read(tmp_path: Path, files: dict[str, str], **named: int) -> LimitsRead:
    asked = SizeRequest(AppSource("hello"), limits=Named(**named))
    return limits.read_limits(asked, NOBODY, None, tree=made_up(tmp_path, files))


def test_the_hosts_memory_less_a_tenth_is_the_limit(tmp_path: Path) -> None:
    found = read(tmp_path, {"/proc/meminfo": MEMINFO, "/proc/self/cgroup": "0::/\n", "/proc/mounts": ""})
    assert found.limits == (PoolLimit("memory", round(0.9 * 4_194_304), "this host's memory (4096 MiB), less 10 %"),)
    assert found.free_kib == 2_097_152


def test_a_pods_limit_is_tighter_than_the_host(tmp_path: Path) -> None:
    # s2i-php #416: 50 workers of 250 MB in a pod of 3 GB.
    pod = {"/sys/fs/cgroup/pod/memory.max": str(3 << 30), "/sys/fs/cgroup/pod/memory.current": str(1 << 30)}
    found = read(tmp_path, {**V2, **pod, "/sys/fs/cgroup/pod/web/memory.max": "max"})
    (memory,) = found.limits
    assert memory.value == round(0.9 * (3 << 20))
    assert "cgroup" in memory.source
    assert found.free_kib == 2 << 20


def test_what_is_named_counts_before_what_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, {"/proc/meminfo": MEMINFO}, memory_kib=524_288, others_kib=100_000, process_max=12, connections=30)
    assert found.limits == (
        PoolLimit("memory", 524_288, "--memory"),
        PoolLimit("process_max", 12, "--process-max"),
        PoolLimit("connections", 30, "--max-connections"),
    )
    assert found.others == {"named with --others": 100_000}


def test_pools_that_share_the_host_take_their_part(tmp_path: Path) -> None:
    # virtualmin-gpl #954: 60 pools on one RAM.
    beside = Neighbours({f"pool 1:site{number}": 50_000 for number in range(60)}, (), 40)
    asked = SizeRequest(AppSource("hello"))
    found = limits.read_limits(asked, NOBODY, None, beside=beside, tree=made_up(tmp_path, {"/proc/meminfo": MEMINFO}))
    assert sum(found.others.values()) == 3_000_000
    assert found.limits[1] == PoolLimit("process_max", 40, "process.max of the running master, over all of its pools")
    most = caps_of(asked, found, sizes.searched(sizes.cpu_bound(cores=2))).most
    assert most is not None
    assert most <= 40
    named = SizeRequest(AppSource("hello"), limits=Named(memory_kib=524_288))
    alone = limits.read_limits(named, NOBODY, None, beside=beside, tree=made_up(tmp_path, {"/proc/meminfo": MEMINFO}))
    assert alone.others == {}


def test_a_pool_is_reckoned_as_full() -> None:
    master = WatchedMaster(1, 0, "/etc/php-fpm.conf", 1, inside=False)
    pool = WatchedPool(master, "www", {"pm.max_children": "10"})
    workers = [WorkerMemory(pid, 8_000, 1_000, 5_000, 9_000) for pid in (2, 3)]
    assert full_kib(pool, workers) == 16_000 + 8 * 5_000
    assert full_kib(pool, None) is None
    assert full_kib(pool, []) is None
    assert full_kib(WatchedPool(master, "www", unread="no rights"), workers) is None


def test_a_limit_that_cannot_be_read_is_told_and_is_not_none(tmp_path: Path) -> None:
    (memory,) = read(tmp_path, {}).limits
    assert memory.value is None
    assert memory.unread
    (memory,) = read(tmp_path / "hidden", {"/proc/meminfo": MEMINFO}).limits
    assert memory.value == round(0.9 * 4_194_304)
    assert "/proc/self/cgroup cannot be read" in memory.unread


@pytest.mark.parametrize(("current", "cached", "free_mib"), [(1 << 30, 0, 2048), (3 << 30, 0, 0), (3 << 30, 512 << 20, 512)])
def test_files_that_nobody_uses_count_as_free_in_a_cgroup(current: int, cached: int, free_mib: int, tmp_path: Path) -> None:
    group = "/sys/fs/cgroup/pod/web"
    files = {
        f"{group}/memory.max": str(3 << 30),
        f"{group}/memory.current": str(current),
        f"{group}/memory.stat": f"inactive_file {cached}\n",
    }
    assert free_kib(made_up(tmp_path, {**V2, **files})) == free_mib * 1024


def test_where_nothing_tells_nothing_is_known(tmp_path: Path) -> None:
    assert free_kib(made_up(tmp_path, {})) is None


def test_the_tree_of_a_group_is_counted_once_in_v1(tmp_path: Path) -> None:
    group = "/sys/fs/cgroup/memory/web"
    files = {
        "/proc/self/cgroup": "4:memory:/web\n",
        "/proc/mounts": "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
        "/proc/meminfo": MEMINFO,
        f"{group}/memory.limit_in_bytes": str(1 << 30),
        f"{group}/memory.usage_in_bytes": str(1 << 30),
        f"{group}/memory.stat": f"inactive_file 99\ntotal_inactive_file {64 << 20}\ntotal_active_file {32 << 20}\n",
    }
    assert free_kib(made_up(tmp_path, files)) == 96 << 10


@pytest.mark.parametrize(
    ("rooms", "left"),
    [
        ([Room(4 << 20, 1 << 20)], None),
        ([Room(4 << 20, 100 << 10)], 100 << 10),
        # A small container on a large host is no reason to end a pool.
        ([Room(64 << 20, 30 << 20), Room(2 << 20, 1_848 << 10)], None),
        ([Room(64 << 20, 30 << 20), Room(2 << 20, 50 << 10)], 50 << 10),
        ([Room(128 << 10, 20 << 10)], None),
        ([Room(128 << 10, 10 << 10)], 10 << 10),
        ([], None),
    ],
)
def test_memory_is_kept_of_each_limit(rooms: list[Room], left: int | None) -> None:
    assert short(rooms) == left


def test_a_guard_kills_once_and_keeps_what_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr(memory_guard, "rooms", lambda: (Room(1 << 20, 1000),))
    monkeypatch.setattr(memory_guard, "children_of", lambda pid: (pid + 1, pid + 2))
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(memory_guard, "PERIOD_S", 0.001)
    guard = MemoryGuard(100)
    with guard:
        guard._thread.join(timeout=10)
    assert guard.hit_kib == 1000
    assert killed == [100, 101, 102]


def test_a_guard_leaves_alone_what_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_guard, "rooms", lambda: (Room(1 << 20, 1 << 19),))
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("nothing is to be killed"))
    guard = MemoryGuard(100)
    with guard:
        pass
    assert guard.hit_kib is None


def test_spare_workers_of_the_control_are_kept_where_they_fit() -> None:
    spares = {"pool.pm.start_servers": "5", "pool.pm.min_spare_servers": "4", "pool.pm.max_spare_servers": "8"}
    given = {"pool.pm": "dynamic", "pool.pm.max_children": "20", **spares}
    assert settings_of("dynamic", 10, given) == {"pool.pm": "dynamic", "pool.pm.max_children": "10", **spares}
    assert settings_of("dynamic", 10, {"pool.pm.min_spare_servers": "5"}) == {"pool.pm": "dynamic", "pool.pm.max_children": "10"}
    assert settings_of("dynamic", 3, given) == {"pool.pm": "dynamic", "pool.pm.max_children": "3"}
    assert settings_of("static", 3, given) == {"pool.pm": "static", "pool.pm.max_children": "3"}
    assert settings_of("ondemand", 3, given)["pool.pm.process_idle_timeout"] == "1s"
