"""What decides how wide the intervals of a measurement get. Pure: readings and trials in, lines
out."""

from phpdyno.host.checkup.check import Check, cores_in_words, share
from phpdyno.host.checkup.readings import FOLLOWS_LOAD, SMT_CONTROL, CpuReadings, KernelReadings, Readings, siblings_beside
from phpdyno.host.checkup.sample import Sample
from phpdyno.host.checkup.trials import ClockTrial, CounterTrial, StealTrial
from phpdyno.host.cores import split_cores
from phpdyno.host.surroundings import CgroupLimits
from phpdyno.model.plan import MAX_STEAL
from phpdyno.model.runs.sweep import MAX_STEAL_OF_A_VISIT

SOME_STEAL = 0.02
OTHERS_CORES = 0.10
LEAST_CORES = 2
SLOW_READ_NS = 500
CLOCK_STEP_S = 0.001
HYPERVISOR_DECIDES = "the hypervisor decides; ask for a fixed clock, or measure on a machine of your own"


def judge_measuring(
    host: Readings, sample: Sample | None, clock: ClockTrial, steal: StealTrial, *, cpu_source: str, synchronised: bool | None
) -> list[Check]:
    """One line for each."""
    return [
        _cores(host.cpu),
        _cpu_time(cpu_source, host.kernel),
        _steal(steal, sample),
        _others(sample),
        _quota(host.limits, host.cpu),
        _clock_rate(host.cpu, virtual=bool(host.virtual)),
        _threads(host.cpu, virtual=bool(host.virtual)),
        _steady_clock(host.cpu, clock),
        _wall_clock(sample, synchronised),
        _machine(host),
    ]


def _cores(cpu: CpuReadings) -> Check:
    split = split_cores(cpu.allowed)
    of = f" of {len(cpu.online)}" if cpu.online and len(cpu.online) != len(cpu.allowed) else ""
    if len(cpu.allowed) == 1:
        return Check(
            "measuring",
            "cores",
            "limits",
            f"1{of}: {cores_in_words(cpu.allowed)} for everything",
            "generator, database and the instance under test share it: wide intervals, and throughput says little",
            "allow phpdyno a second core (taskset, cpuset, a larger machine)",
        )
    shared = f"{cores_in_words(split.measured)} for the instance under test, {cores_in_words(split.helpers)} for the rest"
    return Check("measuring", "cores", "ok", f"{len(cpu.allowed)}{of}: {shared}")


def _cpu_time(source: str, kernel: KernelReadings) -> Check:
    name, as_root = "CPU time", "run phpdyno as root where cgroups may be made"
    if not kernel.proc:
        return _no_cpu_time("/proc is not mounted", "no process can be read", "mount -t proc proc /proc")
    if not kernel.children:
        means, fix = "phpdyno cannot tell when a worker is idle", "use a kernel built with CONFIG_PROC_CHILDREN, as distributions' are"
        return _no_cpu_time("/proc/PID/task/PID/children is not there", means, fix)
    if source:
        return Check("measuring", name, "ok", f"from a cgroup per server ({source}), ended workers included")
    if kernel.schedstat:
        means = "what an ended worker used is known to a tick only, so pools whose workers come and go are refused"
        return Check("measuring", name, "limits", "from /proc/PID/schedstat: no cgroup can be made", means, as_root)
    found = "no cgroup can be made, and /proc/PID/schedstat counts nothing"
    return _no_cpu_time(found, "CPU time cannot be read in less than ticks", as_root)


def _no_cpu_time(found: str, means: str, fix: str) -> Check:
    return Check("measuring", "CPU time", "missing", found, means, fix, essential=True)


def _steal(trial: StealTrial, sample: Sample | None) -> Check:
    """Judged by what is taken now from a core that has work; the figure since boot is
    information."""
    where = cores_in_words(trial.cores)
    if trial.share is None:
        return Check("measuring", "steal", "unknown", f"/proc/stat does not show the time of {where}")
    said = f"{share(trial.share)} of the {trial.seconds:.1f} s in which we kept {where} busy"
    said += f"; {share(sample.steal_since_boot)} of all cores' busy time since boot" if sample else ""
    if trial.share <= SOME_STEAL:
        return Check("measuring", "steal", "ok", said)
    means = _steal_means(trial.share)
    return Check("measuring", "steal", "limits", said, means, "use another hour, or an instance type with cores of its own")


