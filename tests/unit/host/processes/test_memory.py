"""Memory of a process: made-up files, our own process, and what may not be read."""

import mmap
import os
from pathlib import Path

import pytest

from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.processes.memory import MemoryUnreadable, parse_memory, parse_own_kib, read_memory_of, read_own_kib_of
from phpdyno.model.runs.readings import WorkerMemory

ROLLUP = """562b7ffcf000-7ffc78183000 ---p 00000000 00:00 0                          [rollup]
Rss:               18764 kB
Pss:                4891 kB
Pss_Shmem:           112 kB
Shared_Clean:       9000 kB
Shared_Dirty:       5000 kB
Private_Clean:        40 kB
Private_Dirty:      2200 kB
Shared_Hugetlb:     4096 kB
Private_Hugetlb:    2048 kB
SwapPss:              16 kB
Locked:                0 kB
"""


def test_parts_of_a_workers_memory() -> None:
    assert parse_memory(7, ROLLUP) == WorkerMemory(7, 4891, 112, private_kib=2240, shared_kib=14000, hugetlb_kib=6144, swap_kib=16)


def test_a_kernel_that_does_not_split_pss_leaves_the_shared_memory_unknown() -> None:
    text = "\n".join(line for line in ROLLUP.splitlines() if "Pss_Shmem" not in line)
    assert parse_memory(7, text).pss_shmem_kib is None


@pytest.mark.parametrize(
    "text", ["", ROLLUP.replace("Pss:", "Psst:"), ROLLUP.replace("4891", "many"), ROLLUP.replace("9000", "-9000"), "\0\xff", ROLLUP[:200]]
)
def test_what_is_no_smaps_rollup_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no |invalid|negative"):
        parse_memory(7, text)


SMAPS = """562b7ffcf000-562b7ffd0000 rw-p 00000000 00:00 0                          [heap]
Rss:                 140 kB
Private_Clean:        40 kB
Private_Dirty:       100 kB
7f0000000000-7f0008000000 rw-s 00000000 00:01 1042                       /dev/zero (deleted)
Private_Clean:         0 kB
Private_Dirty:     10000 kB
VmFlags: rd wr sh mr mw me ms
7f0010000000-7f0010002000 r--p 00000000 fe:00 77                         /tmp/a name: with spaces
Private_Clean:         8 kB
Private_Dirty:         0 kB
"""


def test_what_is_shared_is_nobodys_own_even_where_one_worker_alone_has_touched_it() -> None:
    assert parse_own_kib(SMAPS) == 140
    with pytest.raises(ValueError, match="no mapping"):
        parse_own_kib("")


def test_memory_that_we_share_is_not_our_own() -> None:
    before = read_own_kib_of(os.getpid())
    with mmap.mmap(-1, 32 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) as held:
        held.write(b"x" * (32 << 20))
        shared = read_memory_of(os.getpid())
        own = read_own_kib_of(os.getpid())
    assert before is not None
    assert own is not None
    assert shared is not None
    assert own < before + (16 << 10)
    assert shared.private_kib > own + (16 << 10)


def test_our_own_memory() -> None:
    read = read_memory_of(os.getpid())
    assert read is not None
    assert read.pid == os.getpid()
    assert 1000 < read.private_kib <= read.pss_kib < read.private_kib + read.shared_kib


def test_a_process_that_has_ended_has_no_memory(tmp_path: Path) -> None:
    assert read_memory_of(4, SmallFiles(tmp_path)) is None


def test_a_zombie_has_no_memory() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        assert read_memory_of(child) is None
    finally:
        os.waitpid(child, 0)


def test_a_process_without_the_file_or_with_half_of_it_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "proc/7").mkdir(parents=True)
    with pytest.raises(MemoryUnreadable, match=r"/proc/7: this kernel has no smaps_rollup; use Linux 4\.14"):
        read_memory_of(7, SmallFiles(tmp_path))
    (tmp_path / "proc/7/smaps_rollup").write_text(ROLLUP[:100])
    with pytest.raises(MemoryUnreadable, match="cannot be read"):
        read_memory_of(7, SmallFiles(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_users_process_is_unreadable_and_says_what_to_do() -> None:
    pipe_out, pipe_in = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            read_memory_of(os.getppid())
            said = "read it"
        except MemoryUnreadable as error:
            said = str(error)
        os.write(pipe_in, said.encode())
        os._exit(0)
    os.close(pipe_in)
    with os.fdopen(pipe_out) as pipe:
        assert "may not be read; run phpdyno as root" in pipe.read()
    os.waitpid(child, 0)
