"""Apache with mod_php as an arm: PHP sees and answers what it does behind nginx, and its processes
are metered, counted and ended."""

import os
import shutil
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from phpdyno.errors import DynoError
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.host.cgroup import find_cpu_groups
from phpdyno.host.cores import split_cores
from phpdyno.model.plan import Panel
from phpdyno.model.workload import Target, Workload
from phpdyno.paths import service_user
from phpdyno.servers import apache as stack_apache
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import children_of, host_meter
from phpdyno.servers.instance import ArmFailed, Instance
from phpdyno.servers.programs.finding import program_path
from tests.support.optional import needs
from tests.support.real.command import FEWEST, document, phpdyno, row, site
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = [
    pytest.mark.integration,
    needs(
        shutil.which("apache2", path=program_path()),
        "not installed: sudo sh scripts/setup.sh --packages-only apache2-bin libapache2-mod-php8.2",
    ),
]

APACHE = {"web.server": "apache-mod_php"}
TELL = """<?php
$names = ['REQUEST_METHOD', 'REQUEST_URI', 'QUERY_STRING', 'SCRIPT_NAME', 'SCRIPT_FILENAME', 'DOCUMENT_ROOT', 'HTTP_HOST', 'SERVER_NAME',
    'SERVER_PORT', 'SERVER_PROTOCOL', 'REMOTE_ADDR', 'HTTP_COOKIE', 'HTTP_AUTHORIZATION', 'COLOUR'];
$told = array_map(fn($name) => $_SERVER[$name] ?? null, array_combine($names, $names));
$ini = array_map('ini_get', ['memory_limit' => 'memory_limit', 'post' => 'post_max_size', 'html' => 'html_errors', 'x' => 'precision']);
echo json_encode(['server' => $told, 'post' => $_POST, 'env' => getenv('COLOUR'), 'ini' => $ini, 'loaded' => extension_loaded('pdo'),
    'may' => function_exists('passthru')]);
"""
TARGETS = (
    Target("/?a=1", cookies={"sid": "1"}, headers={"Authorization": "Bearer t0ken"}),
    Target("/no/such/page?b=2"),
    Target("/encoded%2Fslash"),
    Target("/index.php?c=3"),
    Target("/", method="POST", writes=True, body="user=ada"),
    Target("/gone.php", status=404),
)


def fetched(bench: Bench, instance: Instance, targets: tuple[Target, ...]) -> list[tuple[int, bytes]]:
    asked = Workload(targets, "shop.test")
    rendered = native_targets(asked, "http", docroot=bench.app.docroot, front_controller="index.php", lengths={})
    driver = NativeDriver(instance.http, rendered, keep_alive=True, release=instance.keeps_workers)
    answers = [driver.fetch(number) for number in range(len(targets))]
    driver.close()
    return [(answer.status, answer.body) for answer in answers]


def driven_of(bench: Bench, instance: Instance, concurrency: int = 1) -> DrivenInstance:
    targets = native_targets(bench.app.workload, "http", docroot=bench.app.docroot, front_controller="index.php", lengths={})
    driver = NativeDriver(instance.http, targets, keep_alive=True, concurrency=concurrency, release=instance.keeps_workers)
    return DrivenInstance(instance, driver)


def test_php_is_told_the_same_as_behind_nginx(tmp_path: Path) -> None:
    own = {"pool.php_admin_value[memory_limit]": "77M", "pool.php_admin_value[disable_functions]": "passthru"}
    settings = {"env.COLOUR": "green", "ini.precision": "9", **own}
    arms = [plain_arm("nginx", settings), plain_arm("apache", {**settings, **APACHE})]
    with plain_bench(tmp_path, index=TELL) as bench, bench.running(arms) as (nginx, apache):
        theirs, ours = fetched(bench, nginx, TARGETS), fetched(bench, apache, TARGETS)
    assert [status for status, _ in ours] == [status for status, _ in theirs] == [200, 200, 200, 200, 200, 404]
    for target, (_, one), (_, other) in list(zip(TARGETS, theirs, ours, strict=True))[:-1]:
        assert msgspec.json.decode(one) == msgspec.json.decode(other), target.label
    told = msgspec.json.decode(ours[0][1])
    assert told["ini"]["memory_limit"] == "77M"
    assert not told["may"]
    assert told["server"]["HTTP_AUTHORIZATION"] == "Bearer t0ken"
    assert (told["env"], told["server"]["COLOUR"], told["server"]["SERVER_PORT"]) == ("green", "green", "80")
    assert wait_for_no_traces() == []


def test_its_processes_are_the_workers_and_run_as_the_servers_account(tmp_path: Path) -> None:
    arm = plain_arm("apache", {**APACHE, "pool.pm.max_children": "3"})
    with plain_bench(tmp_path) as bench, bench.running([arm]) as (instance,):
        facts = instance.read_facts(())
        assert facts.exe.endswith("/apache2")
        assert facts.workers == len(children_of(instance.php_pid)) == 3
        assert facts.pid in children_of(instance.php_pid)
        assert Path(f"/proc/{facts.pid}").stat().st_uid == service_user().uid
        assert facts.opcache is not None
        assert facts.ini_files[0] == plain_ini()
        for _ in range(2):
            assert failures(driven_of(bench, instance, 3).driver.drive(np.zeros(250, np.uint32))) == ""
            assert instance.read_facts(()).workers == 3


