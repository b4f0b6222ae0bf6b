"""Readings of made-up hosts in, lines out: which are limits, what is essential, which command mends
it."""

import pytest
from msgspec import structs

from phpdyno.host.checkup.check import Check
from phpdyno.host.checkup.isolation import judge_bottle, judge_isolation
from phpdyno.host.checkup.measuring import judge_counters, judge_measuring
from phpdyno.host.checkup.places import judge_cache, judge_live, judge_runs
from phpdyno.host.checkup.programs import TraceTrial, judge_apt, judge_mariadb, judge_nginx, judge_php, judge_tools
from phpdyno.host.checkup.readings import Readings
from phpdyno.host.checkup.trials import ClockTrial, CounterTrial, StealTrial
from phpdyno.host.surroundings import CgroupLimits
from phpdyno.model.plan import MAX_STEAL
from phpdyno.model.runs.sweep import MAX_STEAL_OF_A_VISIT
from tests.support.made_up.hosts import ALL_TOOLS, CLOCK, FPM, HOST, KERNEL, PLACE, SAMPLE, STEAL, host, named

VISITS_VOIDED = f"a sweep's visits (phpdyno measure) above {MAX_STEAL_OF_A_VISIT:.0%}"


def measuring(
    made: Readings, name: str, *, cpu_source: str = "cgroup v2", sample: dict[str, object] | None = None, steal: StealTrial = STEAL
) -> Check:
    watched = structs.replace(SAMPLE, **(sample or {}))
    return named(judge_measuring(made, watched, CLOCK, steal, cpu_source=cpu_source, synchronised=True), name)


def isolation(made: Readings, name: str, *, cgroups: str = "cgroup v2", problem: str = "", swapped_pages: int = 0) -> Check:
    watched = structs.replace(SAMPLE, swapped_pages=swapped_pages)
    return named(judge_isolation(made, watched, cgroups=cgroups, account="nobody", account_problem=problem), name)


def test_a_quiet_machine_of_its_own_is_ok_throughout() -> None:
    lines = [
        *judge_measuring(HOST, SAMPLE, CLOCK, STEAL, cpu_source="cgroup v2", synchronised=True),
        *judge_counters(CounterTrial("counts"), KERNEL, root=True),
        *judge_isolation(HOST, SAMPLE, cgroups="cgroup v2", account="nobody", account_problem=""),
        *judge_tools(ALL_TOOLS, TraceTrial("attached"), yama=0, root=True, container=""),
        judge_nginx("nginx/1.22.1"),
        *judge_php([FPM], [FPM]),
        judge_mariadb("10.11", [], needed=True),
        judge_apt("", ""),
        *judge_live(PLACE, "nobody", ""),
        *judge_cache(PLACE),
        *judge_runs(structs.replace(PLACE, flush_s=0.001)),
    ]
    assert {check.state for check in lines} == {"ok"}
    assert not any(check.essential for check in lines)
    keys = [(check.group, check.name) for check in lines]
    assert len(set(keys)) == len(keys)


# ---- measuring ----------------------------------------------------------------------------------


def test_one_core() -> None:
    line = measuring(host(cpu={"allowed": (2,)}), "cores")
    assert line.state == "limits"
    assert "core 2 for everything" in line.found
    assert "1 of 4" in line.found


def test_the_split_of_the_cores_is_named() -> None:
    assert "core 3 for the instance under test, cores 0, 1, 2 for the rest" in measuring(HOST, "cores").found


def test_no_cgroup_permission_falls_back_to_schedstat() -> None:
    line = measuring(HOST, "CPU time", cpu_source="")
    assert line.state == "limits"
    assert "schedstat" in line.found
    assert "pools whose workers come and go are refused" in line.means
    assert not line.essential
    assert isolation(HOST, "cgroups", cgroups="").fix == "run phpdyno as root"
    assert "mount /sys/fs/cgroup writable" in isolation(host(root=True), "cgroups", cgroups="").fix


@pytest.mark.parametrize("kernel", [{"schedstat": False}, {"proc": False}, {"children": False}])
def test_without_any_cpu_time_nothing_can_be_measured(kernel: dict[str, object]) -> None:
    line = measuring(host(kernel=kernel), "CPU time", cpu_source="")
    assert (line.state, line.essential) == ("missing", True)
    assert line.fix


@pytest.mark.parametrize(
    ("share", "state", "words"),
    [
        (0.01, "ok", ""),
        (0.03, "limits", "wider intervals"),
        (MAX_STEAL_OF_A_VISIT, "limits", "wider intervals"),
        (MAX_STEAL_OF_A_VISIT + 0.01, "limits", f"wider intervals; {VISITS_VOIDED} do not count"),
        (MAX_STEAL, "limits", f"wider intervals; {VISITS_VOIDED} do not count"),
        (MAX_STEAL + 0.01, "limits", f"blocks above {MAX_STEAL:.0%} and {VISITS_VOIDED} do not count, so measuring takes longer"),
        (None, "unknown", ""),
    ],
)
def test_steal_is_judged_on_a_busy_core(share: float | None, state: str, words: str) -> None:
    line = measuring(HOST, "steal", steal=StealTrial((3,), 1.0, share))
    assert line.state == state
    assert line.means.replace(" %", "%") == words
    assert "core 3" in line.found


