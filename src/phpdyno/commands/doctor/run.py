"""phpdyno doctor: look at this host, try what measuring needs, and say what that means. Nothing on
the host is changed."""

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno import __version__
from phpdyno.apps.built_in.packages import candidate_versions
from phpdyno.commands.doctor.estimate import HostEstimate
from phpdyno.errors import DynoError
from phpdyno.host.cgroup import CpuGroups, find_cpu_groups
from phpdyno.host.checkup.check import Check, cores_in_words
from phpdyno.host.checkup.disk import DiskPlace, look_at, try_socket
from phpdyno.host.checkup.isolation import judge_bottle, judge_isolation
from phpdyno.host.checkup.measuring import judge_counters, judge_measuring
from phpdyno.host.checkup.places import judge_cache, judge_live, judge_runs
from phpdyno.host.checkup.programs import judge_apt, judge_mariadb, judge_nginx, judge_php, judge_system, judge_tools
from phpdyno.host.checkup.readings import Readings, read_host_files
from phpdyno.host.checkup.sample import Sample, take_sample
from phpdyno.host.checkup.trials import try_clock, try_cycles, try_steal, wall_clock_synchronised
from phpdyno.host.cores import split_cores
from phpdyno.host.system import has_apt, this_distribution
from phpdyno.paths import ServiceUser, cache_path, live_root, service_user
from phpdyno.servers.database.mariadb import Database
from phpdyno.servers.programs.finding import nginx_version
from phpdyno.servers.programs.inventory import find_clis, find_fpms, find_tool, try_account, try_strace
from phpdyno.servers.supervision.supervisor import Supervisor

DATABASE_PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb")
WITH_DATABASE = frozenset({"wordpress"})


class CheckUp(Struct, frozen=True, kw_only=True):
    """What this host can and cannot measure."""

    schema: Annotated[Literal["phpdyno.doctor/1"], Meta(description="Name and version of this format.")] = "phpdyno.doctor/1"
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that looked.")] = __version__
    possible: Annotated[bool, Meta(description="Whether measuring is possible: nothing essential is missing, the estimate did not fail.")]
    checks: Annotated[tuple[Check, ...], Meta(description="All lines, in the order of the report.")]
    estimate: Annotated[HostEstimate | None, Meta(description="Null with --no-estimate, and where measuring is impossible.")] = None


def examine(app: str, runs: Path, *, estimate: Callable[[], HostEstimate] | None, phase: Callable[[str], None]) -> CheckUp:
    """All checks; then `estimate`, where one is given and measuring is possible. `phase` is told
    what is being done."""
    phase("looking at the host")
    host = read_host_files()
    user = service_user()
    groups = find_cpu_groups() if host.kernel.proc else None
    sample = take_sample()
    checks = (
        *_measuring(host, groups, sample, phase),
        *judge_isolation(host, sample, cgroups=_version(groups), account=user.name, account_problem=try_account(user)),
        judge_bottle(_why_no_bottle(), root=host.root, container=host.container),
        *_tools(host, user),
        *_servers(app, phase),
        *_disk(runs, user),
    )
    possible = not any(check.essential for check in checks)
    found = estimate() if estimate is not None and possible else None
    return CheckUp(possible=possible and not (found and found.failed), checks=checks, estimate=found)


def _why_no_bottle() -> str:
    """Why none can be made, '' where one was made."""
    try:
        with Supervisor() as supervisor:
            return supervisor.no_bottle
    except DynoError as error:
        return str(error)


def _version(groups: CpuGroups | None) -> str:
    if groups is None:
        return ""
    return "cgroup v2" if groups.key else "cgroup v1"


def _measuring(host: Readings, groups: CpuGroups | None, sample: Sample | None, phase: Callable[[str], None]) -> list[Check]:
    measured = split_cores(host.cpu.allowed).measured
    phase(f"keeping {cores_in_words(measured)} busy for a second, to see what the hypervisor takes")
    steal = try_steal(measured)
    clock = try_clock(host.cpu.allowed)
    lines = judge_measuring(host, sample, clock, steal, cpu_source=_version(groups), synchronised=wall_clock_synchronised())
    return [*lines, *judge_counters(try_cycles(), host.kernel, root=host.root)]


def _tools(host: Readings, user: ServiceUser) -> list[Check]:
    found = {name: find_tool(name) for name in ("strace", "perf", "gcc")}
    found["llvm-bolt"] = find_tool("llvm-bolt", "llvm-bolt-")
    trace = try_strace(found["strace"], user)
    return judge_tools(found, trace, yama=host.kernel.yama, root=host.root, container=host.container)


def _servers(app: str, phase: Callable[[str], None]) -> list[Check]:
    phase("asking the servers what they are")
    absent = [name for name in DATABASE_PROGRAMS if not find_tool(name)]
    problem, fix = _apt()
    return [
        judge_nginx(nginx_version() if find_tool("nginx") else ""),
        *judge_php(find_fpms(), find_clis()),
        judge_mariadb("" if absent else Database.version(), absent, needed=app in WITH_DATABASE),
        judge_apt(problem, fix),
        judge_system(this_distribution(), platform.machine(), libc=" ".join(platform.libc_ver()).strip(), apt=has_apt()),
    ]


def _apt() -> tuple[str, str]:
    """Why apt cannot bring the built-in apps, and what helps; both '' when it can."""
    try:
        candidate_versions(["wordpress"])
    except DynoError as error:
        return error.what, error.next_step
    return "", ""


def _disk(runs: Path, user: ServiceUser) -> list[Check]:
    live = look_at(live_root(), for_service=user.switch)
    try:
        cache = look_at(cache_path(), for_service=False)
    except DynoError as error:
        cache = DiskPlace("no cache", "no cache", None, error.what)
    return [
        *judge_live(live, user.name, "" if live.refused else try_socket(live_root())),
        *judge_cache(cache),
        *judge_runs(look_at(runs, for_service=False, flush=True)),
    ]
