"""A command-line script as workload, on the real PHP: its host, its instances, and what it is
refused for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from phpdyno._native import OUTCOMES
from phpdyno.apps.script import ScriptApp
from phpdyno.drive.requests import LengthClass
from phpdyno.drive.script import ScriptDriver
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.slot import DrivenInstance, SharedMeters, measure_slot
from phpdyno.host.cgroup import CpuGroups, find_cpu_groups
from phpdyno.host.cores import split_cores
from phpdyno.model.arm import Arm
from phpdyno.model.workload import Target
from phpdyno.servers.facts.meter import host_meter
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.programs.php import default_cli, inspect_php
from phpdyno.servers.script import ScriptBench, ScriptInstance
from phpdyno.servers.supervision.supervisor import Supervisor
from tests.support.real.scripts import script

pytestmark = pytest.mark.integration

# Burns 20 ms of CPU by its own account, so that its true cost is known.
BURN = """<?php
function used(): float {
    $r = getrusage();
    return ($r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec']) * 1e6 + $r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec'];
}
return function (): void { $end = used() + 20000; while (used() < $end); };
"""
ODD = """<?php
echo "printed while it is set up\\n";
return [
    'prints' => function () { echo str_repeat('noise ', 5000); ob_flush(); return 'said'; },
    'throws' => fn () => throw new RuntimeException("boom\\nin two lines"),
    'number' => fn () => 3,
    'nothing' => function () {},
    'exits' => function () { exit(7); },
    'dies' => fn () => posix_kill(getmypid(), SIGSEGV),
    'exhausts' => function () { ini_set('memory_limit', '16M'); return str_repeat('x', 1 << 30); },
    'forks' => function () { $pid = pcntl_fork(); if ($pid === 0) { exit(0); } pcntl_waitpid($pid, $status); return 'forked'; },
    'sleeps' => function () { usleep(400_000); },
];
"""
NAMES = ("prints", "throws", "number", "nothing", "exits", "dies", "exhausts", "forks", "sleeps")


def arm(name: str = "control", **settings: str) -> Arm:
    """An arm of the command-line PHP; `__` stands for the dot of a setting."""
    held = {key.replace("__", "."): value for key, value in settings.items()}
    return Arm(name, inspect_php(default_cli(), cli=True), held, held)


@contextmanager
def bench(tmp_path: Path, text: str, groups: CpuGroups | str | None = "find") -> Iterator[ScriptBench]:
    with Supervisor(tmp_path / "logs") as supervisor:
        app = ScriptApp(script(tmp_path, text), arm()).prepare(supervisor, cache=tmp_path, progress=lambda _: None)
        found = find_cpu_groups() if isinstance(groups, str) else groups
        yield ScriptBench(supervisor, app, cores=split_cores(), groups=found)


@contextmanager
def odd(tmp_path: Path, *, timeout_ns: int = 10_000_000_000) -> Iterator[tuple[ScriptInstance, ScriptDriver]]:
    """One instance of the script that does everything wrong."""
    with bench(tmp_path, ODD) as stage:
        (instance,) = stage.start([arm()])
        driver = ScriptDriver(instance.path, [LengthClass()] * len(NAMES), timeout_ns=timeout_ns)
        yield instance, driver
        driver.close()
        stage.stop([instance])


def drive(driver: ScriptDriver, *names: str) -> list[str]:
    samples = driver.drive(np.asarray([NAMES.index(name) for name in names], dtype=np.uint32))
    return [OUTCOMES[code] for code in samples.outcome.tolist()]


def test_the_host_survives_what_a_script_does_wrong(tmp_path: Path) -> None:
    with odd(tmp_path) as (instance, driver):
        assert drive(driver, "prints", "nothing", "throws", "prints") == ["ok", "ok", "wrong_status", "ok"]
        assert instance.complaint() == "operation throws failed: RuntimeException: boom in two lines in bench.php:5"
        assert drive(driver, "forks", "forks") == ["ok", "ok"]
        assert (driver.fetch(0).body, driver.fetch(3).body, driver.fetch(7).body) == (b"said", b"", b"forked")
        assert driver.fetch(2).body == b"it returns int; let it return a string, which is compared between arms, or null"
        assert drive(driver, *["throws"] * 5) == ["wrong_status"] * 3 + ["abandoned"] * 2
        assert (instance.crashes(), instance.broken()) == ("", "")
        assert "printed while it is set up" in instance.children[0].said()
        assert "noise" not in instance.children[0].said()
        # A second one beside the first, as after a time-out.
        other = ScriptDriver(instance.path, [LengthClass()] * len(NAMES))
        assert other.fetch(0).body == b"said"
        other.close()


@pytest.mark.parametrize(
    ("name", "words", "crash"),
    [
        ("exits", "ended with exit code 7: it calls exit in the operation exits", False),
        ("dies", "was ended by SIGSEGV", True),
        ("exhausts", "Allowed memory size of 16777216 bytes exhausted", False),
    ],
)
def test_a_process_that_ends_is_the_instances_failure_in_words(tmp_path: Path, name: str, words: str, crash: bool) -> None:
    with odd(tmp_path) as (instance, driver):
        assert drive(driver, "nothing", name, "nothing") == (["closed_early"] if crash else ["ok", "closed_early"]) + ["abandoned"] * (
            2 if crash else 1
        )
        assert words in instance.broken()
        assert words in instance.complaint()
        assert (words in instance.crashes()) is crash
        assert drive(driver, "nothing") == ["connect_failed"]


def test_an_operation_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phpdyno.drive.script.FLUSH_NS", 0)
    with odd(tmp_path, timeout_ns=100_000_000) as (_, driver):
        assert drive(driver, "sleeps", "nothing") == ["timed_out", "abandoned"]


@pytest.mark.parametrize("groups", ["find", None])
def test_cpu_of_an_operation_is_metered_and_nothing_else(tmp_path: Path, groups: str | None) -> None:
    with bench(tmp_path, BURN, groups) as stage:
        (instance,) = stage.start([arm()])
        driven = DrivenInstance(instance, ScriptDriver(instance.path, [LengthClass()]))
        shared = SharedMeters(None, host_meter(None))
        readings = [measure_slot(driven, shared, np.zeros(3, dtype=np.uint32)) for _ in range(5)]
        for reading in readings:
            assert not reading.failures
            assert reading.web_ns == 0
        # A little less is the account's own coarseness, more is what our host and the loop's last
        # turn add: now and then more of it.
        costs = sorted(reading.php_ns for reading in readings)
        assert 55e6 < costs[0] < 70e6
        assert costs[-1] < 100e6
        driven.driver.close()
        stage.stop([instance])
        assert not Path(f"/proc/{instance.php_pid}").exists()


def test_operations_weights_and_settings_are_the_scripts_own(tmp_path: Path) -> None:
    text = """<?php return [
        'one' => fn () => getenv('WORD') . ini_get('memory_limit') . ini_get('opcache.enable_cli'),
        'two' => ['run' => 'phpversion', 'weight' => 3],
    ];"""
    with bench(tmp_path, text) as stage:
        assert stage.app.workload.targets == (Target("one", 1.0, status=0), Target("two", 3.0, status=0))
        (instance, other) = stage.start([arm(), arm("other", env__WORD="hello", ini__memory_limit="99M", ini__opcache__enable_cli="0")])
        answers = []
        for each in (instance, other):
            driver = ScriptDriver(each.path, [LengthClass()] * 2)
            answers.append(driver.fetch(0).body.decode())
            driver.close()
        assert answers[0].endswith("1")
        assert answers[1] == "hello99M0"
        facts, theirs = instance.read_facts(("WORD",)), other.read_facts(("WORD",))
        assert (facts.opcache is not None, theirs.opcache) == (True, None)
        assert (facts.workers, facts.socket_family, facts.env, theirs.env) == (1, "unix", {}, {"WORD": "hello"})
        assert facts.exe == instance.arm.php.fpm
        assert Path(f"/proc/{facts.pid}").exists()
        stage.stop([instance, other])


def test_an_arm_that_offers_other_operations_or_does_not_start_is_that_arms_failure(tmp_path: Path) -> None:
    text = (
        "<?php if (getenv('BREAK')) { exit(5); } return getenv('MORE') ? ['a' => fn () => '', 'b' => fn () => ''] : ['a' => fn () => ''];"
    )
    with bench(tmp_path, text) as stage:
        with pytest.raises(ArmFailed, match="the script offers the operations a, b here, and a when it was listed"):
            stage.start([arm(), arm("more", env__MORE="1")])
        with pytest.raises(ArmFailed, match="the script does not start: ended with exit code 5: it calls exit while it is set up"):
            stage.start([arm(), arm("broken", env__BREAK="1")])


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("<?php $done = true;", UsageError, "it returns 1, as a file without a return does; let it return a callable"),
        ("<?php return 'no such function';", UsageError, "it returns string; let it return a callable"),
        ("<?php return [];", UsageError, "it returns an empty array; let it return a callable"),
        ("<?php return [fn () => ''];", UsageError, "the key 0, which names no operation"),
        ("<?php return ['a' => 3];", UsageError, "the operation a is int; let it return"),
        (
            "<?php return ['a' => ['run' => fn () => '', 'weight' => 0]];",
            UsageError,
            "the weight of the operation a is not a number above 0",
        ),
        ("<?php return ['a' => ['run' => fn () => '', 'wait' => 1]];", UsageError, "the operation a has the unknown key wait"),
        ("<?php return fn ( => ;", UsageError, "ParseError: syntax error"),
        ("<?php throw new LogicException('no fixture');", DynoError, "LogicException: no fixture in bench.php:1"),
        ("<?php exit('bye');", DynoError, "it calls exit while it is set up"),
        ("<?php require 'missing.php';", DynoError, "Failed opening required 'missing.php'"),
    ],
)
def test_a_script_that_offers_no_operation_is_refused_in_words(tmp_path: Path, text: str, kind: type[DynoError], words: str) -> None:
    with pytest.raises(kind) as refused, bench(tmp_path, text):
        pass
    assert type(refused.value) is kind
    assert words in refused.value.what