def test_steal_since_boot_is_only_told() -> None:
    line = measuring(HOST, "steal", sample={"steal_since_boot": 0.2})
    assert (line.state, line.means, line.fix) == ("ok", "", "")
    assert "20.0 % of all cores' busy time since boot" in line.found


def test_load_by_others_is_named() -> None:
    line = measuring(HOST, "other load", sample={"others_cores": 1.3, "busiest": ((77, "cron", 1.1), (9, "find", 0.1))})
    assert line.state == "limits"
    assert line.found == "1.30 cores kept busy by others: cron (77) 1.10, find (9) 0.10"
    assert line.fix.startswith("ps -o pid,user,pcpu,args -p 77,9")


def test_what_cannot_be_watched_is_unknown() -> None:
    lines = judge_measuring(HOST, None, CLOCK, StealTrial((3,), 1.0, None), cpu_source="cgroup v2", synchronised=None)
    assert [named(lines, name).state for name in ("steal", "other load", "wall clock")] == ["unknown"] * 3
    swapping = host(memory={"swap_total_kib": 1000, "swap_free_kib": 500})
    assert named(judge_isolation(swapping, None, cgroups="", account="nobody", account_problem=""), "swap").state == "unknown"


def test_a_quota_binds_only_below_our_cores() -> None:
    assert measuring(host(limits=CgroupLimits(1.5, None)), "CPU quota").state == "limits"
    assert measuring(host(limits=CgroupLimits(8.0, None)), "CPU quota").state == "ok"
    assert measuring(host(limits=None), "CPU quota").state == "unknown"


@pytest.mark.parametrize(
    ("cpu", "state", "fixes"),
    [
        ({"governors": ("powersave",)}, "limits", ["echo performance"]),
        ({"governors": ("powersave",), "turbo": True, "turbo_off": "echo 1 | sudo tee x"}, "limits", ["echo performance", "sudo tee x"]),
        ({"turbo": True, "turbo_off": "echo 0 | sudo tee y"}, "ok", ["sudo tee y"]),
        ({"governors": ()}, "unknown", []),
    ],
)
def test_the_cpu_clock(cpu: dict[str, object], state: str, fixes: list[str]) -> None:
    line = measuring(host(cpu=cpu), "CPU clock")
    assert line.state == state
    assert all(fix in line.fix for fix in fixes)


PAIRED = {0: (0, 2), 1: (1, 3), 2: (0, 2), 3: (1, 3)}


def test_a_sibling_beside_the_measured_core() -> None:
    ours = measuring(host(cpu={"siblings": PAIRED}), "SMT")
    assert ours.state == "limits"
    assert "beside core 1, which we use ourselves" in ours.found
    assert ours.fix == "taskset -c 0,2,3 phpdyno ..."
    others = measuring(host(cpu={"allowed": (2, 3), "siblings": {2: (0, 2), 3: (1, 3)}}), "SMT")
    assert "beside core 1, which others may use" in others.found
    assert measuring(host(cpu={"siblings": {}}), "SMT").state == "unknown"


def test_smt_is_turned_off_only_where_it_is_on_and_with_the_way_back() -> None:
    first, _, second = measuring(host(cpu={"siblings": PAIRED, "smt": "on"}), "SMT").fix.partition("; ")
    assert first.startswith("taskset")
    assert second.startswith("or, on a host that serves nobody: echo off | sudo tee /sys/devices/system/cpu/smt/control")
    assert "back with: echo on | sudo tee /sys/devices/system/cpu/smt/control" in second
    for smt in (None, "notsupported", "forceoff", "off"):
        assert "smt" not in measuring(host(cpu={"siblings": PAIRED, "smt": smt}), "SMT").fix


@pytest.mark.parametrize("smt", ["on", "notsupported"])
def test_two_siblings_are_never_made_one_core(smt: str) -> None:
    line = measuring(host(cpu={"allowed": (0, 1), "online": (0, 1), "siblings": {0: (0, 1), 1: (0, 1)}, "smt": smt}), "SMT")
    assert line.state == "limits"
    assert line.fix == "measure on a machine that gives phpdyno two physical cores"


@pytest.mark.parametrize(
    ("clock", "words"), [(ClockTrial(1, 60.0, 250, 400), "up to 250 ns backwards"), (ClockTrial(1, 900.0, 0, 400), "900 ns per read")]
)
def test_a_clock_that_goes_back_or_is_slow(clock: ClockTrial, words: str) -> None:
    line = named(judge_measuring(HOST, SAMPLE, clock, STEAL, cpu_source="cgroup v2", synchronised=True), "steady clock")
    assert line.state == "limits"
    assert words in line.found
    assert "clocksource" in line.fix