def _steal_means(taken: float) -> str:
    """What the steal means, by the limits that comparisons and sweeps declare beforehand."""
    visits = f"a sweep's visits (phpdyno measure) above {100 * MAX_STEAL_OF_A_VISIT:.0f} %"
    if taken > MAX_STEAL:
        return f"blocks above {100 * MAX_STEAL:.0f} % and {visits} do not count, so measuring takes longer"
    return f"wider intervals; {visits} do not count" if taken > MAX_STEAL_OF_A_VISIT else "wider intervals"


def _others(sample: Sample | None) -> Check:
    if sample is None:
        return Check("measuring", "other load", "unknown", "/proc/stat cannot be read")
    said = f"{sample.others_cores:.2f} cores kept busy by others"
    named = ", ".join(f"{name} ({pid}) {cores:.2f}" for pid, name, cores in sample.busiest)
    if sample.others_cores <= OTHERS_CORES:
        return Check("measuring", "other load", "ok", said)
    numbers = ",".join(str(pid) for pid, _, _ in sample.busiest)
    fix = f"ps -o pid,user,pcpu,args -p {numbers} (and measure when they rest)" if numbers else "measure when it is quiet"
    means = "they take cores and caches from the instance under test: wider intervals"
    return Check("measuring", "other load", "limits", f"{said}{': ' + named if named else ''}", means, fix)


def _quota(limits: CgroupLimits | None, cpu: CpuReadings) -> Check:
    if limits is None:
        return Check("measuring", "CPU quota", "unknown", "/proc/self/cgroup cannot be read")
    if limits.cpu_cores is None or limits.cpu_cores >= len(cpu.allowed):
        return Check("measuring", "CPU quota", "ok", "none that binds")
    return Check(
        "measuring",
        "CPU quota",
        "limits",
        f"our cgroup gets {limits.cpu_cores:.2f} of {len(cpu.allowed)} cores",
        "when it is used up everything stands still for the rest of the period: response times and throughput are the quota's",
        "start the container or the service without a quota (docker: no --cpus; systemd: no CPUQuota=), and give it a cpuset instead",
    )


def _clock_rate(cpu: CpuReadings, *, virtual: bool) -> Check:
    name = "CPU clock"
    turbo = {True: ", turbo on", False: ", turbo off", None: ""}[cpu.turbo]
    if not cpu.governors:
        fix = HYPERVISOR_DECIDES if virtual else ""
        return Check("measuring", name, "unknown", f"no governor is shown{turbo}", "slots are paired closely, so slow drifts cancel", fix)
    said = f"governor {', '.join(cpu.governors)}{turbo}"
    follows = not FOLLOWS_LOAD.isdisjoint(cpu.governors)
    steps = ["echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"] if follows else []
    steps += [cpu.turbo_off] if cpu.turbo else []
    means = {(True, True): "load and heat", (True, False): "load", (False, True): "heat"}.get((follows, bool(cpu.turbo)), "")
    means = f"the clock follows {means}, and so do the figures" if means else ""
    return Check("measuring", name, "limits" if follows else "ok", said, means, "; ".join(steps))


def _threads(cpu: CpuReadings, *, virtual: bool) -> Check:
    split = split_cores(cpu.allowed)
    if not cpu.siblings:
        return Check("measuring", "SMT", "unknown", "no topology is shown")
    beside = siblings_beside(cpu, split.measured)
    if not beside:
        shown = ", as far as the hypervisor shows" if virtual else ""
        return Check("measuring", "SMT", "ok", f"{cores_in_words(split.measured)} shares its execution units with no other{shown}")
    busy = "which we use ourselves" if set(beside) & set(split.helpers) else "which others may use"
    return Check(
        "measuring",
        "SMT",
        "limits",
        f"{cores_in_words(split.measured)} is a hardware thread beside {cores_in_words(beside)}, {busy}",
        "a busy sibling makes the instance under test dearer by tens of per cent, in both arms alike on average",
        _without_sibling(cpu, beside),
    )


def _without_sibling(cpu: CpuReadings, beside: tuple[int, ...]) -> str:
    """How to measure on a physical core of its own and keep a second one for the rest; turning SMT
    off concerns the whole host."""
    steps = []
    kept = [core for core in cpu.allowed if core not in beside]
    if len(kept) >= LEAST_CORES and len(kept) < len(cpu.allowed):
        steps.append(f"taskset -c {','.join(map(str, kept))} phpdyno ...")
    whole = [core for core in cpu.allowed if core == min(cpu.siblings.get(core, (core,)))]
    if cpu.smt == "on" and len(whole) >= LEAST_CORES:
        also = "or, " if steps else ""
        steps.append(
            f"{also}on a host that serves nobody: echo off | sudo tee {SMT_CONTROL} (half of all hardware threads go; "
            f"back with: echo on | sudo tee {SMT_CONTROL})"
        )
    return "; ".join(steps) or "measure on a machine that gives phpdyno two physical cores"


