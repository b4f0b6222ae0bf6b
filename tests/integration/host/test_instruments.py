"""The instruments of `explain` on real servers: instructions by callgrind, PHP functions by
excimer, the JIT's names, counters by perf."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from phpdyno.apps.registry import open_app
from phpdyno.experiment.common.driven_instances import driven_instance
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.common.warm_up import warm_up
from phpdyno.explain.counting.counters import EVENTS, CannotReadCounters, count_events, count_with
from phpdyno.explain.counting.instructions import count_instructions
from phpdyno.explain.counting.under_callgrind import CannotCount, Counter
from phpdyno.explain.functions import php as php_functions
from phpdyno.explain.functions.jit_symbols import told_to_perf
from phpdyno.explain.functions.native import JIT, sampling
from phpdyno.explain.functions.php import sample_functions
from phpdyno.explain.functions.php_memory import OUTSIDE
from phpdyno.explain.functions.php_worker import CannotProfile, globals_in
from phpdyno.host.checkup.trials import try_cycles
from phpdyno.model.inside.stacks import PhpProfile
from phpdyno.model.plan import Panel
from phpdyno.model.workload import Target, Workload
from phpdyno.servers.bench import Bench
from phpdyno.servers.facts.meter import HostMeter, children_of
from phpdyno.servers.instance import ArmFailed
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.app_servers import serving
from tests.support.fakes.fake_study import FakeProgress
from tests.support.optional import needs
from tests.support.real.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

VALGRIND = needs(shutil.which("valgrind"), "valgrind is not installed")
PERF = needs(shutil.which("perf"), "perf is not installed")
OLD = (1e9, 1e9)
"""As files of a deployed app: opcache caches none that is younger than 2 s."""
LOOP = "<?php $sum = 0; for ($i = 0; $i < {}; $i++) {{ $sum += $i; }} echo 'sum ', $sum;"
WITH_JIT = {"ini.opcache.jit": "function", "ini.opcache.jit_buffer_size": "32M"}


@contextmanager
def deployed(folder: Path, *targets: Target, **files: str) -> Iterator[Bench]:
    """A bench that serves files which are old enough to be cached."""
    with plain_bench(folder, transport="fastcgi", **files) as bench:
        for script in bench.app.docroot.iterdir():
            os.utime(script, OLD)
        if targets:
            bench.app = structs.replace(bench.app, workload=Workload(targets))
        yield bench


def meters() -> SharedMeters:
    return SharedMeters(None, HostMeter())


# ---- instructions -------------------------------------------------------------------------------


@VALGRIND
def test_two_passes_on_the_same_arm_agree_within_the_spread_that_they_tell(tmp_path: Path) -> None:
    with serving(open_app("hello"), logs=tmp_path / "logs", progress=FakeProgress()) as stand:
        one, other = (count_instructions(stand.bench, plain_arm(name), progress=FakeProgress()) for name in ("one", "other"))
    assert one.median > 50_000
    assert abs(one.median - other.median) <= max(0.001 * one.median, one.highest - one.lowest, other.highest - other.lowest)
    assert len(one.rounds) == one.requests == 5
    assert {each.name for each in one.functions} >= {"execute_ex"}
    assert wait_for_no_traces() == []


@VALGRIND
def test_what_a_request_does_more_is_counted_as_so_much_more(tmp_path: Path) -> None:
    """Three pages whose loops go round 1,000, 2,000 and 3,000 times, in a mix of 3 to 1 to 0.5."""
    targets = (Target("/", weight=3.0), Target("/two.php"), Target("/three.php", weight=0.5))
    pages = {name: LOOP.format(rounds) for name, rounds in (("index", 1000), ("two", 2000), ("three", 3000))}
    with deployed(tmp_path, *targets, **pages) as bench:
        found = count_instructions(bench, plain_arm("plain"), rounds=3, progress=FakeProgress())
    one, two, three = (sorted(each.counts)[1] for each in found.targets)
    assert two - one > 1000
    assert three - two == pytest.approx(two - one, rel=0.02)
    assert found.median == pytest.approx((3 * one + two + 0.5 * three) / 4.5, rel=0.01)


@VALGRIND
def test_a_pool_whose_workers_come_and_go_is_counted_on_one_that_stays(tmp_path: Path) -> None:
    passing = {"pool.pm": "ondemand", "pool.pm.max_children": "4", "pool.pm.max_requests": "1", "pool.pm.process_idle_timeout": "1s"}
    with deployed(tmp_path) as bench:
        found = count_instructions(bench, plain_arm("passing", passing), progress=FakeProgress())
        plain = count_instructions(bench, plain_arm("plain"), progress=FakeProgress())
    assert found.median == pytest.approx(plain.median, rel=0.01)


@VALGRIND
@pytest.mark.long
def test_code_of_the_jit_and_huge_pages_are_counted_and_told(tmp_path: Path) -> None:
    settings = {**WITH_JIT, "ini.opcache.huge_code_pages": "1", "env.USE_ZEND_ALLOC_HUGE_PAGES": "1"}
    page = "<?php function spin(int $n): int { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i ^ $n; } return $s; } echo spin(4000);"
    with deployed(tmp_path, index=page) as bench:
        compiled = count_instructions(bench, plain_arm("jit", settings), progress=FakeProgress())
        plain = count_instructions(bench, plain_arm("plain"), progress=FakeProgress())
    assert compiled.median < plain.median
    assert compiled.warm_requests >= 200
    assert any(each.place == "" and each.share > 0.05 for each in compiled.functions)
    assert any("huge_code_pages is off" in note for note in compiled.notes)


@VALGRIND
def test_a_request_that_fails_under_callgrind_is_the_arms_failure(tmp_path: Path) -> None:
    said = r"requests fail under callgrind: 1 wrong_status \(500\)"
    with deployed(tmp_path, index="<?php http_response_code(500);") as bench, pytest.raises(ArmFailed, match=said):
        count_instructions(bench, plain_arm("broken"), progress=FakeProgress())
    assert wait_for_no_traces() == []


@VALGRIND
def test_an_arm_that_does_not_start_says_why_under_callgrind_too(tmp_path: Path) -> None:
    with deployed(tmp_path) as bench, pytest.raises(ArmFailed, match=r"does not start: .*nothing"):
        count_instructions(bench, plain_arm("wrong", {"pool.pm.min_spare_servers": "x", "pool.nothing": "1"}), progress=FakeProgress())


def test_no_valgrind_says_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Supervisor(tmp_path / "logs") as supervisor:
        monkeypatch.setenv("PHPDYNO_PATH", str(tmp_path))
        with pytest.raises(CannotCount, match=r"valgrind is not installed.*apt-get install.* valgrind") as caught:
            Counter(supervisor)
    assert "\n" not in str(caught.value)


def test_apache_is_not_counted(tmp_path: Path) -> None:
    arm = plain_arm("apache", {"web.server": "apache-mod_php"})
    with deployed(tmp_path) as bench:
        with pytest.raises(CannotCount, match="only php-fpm's instructions"):
            count_instructions(bench, arm, progress=FakeProgress())
        with pytest.raises(CannotProfile, match="only php-fpm's requests"):
            sample_functions(bench, arm, meters(), progress=FakeProgress())


# ---- PHP functions ------------------------------------------------------------------------------

LOOP_OF = "function {}(): int {{ $s = 0; for ($i = 0; $i < {}; $i++) {{ $s += $i % 7; }} return $s; }}"
WORK = f"""<?php
{LOOP_OF.format("spin_much", 90000)}
{LOOP_OF.format("little", 30000)}
{LOOP_OF.format("late", 30000)}
function much(): int {{ return spin_much(); }}
function nap(): void {{ usleep(3000); }}
class Sorter {{ static function run(): int {{ $a = range(1, 3000); usort($a, fn($x, $y) => $y <=> $x); return $a[0]; }} }}
register_shutdown_function('late');
echo much(), little(), Sorter::run();
nap();
"""


def shares(found: PhpProfile, clock: str = "wall") -> dict[str, tuple[float, float]]:
    profile = found.wall if clock == "wall" else found.cpu
    return {each.name: (each.own, each.inclusive) for each in profile.functions}


@pytest.mark.alone
def test_functions_have_the_shares_that_they_work_for(tmp_path: Path) -> None:
    with deployed(tmp_path, index=WORK) as bench:
        found = sample_functions(bench, plain_arm("plain"), meters(), seconds=4.0, progress=FakeProgress())
    wall, cpu = shares(found), shares(found, "cpu")
    assert found.wall.samples > 500
    # Three times as many times round the same loop; `much` only calls. What runs at the very end is
    # seen as well.
    assert 2 < wall["spin_much"][0] / wall["little"][0] < 4.5
    assert 0.5 < wall["late"][0] / wall["little"][0] < 2
    assert wall["much"][0] < 0.02 < wall["spin_much"][0] <= wall["much"][1]
    # It sleeps, so that one clock goes on and the other stands; functions of PHP's own have their
    # names.
    assert wall["usleep"][0] > 0.2 > cpu.get("usleep", (0.0, 0.0))[0]
    stacks = {stack.frames for stack in found.wall.stacks}
    assert ("index.php", "nap", "usleep") in stacks
    assert ("late",) in stacks
    assert any(stack[:3] == ("index.php", "Sorter::run", "usort") for stack in stacks)
    assert any("{closure:index.php}" in stack for stack in stacks)
    # Every stack begins where PHP does.
    assert {stack[0] for stack in stacks} <= {"index.php", "late", OUTSIDE}
    assert wait_for_no_traces() == []


@pytest.mark.parametrize(
    "settings",
    [
        {"ini.opcache.enable": "0"},
        {"pool.php_admin_value[open_basedir]": "{docroot}", "ini.disable_functions": "sleep"},
        {**WITH_JIT},
        {"env.USE_ZEND_ALLOC": "0"},
        {"pool.pm": "ondemand", "pool.pm.max_children": "4", "pool.pm.max_requests": "2"},
        {"web.socket": "tcp"},
    ],
)
def test_other_arms_are_sampled_too(tmp_path: Path, settings: dict[str, str]) -> None:
    with deployed(tmp_path, index=WORK) as bench:
        filled = {key: value.format(docroot=bench.app.docroot) for key, value in settings.items()}
        found = sample_functions(bench, plain_arm("other", filled), meters(), seconds=1.0, progress=FakeProgress())
    wall = shares(found)
    assert wall["usleep"][0] > 0.1
    assert wall["spin_much"][0] > wall["late"][0] > 0


FIBERS = """<?php
function inside(): int { $s = 0; for ($i = 0; $i < 60000; $i++) { $s += $i % 7; } return $s; }
function counted(): iterable { foreach ([1, 2] as $n) { yield inside() + $n; } }
$fiber = new Fiber(function (): int { return inside() + Fiber::suspend(1); });
$fiber->start();
$fiber->resume(2);
foreach (counted() as $each) { echo $each; }
eval('echo inside();');
"""


def test_fibers_generators_and_eval_have_their_callers(tmp_path: Path) -> None:
    with deployed(tmp_path, index=FIBERS) as bench:
        found = sample_functions(bench, plain_arm("fibers"), meters(), seconds=2.0, progress=FakeProgress())
    stacks = {stack.frames for stack in found.wall.stacks}
    assert ("index.php", "Fiber::start", "{closure:index.php}", "inside") in stacks
    assert ("index.php", "counted", "inside") in stacks
    assert any(stack[0] == "index.php" and "eval()'d code" in stack[1] and stack[-1] == "inside" for stack in stacks if len(stack) == 3)
    assert not any("could not be read" in note for note in found.notes)


def test_a_worker_that_is_looked_at_answers_as_before(tmp_path: Path) -> None:
    """Its sleep and its poll go on when it has stood still, and it ends when it is told to."""
    page = """<?php $t = hrtime(true); usleep(20000);
        $pair = stream_socket_pair(1, 1, 0); stream_set_timeout($pair[0], 0, 20000); fread($pair[0], 1);
        if (hrtime(true) - $t < 38_000_000) { http_response_code(500); } echo 'slept';"""
    with deployed(tmp_path, index=page) as bench:
        found = sample_functions(bench, plain_arm("asleep"), meters(), seconds=2.0, progress=FakeProgress())
    wall = shares(found)
    assert wall["usleep"][0] == pytest.approx(wall["fread"][0], rel=0.5)
    assert wait_for_no_traces() == []


def test_requests_that_fail_are_the_arms_failure(tmp_path: Path) -> None:
    with deployed(tmp_path, index="<?php http_response_code(500);") as bench, pytest.raises(ArmFailed, match="wrong_status"):
        sample_functions(bench, plain_arm("broken"), meters(), progress=FakeProgress())
    assert wait_for_no_traces() == []


def test_a_php_whose_stack_is_not_to_be_found_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(php_functions, "FUNCTION", "another_name")
    with deployed(tmp_path) as bench, pytest.raises(CannotProfile, match="PHP's stack was not found") as caught:
        sample_functions(bench, plain_arm("plain"), meters(), progress=FakeProgress())
    assert "\n" not in str(caught.value)
    with pytest.raises(CannotProfile, match="tells nobody where its executor_globals are"):
        globals_in(Path("/bin/true").resolve())
    with pytest.raises(CannotProfile, match="cannot be read"):
        globals_in(Path("/etc/hostname"))


# ---- the JIT's names, counters ------------------------------------------------------------------


@PERF
def test_code_of_the_jit_has_its_functions_name(tmp_path: Path) -> None:
    """A loop so long that starting a request, and the kernel's turns between busy neighbours, are
    a small part beside it."""
    page = (
        "<?php function spinning(int $n): int { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i ^ $n; } return $s; } echo spinning(3000000);"
    )
    with deployed(tmp_path, index=page) as bench:
        if bench.supervisor.no_bottle:
            pytest.skip("the JIT's names are read in the bottle")
        arm = told_to_perf(plain_arm("jit", WITH_JIT), bench.supervisor)
        with bench.running([arm]) as (instance,):
            driven = driven_instance(
                instance, bench, Panel("cpu", arm, (), 1), workload=bench.app.workload, transport=bench.transport, lengths={}
            )
            warm_up(driven, meters(), metric="cpu", weights=[1.0], env_names=(), workers=1)
            with sampling(bench.supervisor, "jit", children_of(instance.php_pid)) as seen:
                driven.driver.drive(np.zeros(300, dtype=np.uint32))
            driven.driver.close()
    assert seen.samples[JIT, "spinning"] > 0.5 * sum(seen.samples.values())
    assert seen.note == ""


@PERF
def test_events_of_a_worker_are_counted_by_request(tmp_path: Path) -> None:
    """By the kernel's own events, which every machine has; one of the processor's that it has not
    is told."""
    page = "<?php for ($i = 0; $i < 3; $i++) { usleep(1); } echo 'slept';"
    with deployed(tmp_path, index=page) as bench:
        events = ("context-switches", "page-faults", "cycles")
        found = count_with(
            shutil.which("perf") or "", bench, plain_arm("plain"), meters(), events=events, rounds=3, seed=1, progress=FakeProgress()
        )
    by_name = {each.event: each for each in found.readings}
    # A worker leaves the CPU at each sleep, and once more to wait for the next request.
    assert 3.5 < by_name["context-switches"].median < 8
    assert ("cycles" in by_name) != ("cycles" in found.absent)
    assert wait_for_no_traces() == []


def test_hardware_counters_or_one_line_that_says_that_there_are_none(tmp_path: Path) -> None:
    with deployed(tmp_path) as bench:
        if try_cycles().outcome == "counts":
            found = count_events(bench, plain_arm("plain"), meters(), rounds=3, progress=FakeProgress())
            assert {each.event for each in found.readings} & set(EVENTS)
            return
        with pytest.raises(CannotReadCounters, match="hardware counters") as caught:
            count_events(bench, plain_arm("plain"), meters(), progress=FakeProgress())
    assert "\n" not in str(caught.value)
