"""What is read beside throughput, of real pools under load."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from phpdyno._native import Engine, Target
from phpdyno.errors import DynoError
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import split_cores
from phpdyno.host.sockets.listen_queue import ListenQueue
from phpdyno.host.sockets.queue_sampler import QueueSampler
from phpdyno.model.app import PreparedApp
from phpdyno.model.runs.readings import PoolStatus
from phpdyno.model.workload import Target as Page
from phpdyno.model.workload import Workload
from phpdyno.server_files.fastcgi import request_params
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.facts.pool_memory import read_pool_memory, workers_of
from phpdyno.servers.facts.pool_status import read_pool_status
from phpdyno.servers.instance import Instance
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.command import site
from tests.support.real.stack import plain_arm
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

WAITS = "<?php usleep(100000); echo 'x';"


@contextmanager
def pool_of(folder: Path, settings: dict[str, str], *, status: bool = True) -> Iterator[Instance]:
    with Supervisor(folder / "logs") as supervisor:
        app = PreparedApp("site", site(supervisor.live / "site", index=WAITS), Workload((Page("/"),)))
        bench = Bench(supervisor, app, cores=split_cores(), groups=find_cpu_groups(), transport="fastcgi", status=status)
        with bench.running([plain_arm("control", settings)]) as (instance,):
            yield instance


@contextmanager
def loaded(instance: Instance, *, concurrency: int, requests: int) -> Iterator[None]:
    docroot = instance.app.docroot
    params = request_params(path="/", host="localhost", docroot=docroot, script="/index.php")
    engine = Engine(instance.fastcgi, [Target.fastcgi(params, status=200)], keep_alive=False)
    drive = threading.Thread(target=engine.run, args=(np.zeros(requests, dtype=np.uint32),), kwargs={"concurrency": concurrency})
    drive.start()
    try:
        yield
    finally:
        drive.join()


def until_busy(instance: Instance, workers: int) -> None:
    deadline = time.monotonic() + 5
    while read_pool_status(instance.status).active != workers:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def quickest_status(instance: Instance, times: int = 5) -> tuple[PoolStatus, float]:
    """The last of several answers, and how long the quickest took, in seconds: on a busy host any
    one of them may be late."""
    took_s = []
    for _ in range(times):
        start = time.monotonic()
        status = read_pool_status(instance.status)
        took_s.append(time.monotonic() - start)
    return status, min(took_s)


@pytest.mark.parametrize("socket", ["unix", "tcp"])
def test_status_and_queue_of_a_pool_whose_workers_are_all_busy(tmp_path: Path, socket: str) -> None:
    with pool_of(tmp_path, {"pool.pm.max_children": "2", "web.socket": socket}) as instance:
        until_busy(instance, 0)
        with ListenQueue(instance.fastcgi) as queue, loaded(instance, concurrency=6, requests=60):
            until_busy(instance, 2)
            with QueueSampler(queue.read, cores=split_cores().helpers) as sampler:
                time.sleep(1.5)
            status, took_s = quickest_status(instance)
            # Each request takes 100 ms and four wait: a question that waited for a worker would
            # take twice as long at least.
            assert took_s < 0.09
        levels = sampler.levels()
        assert (status.active, status.idle, status.max_active) == (2, 0, 2)
        assert status.listen_queue == (0 if socket == "unix" else pytest.approx(4, abs=2))
        assert levels.samples >= 5
        assert levels.failed == 0
        assert 4 <= (levels.most or 0) <= 6  # 6 in flight, 2 of them accepted; for a moment fewer
        assert levels.share == 1.0
        assert levels.limit == 511
        with ListenQueue(instance.fastcgi) as queue:
            assert queue.read().waiting == 0
    assert wait_for_no_traces() == []


def await_children(pid: int, count: int) -> None:
    """php-fpm answers before it has started all of its processes."""
    deadline = time.monotonic() + 10
    while len(children_of(pid)) != count:
        assert time.monotonic() < deadline, children_of(pid)
        time.sleep(0.01)


def test_the_process_that_answers_the_status_page_is_no_worker(tmp_path: Path) -> None:
    with pool_of(tmp_path, {"pool.pm.max_children": "3"}) as instance:
        await_children(instance.php_pid, 3)  # there is none before the first question
        read_pool_status(instance.status)
        await_children(instance.php_pid, 4)
        assert len(workers_of(instance.php_pid)) == 3
        memory = read_pool_memory(instance.php_pid)
        assert (memory.workers, memory.unread) == (3, 0)


def test_memory_of_workers_that_share_opcache(tmp_path: Path) -> None:
    with pool_of(tmp_path, {"pool.pm.max_children": "3"}) as instance:
        with loaded(instance, concurrency=6, requests=12):
            pass
        memory = read_pool_memory(instance.php_pid)
        assert memory.private_median_kib is not None
        assert memory.pss_median_kib is not None
        assert memory.pss_shmem_kib is not None
        assert memory.master_kib is not None
        assert 0 < memory.private_median_kib < memory.pss_median_kib
        assert 0 < memory.pss_shmem_kib < memory.pss_kib
        assert memory.pss_kib == pytest.approx(3 * memory.pss_median_kib, rel=0.2)


def test_a_dynamic_pool_tells_that_it_reached_its_most(tmp_path: Path) -> None:
    with pool_of(tmp_path, {"pool.pm": "dynamic", "pool.pm.max_children": "2"}) as instance:
        with loaded(instance, concurrency=4, requests=60):
            pass
        status = read_pool_status(instance.status)
        assert status.max_active == 2
        assert status.max_children_reached >= 1


def test_a_pool_without_the_page_is_as_before(tmp_path: Path) -> None:
    with pool_of(tmp_path, {}, status=False) as instance:
        assert instance.status == ""
        configuration = (instance.directory / "fpm.conf").read_text()
        assert "status" not in configuration
        with pytest.raises(DynoError, match="status page does not answer"):
            read_pool_status(instance.fastcgi)


def test_the_page_at_the_pools_own_socket_counts_who_answers(tmp_path: Path) -> None:
    with pool_of(tmp_path, {}) as instance:
        status = read_pool_status(instance.fastcgi)
        assert (status.active, status.idle) == (1, 0)