def test_all_processes_are_there_once_it_is_up(tmp_path: Path) -> None:
    """The first answers while the others are still being forked."""
    arm = plain_arm("apache", {**APACHE, "pool.pm.max_children": "40"})
    with plain_bench(tmp_path) as bench, bench.running([arm]) as (instance,):
        assert instance.read_facts(()).workers == 40


def plain_ini() -> str:
    return next(str(path) for path in sorted(Path("/etc/php").glob("*/fpm/php.ini"), reverse=True))


def test_more_in_flight_than_processes_wait_for_no_kept_connection(tmp_path: Path) -> None:
    """Kept by two, two connections would be served and the others at Apache's KeepAliveTimeout, 5 s
    after the last request of the two."""
    arm = plain_arm("apache", {**APACHE, "pool.pm.max_children": "2"})
    with plain_bench(tmp_path) as bench, bench.running([arm]) as (instance,):
        driven = driven_instance(
            instance, bench, Panel("throughput", arm, (), 6), workload=bench.app.workload, transport="http", lengths={}
        )
        began = time.monotonic()
        assert failures(driven.driver.drive(np.zeros(120, np.uint32))) == ""
        assert time.monotonic() - began < 4.0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a single core is everybody's")
@pytest.mark.parametrize("beside", [True, False])
def test_nginx_shares_phps_cores_where_it_is_compared_with_apache(tmp_path: Path, beside: bool) -> None:
    with plain_bench(tmp_path) as bench:
        bench.cores = split_cores(nginx_beside_php=beside)
        with bench.running([plain_arm("nginx")]) as (instance,):
            assert instance.web is not None
            assert os.sched_getaffinity(instance.web.pid) == set(bench.cores.measured if beside else bench.cores.helpers)


def test_the_meter_reads_php_and_the_web_server_together(tmp_path: Path) -> None:
    groups = find_cpu_groups()
    with plain_bench(tmp_path, groups=groups) as bench, bench.running([plain_arm("apache", APACHE)]) as (instance,):
        reading = measure_slot(driven_of(bench, instance), SharedMeters(None, host_meter(groups)), np.zeros(50, np.uint32))
        assert reading.php_ns > 0
        assert reading.web_ns == 0
        assert not reading.failures


def test_a_configuration_that_apache_refuses_is_the_arms_failure(tmp_path: Path) -> None:
    arm = plain_arm("apache", {**APACHE, "pool.php_admin_value[no.such]": "${HOME}"})
    with plain_bench(tmp_path) as bench, pytest.raises(ArmFailed, match="cannot hold"):
        bench.start([arm])
    assert wait_for_no_traces() == []


def test_a_process_that_crashes_is_said(tmp_path: Path) -> None:
    page = "<?php if (isset($_GET['crash'])) { posix_kill(getmypid(), 11); sleep(1); } echo 'x';"
    with plain_bench(tmp_path, index=page) as bench, bench.running([plain_arm("apache", APACHE)]) as (instance,):
        fetched(bench, instance, (Target("/?crash=1"),))
        deadline = time.monotonic() + 5
        while not instance.crashes() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "exit signal Segmentation fault" in instance.complaint()


def test_a_comparison_with_nginx_and_php_fpm(tmp_path: Path) -> None:
    docroot = site(tmp_path / "site")
    load: list[str | Path] = ["--concurrency", "2", *FEWEST, "--budget", "25s", "--runs", tmp_path / "runs", "--json"]
    answer = phpdyno("compare", "--docroot", docroot, "--url", "/", "--treatment", "web.server=apache-mod_php", *load)
    assert answer.returncode == 0, answer.stderr
    found = row(answer, "web.server=apache-mod_php")
    assert found["metric"] == "throughput"
    assert found["kind"] != "invalid", found
    assert "nginx shares PHP's cores" in document(answer)["workload"]


def test_its_cpu_is_not_compared_with_php_fpms(tmp_path: Path) -> None:
    treatment = ("--treatment", "web.server=apache-mod_php", "--metric", "cpu")
    answer = phpdyno("compare", "hello", *treatment, "--runs", tmp_path / "runs")
    assert answer.returncode == 2
    assert "are not of the same thing" in answer.stderr


def test_without_the_module_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stack_apache, "MODULES", tmp_path)
    with pytest.raises(DynoError, match=r"setup\.sh --packages-only apache2-bin libapache2-mod-php"):
        stack_apache.find_mod_php(plain_arm("apache", APACHE))


@pytest.mark.long
def test_a_sweep_beside_nginx_and_php_fpm(tmp_path: Path) -> None:
    argv: list[str | Path] = ["measure", "hello", "--arm", "web.server=apache-mod_php", "--concurrency", "1,4", "--no-open"]
    answer = phpdyno(*argv, "--budget", "40s", "--runs", tmp_path / "runs", "--json")
    assert answer.returncode == 0, answer.stderr
    told = document(answer)
    points = {(row["arm"], row["concurrency"]): row for row in told["points"]}
    assert set(points) == {(name, load) for name in ("default", "web.server=apache-mod_php") for load in (1, 4)}
    for (name, _), shown in points.items():
        assert shown["valid"] == shown["requests"] > 0
        # nginx has a part of its own, and none of Apache's work is nginx's.
        assert (shown["cpu"]["nginx"] is None) == (name != "default")
        assert shown["cpu"]["php"]["value"] > 0.0
