"""Instances of real servers: side by side, unprivileged, metered."""

import time
from pathlib import Path

import numpy as np
import pytest

from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.model.arm import Arm
from phpdyno.paths import service_user
from phpdyno.servers.bench import Bench
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.facts.meter import host_meter
from phpdyno.servers.instance import Instance
from phpdyno.servers.programs.php import inspect_php
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration
SPARE = {"pool.pm.min_spare_servers": "1", "pool.pm.max_spare_servers": "30"}

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")

# Burns 30 ms of CPU by the worker's own account, so that its true cost is known.
BURN = """<?php
function used(): float { $r = getrusage(); return $r['ru_utime.tv_sec'] * 1e6 + $r['ru_utime.tv_usec']; }
$end = used() + 30000;
do { for ($i = 0; $i < 1000; $i++); } while (used() < $end);
echo str_repeat('x', 100);
"""


def driven_of(bench: Bench, instance: Instance) -> DrivenInstance:
    targets = native_targets(bench.app.workload, bench.transport, docroot=bench.app.docroot, front_controller="index.php", lengths={})
    return DrivenInstance(instance, NativeDriver(instance.http or instance.fastcgi, targets, keep_alive=bool(instance.http)))


def test_several_instances_of_several_arms_live_side_by_side(tmp_path: Path) -> None:
    arms = [
        plain_arm("control"),
        plain_arm("tcp", {"web.socket": "tcp"}),
        plain_arm("control"),
        plain_arm("off", {"ini.opcache.enable": "0"}),
    ]
    with plain_bench(tmp_path) as bench, bench.running(arms) as instances:
        facts = [instance.read_facts(()) for instance in instances]
        assert len({fact.pid for fact in facts}) == 4
        assert [fact.socket_family for fact in facts] == ["unix", "tcp", "unix", "unix"]
        assert [fact.opcache is None for fact in facts] == [False, False, False, True]
        assert {Path(f"/proc/{fact.pid}").stat().st_uid for fact in facts} == {service_user().uid}
        for instance in instances:
            assert not failures(driven_of(bench, instance).driver.drive(np.zeros(20, dtype=np.uint32)))
    assert wait_for_no_traces() == []


def test_a_whole_arm_is_up_quickly(tmp_path: Path) -> None:
    with plain_bench(tmp_path) as bench:
        start = time.monotonic()
        with bench.running([plain_arm("control")]):
            # Seen: 0.1 s. The limit only catches a readiness probe that waits for a time-out.
            assert time.monotonic() - start < 10.0


@pytest.mark.parametrize(("pool", "workers"), [({}, 40), ({"pool.pm": "dynamic", "pool.pm.start_servers": "30", **SPARE}, 30)])
def test_all_workers_of_its_start_are_there_once_it_is_up(pool: dict[str, str], workers: int, tmp_path: Path) -> None:
    """The first answers while the others are still being forked."""
    arm = plain_arm("large", {"pool.pm.max_children": "40", **pool})
    with plain_bench(tmp_path) as bench, bench.running([arm]) as (instance,):
        assert instance.read_facts(()).workers == workers


@pytest.mark.parametrize("source", ["cgroup", "schedstat"])
def test_the_meter_reads_what_the_request_really_cost(tmp_path: Path, source: str) -> None:
    groups = find_cpu_groups() if source == "cgroup" else None
    if source == "cgroup" and groups is None:
        pytest.skip("no cgroups can be made here")
    with plain_bench(tmp_path, groups=groups, index=BURN) as bench, bench.running([plain_arm("control")]) as (instance,):
        driven, shared = driven_of(bench, instance), SharedMeters(None, host_meter(groups))
        measure_slot(driven, shared, np.zeros(2, dtype=np.uint32))
        reading = measure_slot(driven, shared, np.zeros(5, dtype=np.uint32))
        # 5 x 30 ms of user time by getrusage, and what the system adds; getrusage itself is exact
        # to a tick of 4 ms at worst.
        assert 0.13e9 < reading.php_ns < 0.25e9
        # The root group accounts for this and for everything else on the host.
        assert reading.host_ns > 0.1e9
        assert not reading.failures


def test_an_idle_instance_costs_nothing(tmp_path: Path) -> None:
    with plain_bench(tmp_path) as bench, bench.running([plain_arm("control")]) as (instance,):
        before = instance.php_meter.read_ns()
        time.sleep(1.0)
        assert instance.php_meter.read_ns() - before < 0.01e9


def test_environment_reaches_the_worker_and_only_what_was_asked_is_reported(tmp_path: Path) -> None:
    with plain_bench(tmp_path) as bench, bench.running([plain_arm("env", {"env.COLOUR": "green", "env.OTHER": "1"})]) as (instance,):
        assert instance.read_facts(("COLOUR", "MISSING")).env == {"COLOUR": "green"}


@pytest.mark.usefixtures("unreserved")
@pytest.mark.skipif("[madvise]" not in THP.read_text(), reason="transparent huge pages are not had by asking here")
def test_huge_pages_of_php_s_heap_are_seen_at_every_start(tmp_path: Path) -> None:
    """Hello is small, and a request gives back what it took: so the question itself holds some
    memory."""
    name = "USE_ZEND_ALLOC_HUGE_PAGES"
    arms = [plain_arm("control"), *(plain_arm(f"huge {number}", {f"env.{name}": "1"}) for number in range(3))]
    with plain_bench(tmp_path) as bench, bench.running(arms) as (control, *huge):
        assert control.read_facts((name,)).anon_huge_kib == 0
        assert all(instance.read_facts((name,)).anon_huge_kib >= 2048 for instance in huge)


def test_a_php_fpm_from_a_path_with_its_own_extension_directory(tmp_path: Path) -> None:
    """A copy of the distribution's, as a build of one's own would be: other path, other directory
    of extensions."""
    with Supervisor(tmp_path / "scratch") as supervisor:
        place = supervisor.directory("php", private=False)
        copy, extensions = place / "php-fpm", place / "extensions"
        copy.write_bytes(Path(plain_arm("x").php.fpm).read_bytes())
        copy.chmod(0o755)
        extensions.mkdir()
        for module in Path("/usr/lib/php/20220829").glob("*.so"):
            (extensions / module.name).write_bytes(module.read_bytes())
        arm = Arm("own", inspect_php(str(copy), str(extensions)))
        with plain_bench(tmp_path) as bench, bench.running([arm]) as (instance,):
            facts = instance.read_facts(())
            assert facts.exe == str(copy)
            assert facts.opcache_so == str(extensions / "opcache.so")


def test_mariadb_starts_on_a_private_socket_and_keeps_its_data_over_a_clean_end(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor:
        datadir = supervisor.directory("data")
        Database.initialise(supervisor, datadir)
        socket_path = supervisor.directory("db") / "m.sock"
        for statement, expected in (("CREATE DATABASE kept", ""), ("SHOW DATABASES LIKE 'kept'", "kept")):
            with Database.start(supervisor, datadir=datadir, socket_path=socket_path) as database:
                argv = ["mariadb", "--no-defaults", f"--socket={database.socket}", "-N", "-e", statement]
                child = supervisor.run(f"client-{expected}", argv)
                assert child.status == 0, child.tail()
            assert database.child.status == 0
        assert "kept" in child.log.read_text()