def _steady_clock(cpu: CpuReadings, clock: ClockTrial) -> Check:
    source = cpu.clock_source or "unknown source"
    said = f"{source}: {clock.read_ns:.0f} ns per read, steps of {clock.resolution_ns} ns, {clock.hops} moves between cores"
    if clock.backwards_ns > 0:
        return Check(
            "measuring",
            "steady clock",
            "limits",
            f"{said}, up to {clock.backwards_ns} ns backwards",
            "times of requests are wrong by as much; CPU time is not concerned",
            "boot with another clocksource= (see /sys/devices/system/clocksource/clocksource0/available_clocksource)",
        )
    if clock.read_ns > SLOW_READ_NS:
        return Check(
            "measuring",
            "steady clock",
            "limits",
            f"{said}, never backwards",
            "each read is a system call: it adds to what PHP itself spends on time and to the generator's lag",
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource, where it is available",
        )
    return Check("measuring", "steady clock", "ok", f"{said}, never backwards")


def _wall_clock(sample: Sample | None, synchronised: bool | None) -> Check:
    name = "wall clock"
    if sample is not None and abs(sample.step_s) > CLOCK_STEP_S:
        return Check(
            "measuring",
            name,
            "limits",
            f"it moved by {sample.step_s * 1000:.1f} ms against the steady clock within {sample.seconds:.1f} s",
            "phpdyno measures by the steady clock, but PHP sees the step: sessions, caches and opcache revalidate at odd moments",
            "wait until the time service has settled (timedatectl timesync-status, or chronyc tracking), or let it slew and not step",
        )
    if synchronised is None:
        return Check("measuring", name, "unknown", "the kernel does not tell whether a time service steers it")
    said = "steered by a time service" if synchronised else "no time service steers it"
    return Check("measuring", name, "ok", f"{said}, no step seen; phpdyno measures by the steady clock")


def _machine(host: Readings) -> Check:
    model = host.cpu.model or "unknown processor"
    inside = f", in a container ({host.container})" if host.container else ""
    if host.virtual is None:
        return Check("measuring", "machine", "unknown", f"{model}{inside}")
    if not host.virtual:
        return Check("measuring", "machine", "ok", f"{model}, not virtual{inside}")
    return Check(
        "measuring",
        "machine",
        "limits",
        f"{model}, virtual ({host.virtual}){inside}",
        "neighbours share caches and memory: compare within one run, never figures of two runs; bare metal gives narrower intervals",
    )


def judge_counters(trial: CounterTrial, kernel: KernelReadings, *, root: bool) -> list[Check]:
    """Hardware counters, and who may use them."""
    tried = "perf_event_open for hardware cycles"
    instead = "verdicts do not need it: they rest on CPU time and the clock"
    allow = "sudo sysctl -w kernel.perf_event_paranoid=1 (in a container also: docker --cap-add PERFMON)"
    found = {
        "counts": Check("measuring", "PMU", "ok", f"{tried}: it counts"),
        "forbidden": Check("measuring", "PMU", "limits", f"{tried}: {trial.detail}", instead, allow),
        "absent": Check(
            "measuring", "PMU", "limits", f"{tried}: there is no such counter ({trial.detail})", instead, "the hypervisor must pass it on"
        ),
        "unknown": Check("measuring", "PMU", "unknown", f"{tried}: {trial.detail}", instead),
    }
    return [found[trial.outcome], _paranoid(kernel.perf_paranoid, root=root)]


def _paranoid(level: int | None, *, root: bool) -> Check:
    name = "perf_event_paranoid"
    if level is None:
        return Check("measuring", name, "unknown", "not readable")
    if root or level <= 2:
        who = (
            "root may count everything"
            if root
            else "we may count our own processes" + (", the kernel's part included" if level < 2 else "")
        )
        return Check("measuring", name, "ok", f"{level}: {who}")
    return Check(
        "measuring",
        name,
        "limits",
        f"{level}: only root may count",
        "no hardware counters for this account; verdicts do not need them",
        "sudo sysctl -w kernel.perf_event_paranoid=1",
    )
