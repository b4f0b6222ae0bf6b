"""Counting syscalls with the real strace: plausible counts, nothing left, and one clear line where
the host forbids it."""

import os
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from phpdyno.commands.explain.syscall_pass import count_pass
from phpdyno.drive.driver import NativeDriver, failures
from phpdyno.drive.requests import native_targets
from phpdyno.experiment.common.slot import DrivenInstance
from phpdyno.explain.tracing.strace import CannotTrace
from phpdyno.explain.tracing.syscalls import Traced, count_syscalls, tracing
from phpdyno.model.runs.study import Study, StudyArm, StudyLoad, StudyPass
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import children_of
from phpdyno.servers.instance import ArmFailed, Instance
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.integration.apps.test_layers import git
from tests.support.fakes.fake_study import FakeProgress
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

REQUESTS = 40
INDEX = "<?php require __DIR__ . '/one.php'; require __DIR__ . '/two.php'; one(); two(); echo str_repeat('x', 100);"
ONE = "<?php function one(): void {}"
TWO = "<?php function two(): void {}"


def driven_of(bench: Bench, instance: Instance) -> DrivenInstance:
    targets = native_targets(bench.app.workload, bench.transport, docroot=bench.app.docroot, front_controller="index.php", lengths={})
    return DrivenInstance(instance, NativeDriver(instance.http or instance.fastcgi, targets, keep_alive=bool(instance.http)))


def calls(traced: Traced) -> dict[str, int]:
    return {each.name: each.calls for each in traced.syscalls}


def test_opcache_spares_opening_and_reading_the_scripts_at_every_request(tmp_path: Path) -> None:
    sequence = np.zeros(REQUESTS, dtype=np.uint32)
    counted: dict[str, Traced] = {}
    arms = [plain_arm("on"), plain_arm("off", {"ini.opcache.enable": "0"})]
    with plain_bench(tmp_path, index=INDEX, one=ONE, two=TWO) as bench, bench.running(arms) as instances:
        for script in bench.app.docroot.iterdir():
            # As files of a deployed app: opcache caches none that is younger than 2 s
            # (opcache.file_update_protection).
            os.utime(script, (1e9, 1e9))
        for instance in instances:
            driven = driven_of(bench, instance)
            assert not failures(driven.driver.drive(sequence[:3]))
            counted[instance.arm.name] = count_syscalls(bench.supervisor, driven, sequence)
            # Let go of, not killed: the instance still answers.
            assert not failures(driven.driver.drive(sequence[:3]))
    on, off = calls(counted["on"]), calls(counted["off"])
    # The worker accepts each request's connection, and nothing else that depends on the seconds
    # that the pass takes does so.
    assert on["accept"] == off["accept"] == REQUESTS
    # Three scripts are opened at every request without opcache, none with it.
    assert off["openat"] >= 3 * REQUESTS
    assert on.get("openat", 0) < REQUESTS
    assert off["read"] > on["read"]
    assert {each.processes for each in counted.values()} == {2}
    assert wait_for_no_traces() == []


def test_all_workers_of_a_pool_are_traced(tmp_path: Path) -> None:
    arm = plain_arm("five", {"pool.pm.max_children": "5"})
    with plain_bench(tmp_path) as bench, bench.running([arm]) as (instance,):
        traced = count_syscalls(bench.supervisor, driven_of(bench, instance), np.zeros(30, dtype=np.uint32))
    assert traced.processes == 6
    assert calls(traced)["accept"] == 30


def test_a_request_that_fails_under_strace_is_the_arms_failure(tmp_path: Path) -> None:
    page = "<?php http_response_code(500); echo 'no';"
    with plain_bench(tmp_path, index=page) as bench, bench.running([plain_arm("broken")]) as (instance,):
        with pytest.raises(ArmFailed, match=r"requests fail under strace: .*wrong_status"):
            count_syscalls(bench.supervisor, driven_of(bench, instance), np.zeros(3, dtype=np.uint32))
        assert children_of(instance.fpm.pid)
    assert wait_for_no_traces() == []


def test_ptrace_forbidden_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    """The account of the servers may not trace a process of root's, as an ordinary user may not
    trace somebody else's."""
    said = r"ptrace is forbidden here.*run phpdyno as root"
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(CannotTrace, match=said) as caught:
        trace(supervisor, 1, as_service=True)
    assert "\n" not in str(caught.value)


def test_strace_missing_says_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
    said = r"strace is not installed.*apt-get install.* strace"
    with Supervisor(tmp_path / "logs") as supervisor, pytest.raises(CannotTrace, match=said):
        trace(supervisor, os.getpid())


def test_a_process_that_is_gone_is_said(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        gone = supervisor.run("gone", ["/bin/true"])
        with pytest.raises(CannotTrace, match="No such process"):
            trace(supervisor, gone.pid)


def trace(supervisor: Supervisor, pid: int, *, as_service: bool = False) -> None:
    """Attach, which must not succeed."""
    with tracing(supervisor, [pid], as_service=as_service):
        raise AssertionError(f"attached to process {pid}")


def test_a_pass_counts_the_commit_that_an_arm_names(tmp_path: Path) -> None:
    """Its page opens twenty files that the work tree's does not; opcache is off in both, so that
    each request does."""
    shop = tmp_path / "shop"
    (shop / "public").mkdir(parents=True)
    (shop / "app.toml").write_text('name = "shop"\ndocroot = "public"\nroot = "."\n[[target]]\npath = "/"\n')
    index = shop / "public" / "index.php"
    git(tmp_path, "init", "--quiet", str(shop))
    index.write_text("<?php for ($i = 0; $i < 20; $i++) fclose(fopen(__FILE__, 'r')); echo 'page';")
    git(shop, "add", "-A")
    git(shop, "commit", "--quiet", "--message=slow")
    index.write_text("<?php echo 'page';")
    off = {"ini.opcache.enable": "0"}
    arms = (StudyArm("now", {}, off), StudyArm("then", {}, {**off, "source": "HEAD"}), StudyArm("same", {}, {"ini.opcache.enable": "off"}))
    wanted = StudyPass("calls", "shop", ("now", "then"), REQUESTS)
    study = Study("s", "S", "", 1, 0.95, {"shop": str(shop)}, StudyLoad(1, 1), {}, arms, (), (wanted,), (), None, ())
    now, then = count_pass(study, wanted, requests=REQUESTS, logs=tmp_path / "logs", progress=FakeProgress())
    opened = {each.arm: {call.name: call.calls for call in each.syscalls}["openat"] for each in (now, then)}
    assert opened["then"] >= opened["now"] + 20 * REQUESTS
    alike = structs.replace(wanted, arms=("now", "same"))
    with pytest.raises(ArmFailed, match="the control has the same value already"):
        count_pass(study, alike, requests=REQUESTS, logs=tmp_path / "logs", progress=FakeProgress())
    assert wait_for_no_traces() == []
