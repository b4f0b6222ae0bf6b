"""Workers as one pool, in KiB."""

import subprocess

from phpdyno.model.runs.readings import PoolMemory, WorkerMemory
from phpdyno.servers.facts.pool_memory import pool_memory, read_pool_memory


def worker(pid: int, pss: int, private: int, shmem: int | None) -> WorkerMemory:
    return WorkerMemory(pid=pid, pss_kib=pss, pss_shmem_kib=shmem, private_kib=private, shared_kib=10_000)


def test_sums_and_medians() -> None:
    workers = [worker(1, 5000, 2000, 1000), worker(2, 7000, 4000, 1000), worker(3, 30000, 26000, 1500)]
    assert pool_memory(workers, master=worker(9, 900, 100, 50), unread=1) == PoolMemory(
        workers=3,
        pss_kib=42000,
        pss_median_kib=7000,
        private_median_kib=4000,
        pss_shmem_kib=3500,
        master_kib=900,
        master_shmem_kib=50,
        unread=1,
        rss_median_kib=14000,
    )


def test_shared_memory_of_a_part_of_the_workers_is_no_sum() -> None:
    assert pool_memory([worker(1, 5000, 2000, 1000), worker(2, 5000, 2000, None)]).pss_shmem_kib is None


def test_a_pool_without_workers_has_no_median() -> None:
    assert pool_memory([]) == PoolMemory(0, 0, None, None, None, None)


def test_a_master_without_children_and_one_that_is_gone() -> None:
    with subprocess.Popen(["sleep", "60"]) as master:
        assert read_pool_memory(master.pid).workers == 0
        master.kill()
    assert read_pool_memory(master.pid) == PoolMemory(0, 0, None, None, None, None)
