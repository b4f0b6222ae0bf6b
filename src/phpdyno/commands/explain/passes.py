"""Where a request's time goes in one arm, or in two: fresh starts of both beside each other, looked
at until the budget is spent."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from phpdyno.apps.source import App
from phpdyno.commands.explain.deep import Deep, look_deep
from phpdyno.commands.explain.start import FreshStart, Looked, look_at_start
from phpdyno.experiment.common.progress import Progress
from phpdyno.explain.assembling import GatheredValues, names_of, sections_of
from phpdyno.explain.patterns import vanished
from phpdyno.explain.quantities import ALL_CPU, AT_CLIENT, IN_WORKER, OPCACHE_UNITS, PRIVATE, PSS, RSS, stat_unit
from phpdyno.host.cores import on_cores
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import Arm
from phpdyno.model.inside.explained import Explained, Section, SectionKey
from phpdyno.model.plan import Transport
from phpdyno.model.services.kinds import Kind
from phpdyno.model.workload import Workload
from phpdyno.server_files.apache import is_apache
from phpdyno.servers.bench import Bench
from phpdyno.session.app_servers import AppServers, serving
from phpdyno.session.environment import notices_of
from phpdyno.session.source import workload_for

LEAST_STARTS, MOST_STARTS = 4, 8
BUDGET_S = 40.0
COUNTED = 50


class ExplainRequest(Struct, frozen=True):
    """How an app is looked at: seconds for the starts, requests under strace for each, requests in
    flight, seed. `workload` takes the place of the app's own; sections of `skipped` keys are not
    looked at."""

    budget_s: float = BUDGET_S
    counted_requests: int = COUNTED
    concurrency: int = 1
    transport: Transport = "http"
    seed: int = 1
    workload: Workload | None = None
    skipped: frozenset[SectionKey] = frozenset()


def explain(definition: App, arms: Sequence[Arm], wanted: ExplainRequest, *, logs: Path, progress: Progress) -> Explained:
    """Look at one arm, or at two beside each other, on servers of their own. The host's lock is the
    caller's.

    What a host does not let us see is said in its section. Raises DynoError: the app cannot be
    prepared; ArmFailed: an arm does not start, is not what it says (a setting that is not at work),
    or answers wrongly.
    """
    named = distinct(arms)
    with serving(definition, logs=logs, progress=progress, arms=named, transport=wanted.transport, workers=wanted.concurrency) as stand:
        app = stand.bench.app
        workload = workload_for(wanted.workload, app.workload)
        _serve(stand.bench, workload)
        looked = Looked(_sections(app, stand, wanted.skipped))
        first = FreshStart(
            stand=stand,
            arms=named,
            workload=workload,
            concurrency=wanted.concurrency,
            counted_requests=wanted.counted_requests,
            seed=wanted.seed,
            turn=0,
            progress=progress,
        )
        mixed = [arm.name for arm in named if is_apache(arm)]
        if mixed:
            looked.sections["cpu"].notes.append(f"in {' and '.join(mixed)} Apache runs PHP: its CPU, the web server's too, counts as PHP's")
        with on_cores(stand.bench.cores.helpers):
            starts = _look(first, looked, wanted.budget_s)
            deep, profiles = look_deep(Deep(stand, named, wanted.seed, progress, wanted.skipped))
        return Explained(
            app=app.name,
            app_version=app.version,
            arms=tuple(arm.name for arm in named),
            targets=tuple(target.label for target in workload.targets),
            starts=starts,
            requests=looked.requests,
            concurrency=wanted.concurrency,
            transport=wanted.transport,
            warnings=notices_of(stand.bench.supervisor, app),
            sections=(*_assembled(looked, [arm.name for arm in named]), *deep),
            profiles=profiles,
        )


def _serve(bench: Bench, workload: Workload) -> None:
    """Let every pass ask for what was asked for instead of the app's own."""
    bench.app = structs.replace(bench.app, workload=workload)
    bench.apps = {name: structs.replace(app, workload=workload) for name, app in bench.apps.items()}


def distinct(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms with names that differ: the same SPEC twice is held against itself."""
    first, *rest = arms
    return (first, *(structs.replace(each, name=f"{each.name} (again)") if each.name == first.name else each for each in rest))


def _look(first: FreshStart, looked: Looked, budget_s: float) -> int:
    """Starts until the budget is spent; how many."""
    begun = time.monotonic()
    turn = 0
    while turn < MOST_STARTS:
        last = time.monotonic()
        look_at_start(structs.replace(first, turn=turn), looked)
        turn += 1
        now = time.monotonic()
        first.progress.tick(now - begun, budget_s, f"{turn} of up to {MOST_STARTS} starts")
        if turn >= LEAST_STARTS and now - begun + (now - last) > budget_s:
            break
    return turn


def _sections(app: PreparedApp, stand: AppServers, skipped: Collection[SectionKey]) -> dict[SectionKey, GatheredValues]:
    """All sections, still empty."""
    found: list[GatheredValues] = [
        GatheredValues("cpu", "CPU per request by component", "cgroup or schedstat accounts", wholes=frozenset({ALL_CPU})),
        GatheredValues(
            "wall",
            "Where a request's time goes in the worker",
            "/proc/PID/syscall sampled, schedstat",
            wholes=frozenset({IN_WORKER, AT_CLIENT}),
        ),
        _database_section(app, stand),
        GatheredValues("syscalls", "System calls per request", "strace -c", unit="calls", wholes=frozenset({"all calls"})),
        GatheredValues("memory", "Memory of a warm worker", "/proc/PID/smaps", unit="KiB", wholes=frozenset({PSS, PRIVATE, RSS})),
        GatheredValues("opcache", "Opcache", "opcache_get_status()", unit="KiB", units=dict(OPCACHE_UNITS), absent_is_zero=False),
    ]
    for each in found:
        if each.key in skipped:
            each.unread = "left out by --skip"
    return {each.key: each for each in found}


def _database_section(app: PreparedApp, stand: AppServers) -> GatheredValues:
    section = GatheredValues("database", "The database's share of a request", "MariaDB's userstat")
    kinds: dict[str, Kind] = {each.service.name: each.service.kind for each in stand.services}
    others = [f"{name} ({kind})" for name, kind in kinds.items() if kind != "mariadb"]
    if others:
        section.notes.append(f"of {', '.join(others)} only the CPU is known, as above: such a server has no count by user that we read")
    if stand.bench.database is None and "mariadb" not in kinds.values():
        section.unread = "no MariaDB belongs to this app" + (f"; {section.notes[0]}" if others else "")
    return section


def _assembled(looked: Looked, arms: Sequence[str]) -> tuple[Section, ...]:
    for gathered in looked.sections.values():
        if gathered.key == "database":
            gathered.units = {name: stat_unit(name) for name in names_of(gathered)}
    sections = sections_of(tuple(looked.sections.values()), len(arms))
    return tuple(_with_patterns(each, arms) for each in sections)


def _with_patterns(section: Section, arms: Sequence[str]) -> Section:
    notes: dict[str, Any] = {}
    if section.key == "syscalls" and not section.unread:
        notes = {"notes": (*section.notes, *vanished(section.figures, arms))}
    if section.key == "opcache" and not section.unread:
        off = [name for number, name in enumerate(arms) if all(each.arms[number] is None for each in section.figures)]
        if off:
            notes = {"notes": (*section.notes, f"opcache is off in {' and '.join(off)}")}
    return structs.replace(section, **notes) if notes else section
