"""The instruments of `explain` on real servers: instructions by callgrind, PHP functions by excimer, the JIT's names, counters by perf."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from phpdyno.apps.registry import open_app
from phpdyno.experiment.lanes import make_lane
from phpdyno.experiment.slot import SharedMeters
from phpdyno.experiment.warmup import warm_up
from phpdyno.explain import php_functions
from phpdyno.explain.counters import EVENTS, CannotReadCounters, count_events, count_with
from phpdyno.explain.hot_functions import JIT, sampling
from phpdyno.explain.instructions import count_instructions
from phpdyno.explain.jit_symbols import told_to_perf
from phpdyno.explain.php_functions import CannotProfile, sample_functions
from phpdyno.explain.under_callgrind import CannotCount, Counter
from phpdyno.host.checkup.trials import try_cycles
from phpdyno.model.plan import Panel
from phpdyno.model.stacks import PhpProfile
from phpdyno.model.workload import Target, Workload
from phpdyno.stack.bench import Bench
from phpdyno.stack.instance import ArmFailed
from phpdyno.stack.meter import HostMeter, children_of
from phpdyno.stack.supervise import Supervisor
from phpdyno.workflows.app_stand import app_stand
from tests.support.fake_study import FakeProgress
from tests.support.optional import needs
from tests.support.stack import plain_arm, plain_bench
from tests.support.traces import wait_for_no_traces

pytestmark = pytest.mark.integration

VALGRIND = needs(shutil.which("valgrind"), "valgrind is not installed")
EXCIMER = needs(list(php_functions.MODULES.glob("*/excimer.so")), "php-excimer is not installed")
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


# ---- instructions ---------------------------------------------------------------------------------


@VALGRIND
def test_two_passes_on_the_same_arm_agree_within_the_spread_that_they_tell(tmp_path: Path) -> None:
    with app_stand(open_app("hello"), logs=tmp_path / "logs", progress=FakeProgress()) as stand:
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
    with deployed(tmp_path) as bench, pytest.raises(ArmFailed, match=r"does not start.*pool\.nothing|nothing"):
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


# ---- PHP functions --------------------------------------------------------------------------------

LOOP_OF = "function {}(): int {{ $s = 0; for ($i = 0; $i < {}; $i++) {{ $s += $i % 7; }} return $s; }}"
WORK = f"""<?php
{LOOP_OF.format("spin_much", 90000)}
{LOOP_OF.format("little", 30000)}
{LOOP_OF.format("late", 30000)}
function much(): int {{ return spin_much(); }}
function nap(): void {{ usleep(1000); }}
register_shutdown_function('late');
echo much(), little();
nap();
"""


def shares(found: PhpProfile, clock: str = "wall") -> dict[str, tuple[float, float]]:
    profile = found.wall if clock == "wall" else found.cpu
    return {each.name: (each.own, each.inclusive) for each in profile.functions}


@EXCIMER
def test_functions_have_the_shares_that_they_work_for(tmp_path: Path) -> None:
    with deployed(tmp_path, index=WORK) as bench:
        found = sample_functions(bench, plain_arm("plain"), meters(), seconds=2.0, progress=FakeProgress())
    wall, cpu = shares(found), shares(found, "cpu")
    assert found.wall.samples > 500
    # Three times as many times round the same loop; `much` only calls.
    assert 2 < wall["spin_much"][0] / wall["little"][0] < 4.5
    assert wall["much"][0] < 0.05 < wall["spin_much"][0] <= wall["much"][1]
    # What the app registers to run at the end is still seen.
    assert wall["late"][0] > 0.4 * wall["little"][0]
    # It sleeps, so that one clock goes on and the other stands.
    assert wall["nap"][0] > 0.2
    assert cpu.get("nap", (0.0, 0.0))[0] < 0.5 * wall["nap"][0]
    # The root of the app is cut off, and nothing of ours is in it.
    assert {stack.frames[0] for stack in found.wall.stacks} <= {"index.php", "late"}
    assert not any("prepend" in frame or "Phpdyno" in frame for stack in found.wall.stacks for frame in stack.frames)
    assert wait_for_no_traces() == []


GUARDED = "<?php if (!defined('GUARD') || GUARD !== '{}') {{ http_response_code(500); }} for ($i = 0; $i < 20000; $i++) {{}} echo GUARD;"


@EXCIMER
@pytest.mark.parametrize(
    "place", ["ini.auto_prepend_file", "pool.php_value[auto_prepend_file]", "pool.php_admin_value[auto_prepend_file]", ""]
)
def test_the_arms_own_prepended_script_runs_all_the_same(tmp_path: Path, place: str) -> None:
    """Without a place in the arm it is a .user.ini that names it, as security plugins do; a page without it answers 500."""
    with deployed(tmp_path, index=GUARDED.format("mine"), guard="<?php define('GUARD', 'mine');") as bench:
        guard = str(bench.app.docroot / "guard.php")
        if not place:
            (bench.app.docroot / ".user.ini").write_text(f'auto_prepend_file = "{guard}"\n')
        found = sample_functions(
            bench, plain_arm("guarded", {place: guard} if place else {}), meters(), seconds=0.3, progress=FakeProgress()
        )
    assert found.wall.samples > 20


@EXCIMER
@pytest.mark.parametrize("settings", [{"ini.opcache.enable": "0"}, {"pool.php_admin_value[open_basedir]": "{docroot}"}, WITH_JIT])
def test_other_arms_are_sampled_too(tmp_path: Path, settings: dict[str, str]) -> None:
    with deployed(tmp_path, index=WORK) as bench:
        filled = {key: value.format(docroot=bench.app.docroot) for key, value in settings.items()}
        found = sample_functions(bench, plain_arm("other", filled), meters(), seconds=0.5, progress=FakeProgress())
    assert shares(found)["spin_much"][0] > 0.1


def test_no_excimer_for_a_php_says_which_and_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(php_functions, "MODULE", "not-there.so")
    said = r"excimer is not installed for this PHP 8\.\d \(module API \d+, NTS\); install it with: .*php8\.\d-excimer"
    with deployed(tmp_path) as bench, pytest.raises(CannotProfile, match=said):
        sample_functions(bench, plain_arm("plain"), meters(), progress=FakeProgress())


@EXCIMER
def test_a_module_that_php_does_not_take_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "excimer.so"
    broken.write_bytes(b"no module")
    with deployed(tmp_path) as bench:
        place = bench.supervisor.live / "excimer.so"
        shutil.copyfile(broken, place)
        monkeypatch.setattr(php_functions, "find_excimer", lambda *_: place)
        with pytest.raises(CannotProfile, match=r"this PHP does not take excimer: .*Unable to load"):
            sample_functions(bench, plain_arm("plain"), meters(), progress=FakeProgress())


def test_excimer_is_loaded_by_no_php_of_this_host() -> None:
    """The package enables it for all of them; `phpdismod` undoes that, or every other measurement would run with it."""
    assert not list(Path("/etc/php").glob("*/*/conf.d/*excimer*"))


# ---- the JIT's names, counters --------------------------------------------------------------------


@PERF
def test_code_of_the_jit_has_its_functions_name(tmp_path: Path) -> None:
    page = (
        "<?php function spinning(int $n): int { $s = 0; for ($i = 0; $i < $n; $i++) { $s += $i ^ $n; } return $s; } echo spinning(200000);"
    )
    with deployed(tmp_path, index=page) as bench:
        if bench.supervisor.no_bottle:
            pytest.skip("the JIT's names are read in the bottle")
        arm = told_to_perf(plain_arm("jit", WITH_JIT), bench.supervisor)
        with bench.running([arm]) as (instance,):
            lane = make_lane(instance, bench, Panel("cpu", arm, (), 1), workload=bench.app.workload, transport=bench.transport, lengths={})
            warm_up(lane, meters(), metric="cpu", weights=[1.0], env_names=(), workers=1)
            with sampling(bench.supervisor, "jit", children_of(instance.php_pid)) as seen:
                lane.driver.drive(np.zeros(2000, dtype=np.uint32))
            lane.driver.close()
    assert seen.samples[JIT, "spinning"] > 0.5 * sum(seen.samples.values())
    assert seen.note == ""


@PERF
def test_events_of_a_worker_are_counted_by_request(tmp_path: Path) -> None:
    """By the kernel's own events, which every machine has; one of the processor's that it has not is told."""
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