def test_a_step_of_the_wall_clock() -> None:
    line = measuring(HOST, "wall clock", sample={"step_s": -2.0})
    assert line.state == "limits"
    assert "-2000.0 ms" in line.found
    assert "install" not in line.fix


def test_machines() -> None:
    assert measuring(HOST, "machine").state == "ok"
    assert measuring(host(virtual=None), "machine").state == "unknown"
    line = measuring(host(virtual="kvm", container="docker"), "machine")
    assert (line.state, line.fix) == ("limits", "")
    assert "virtual (kvm), in a container (docker)" in line.found


@pytest.mark.parametrize(
    ("trial", "state", "fix"),
    [
        (CounterTrial("absent", "No such file or directory"), "limits", "hypervisor"),
        (CounterTrial("forbidden", "Permission denied"), "limits", "kernel.perf_event_paranoid=1"),
        (CounterTrial("unknown", "?"), "unknown", ""),
    ],
)
def test_counters(trial: CounterTrial, state: str, fix: str) -> None:
    line = named(judge_counters(trial, KERNEL, root=False), "PMU")
    assert line.state == state
    assert fix in line.fix
    assert "perf_event_open" in line.found


def test_who_may_count() -> None:
    strict = host(kernel={"perf_paranoid": 3}).kernel
    assert named(judge_counters(CounterTrial("counts"), strict, root=False), "perf_event_paranoid").state == "limits"
    assert named(judge_counters(CounterTrial("counts"), strict, root=True), "perf_event_paranoid").state == "ok"


# ---- isolation ----------------------------------------------------------------------------------


def test_an_account_that_cannot_be_taken_is_essential() -> None:
    line = isolation(host(root=True), "account", problem="Operation not permitted")
    assert (line.state, line.essential) == ("missing", True)


@pytest.mark.parametrize(
    ("made", "name", "state", "fix"),
    [
        (host(kernel={"aslr": 0}), "ASLR", "limits", "kernel.randomize_va_space=2"),
        (host(kernel={"aslr": None}), "ASLR", "unknown", ""),
        (host(memory={"available_kib": 100 * 1024}), "memory", "limits", "free some"),
        (host(limits=CgroupLimits(None, 256 * 1024)), "memory", "limits", "free some"),
        (host(memory={"total_kib": None}), "memory", "unknown", ""),
        (host(memory={"swap_total_kib": 1000, "swap_free_kib": 950}), "swap", "ok", ""),
        (host(memory={"swap_total_kib": 1000, "swap_free_kib": 10}), "swap", "ok", ""),
        (host(memory={"thp": "never"}), "huge pages (THP)", "limits", "echo madvise"),
        (host(memory={"thp": "always"}), "huge pages (THP)", "ok", ""),
        (host(memory={"thp": None}), "huge pages (THP)", "unknown", ""),
        (host(memory={"hugetlb_settable": False}), "huge pages (hugetlb)", "limits", "vm.nr_hugepages"),
        (host(memory={"hugetlb_pages": 128}), "huge pages (hugetlb)", "ok", ""),
        (host(open_files=(1024, 4096)), "open files", "limits", "ulimit -n"),
        (host(open_files=(1024, 1024)), "open files", "limits", "limits.conf"),
        (host(open_files=(-1, -1)), "open files", "ok", ""),
        (host(kernel={"somaxconn": 128}), "somaxconn", "limits", "net.core.somaxconn=4096"),
        (host(cpu={"allowed": (1, 2)}), "affinity", "ok", ""),
        (host(cpu={"online": None}), "affinity", "unknown", ""),
    ],
)
def test_isolation(made: Readings, name: str, state: str, fix: str) -> None:
    line = isolation(made, name)
    assert line.state == state
    assert fix in line.fix


@pytest.mark.parametrize(("available_kib", "offered"), [(4 << 20, True), (1 << 20, False), (2 << 20, False), (None, False)])
def test_swap_is_emptied_only_where_memory_can_take_it(available_kib: int | None, offered: bool) -> None:
    made = host(memory={"swap_total_kib": 8 << 20, "swap_free_kib": 6 << 20, "available_kib": available_kib})
    line = isolation(made, "swap", swapped_pages=12)
    assert line.state == "limits"
    assert "12 pages moved in 1.5 s" in line.found
    assert ("swapoff" in line.fix) == offered
    assert measuring(made, "other load", sample={"swapped_pages": 12}).state == "ok"


def test_where_no_bottle_can_be_made_the_next_step_fits_the_place() -> None:
    assert judge_bottle("", root=False, container="").state == "ok"
    why = "no user namespace can be made: Operation not permitted"
    told = {place: judge_bottle(why, root=root, container=place) for root, place in ((False, ""), (True, "docker"))}
    assert {check.state for check in told.values()} == {"limits"}
    assert all(why in check.found and "--no-bottle" in check.means for check in told.values())
    assert told[""].fix == "allow user namespaces, or run as root"
    assert told["docker"].fix == "give the container CAP_SYS_ADMIN"
