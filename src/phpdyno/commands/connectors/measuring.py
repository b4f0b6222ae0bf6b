"""One operation measured: all rows beside one control, on one server, by the loop that measures
everything else."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from phpdyno.commands.connectors.counting import count_syscalls
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.common.slot import SharedMeters
from phpdyno.experiment.comparison.runner import Runner
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.cgroup import cpu_source, find_cpu_groups
from phpdyno.host.cores import split_cores
from phpdyno.host.preflight import read_host, warnings_for
from phpdyno.journal.records import Preflight
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.plan import FixedBlocks, Plan
from phpdyno.model.runs.connector import ConnectorRow
from phpdyno.model.workload import OPERATION_DONE, Target, Workload
from phpdyno.servers.bench import component_cgroup, component_meter
from phpdyno.servers.facts.meter import host_meter
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.connectors import ConnectorBench
from phpdyno.servers.tarantool.server import ServerSettings, Tarantool, TarantoolProgram
from phpdyno.session.environment import refuse_another_host

SERVER = "tarantool"
"""The component that the server's CPU is told of as."""
PAIRS = 2
MOST_BLOCKS = 1_000
"""The budget ends it before."""
OPERATIONS_PER_FLIGHT = 20
LEAST_OF_A_SLOT = 2_000


class ConnectorLab(Struct, frozen=True):
    """What rows are measured with: the server and how it is set up, our own client's classes."""

    program: TarantoolProgram
    settings: ServerSettings
    package: Path


def plan_of(
    operation: str,
    control: ConnectorRow,
    rows: Sequence[ConnectorRow],
    *,
    arm_of: Callable[[ConnectorRow], Arm],
    version: str,
    budget_s: float,
    seed: int,
    confidence: float,
    tuples: int = ServerSettings().tuples,
) -> Plan:
    """All rows beside the control in one operation, for as long as the budget lasts. A slot fills
    the widest row's flight twenty times, and has no more operations than the space has `tuples`:
    each is deleted once."""
    widest = max(row.in_flight * row.processes for row in (control, *rows))
    return Plan(
        app=f"tarantool {operation}",
        app_version=version,
        workload=Workload((Target(operation, status=OPERATION_DONE),)),
        control=arm_of(control),
        treatments=tuple(arm_of(row) for row in rows),
        metric="throughput",
        loaded_concurrency=1,
        confidence=confidence,
        budget_s=budget_s,
        seed=seed,
        transport="connector",
        fixed=FixedBlocks(
            blocks=MOST_BLOCKS,
            pairs=PAIRS,
            slot_requests=min(tuples, max(LEAST_OF_A_SLOT, OPERATIONS_PER_FLIGHT * widest)),
            request_wall_ns=100_000,
            request_cpu_ns=50_000,
            block_s=1.0,
            overhead_s=1.0,
            sigma_pair=0.05,
            sigma_start=0.01,
        ),
    )


def _cores_for(rows: Iterable[ConnectorRow]) -> int:
    """As many as the row with most processes or threads can use, while the server, which has two
    threads, keeps two where that goes."""
    widest = max(row.in_flight if row.engine == "threads" else row.processes for row in rows)
    return max(1, min(widest, len(os.sched_getaffinity(0)) - 2))


def measure(
    state: RunState,
    rows: Mapping[str, ConnectorRow],
    lab: ConnectorLab,
    supervisor: Supervisor,
    *,
    journal: JournalWriter,
    run: Path,
    progress: Progress,
) -> None:
    """Start the server, look at the host, and run the plan to its end. Raises DynoError."""
    plan = state.plan
    cores, groups = split_cores(workers=_cores_for(rows.values())), find_cpu_groups()
    with ExitStack() as stack:
        progress.phase("starting Tarantool")
        server = stack.enter_context(
            Tarantool.start(
                supervisor, lab.program, lab.settings, cores=cores.helpers, cgroups=component_cgroup(supervisor, groups, SERVER)
            )
        )
        meter, whole = component_meter(supervisor, groups, SERVER, server.child), host_meter(groups)
        for each in (meter, whole):
            stack.callback(each.close)
        app = PreparedApp(name=plan.app, docroot=supervisor.live, workload=plan.workload, version=plan.app_version)
        bench = ConnectorBench(supervisor, app, server, rows, package=lab.package, cores=cores, groups=groups)
        versions = {f"php ({plan.control.php.fpm})": plan.control.php.version, SERVER: server.version}
        host = read_host(cores, cpu_source(groups), versions)
        refuse_another_host(state.host, host)
        journal.append(Preflight(host, warnings_for(host, plan.max_steal)))
        if state.open_treatments():
            Runner(state, bench, SharedMeters(None, whole, {SERVER: meter}), journal, run=run, progress=progress).measure()
        count_syscalls(plan, rows, bench, part=run, progress=progress)
