"""phpdyno measure: what an app does as more is asked of it at once."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from msgspec import structs

from phpdyno import __version__
from phpdyno.commands.measure.session import SweepSession
from phpdyno.drive.descriptors import require_descriptors
from phpdyno.drive.rivals import Rival
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.kept import check_kept
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.sweep.cross_check import find_rival
from phpdyno.experiment.sweep.plan import closed_points
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.reader import drop_cut_off_line
from phpdyno.journal.sweep import SWEEP_FILE, SWEEP_SCHEMA, SweepHeader, read_sweep
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.app import PreparedApp
from phpdyno.model.arm import PLAIN, Arm
from phpdyno.model.plan import taken_over
from phpdyno.model.runs.sweep import Point, SweepPlan, SweepTerms
from phpdyno.model.workload import Workload
from phpdyno.paths import cache_dir
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.session.peers import go_on_with, with_named_peers
from phpdyno.session.requirements import check_nginx, refuse_unasked, refuse_without_nginx, require_servers
from phpdyno.session.run_directory import check_place, make_run_dir
from phpdyno.session.source import open_source, prepare_commits, refuse_changed, workload_for
from phpdyno.session.specs import ARM_OPTION, CONTROL_OPTION, SpecReader

DEBIAN_POOL = {
    "pool.pm": "dynamic",
    "pool.pm.max_children": "5",
    "pool.pm.start_servers": "2",
    "pool.pm.min_spare_servers": "1",
    "pool.pm.max_spare_servers": "3",
}
"""What the distribution's www.conf has."""


class MeasureRequest(SweepTerms, frozen=True):
    """What the user asked to measure; times in seconds, confidence as a fraction.

    `control` and each of `others` are SPECs of an arm. `workload` takes the place of the app's own;
    `source.requests` then says what it was made of.
    """

    control: str = ""
    others: tuple[str, ...] = ()
    workload: Workload | None = None


def measure(
    question: MeasureRequest, *, runs: Path, argv: Sequence[str], progress: Progress, accept: Callable[[PreparedApp], None] | None = None
) -> Path:
    """Measure, record everything, and return the run's directory. What can be refused is refused
    before anything starts.

    `accept` raises DynoError where the app, once it is prepared, is not the one that was meant.
    """
    check_question(question)
    rivals = rivals_here(progress) if question.cross_check else ()
    definition = open_source(question.source)
    reader = SpecReader(definition)
    arms = pool_arms((question.control, *question.others), reader)
    if question.keep_conn:
        check_kept(question.transport, [(arm, most_connections(question.points)) for arm in arms])
    require_servers(question.transport, arms)
    refuse_unasked(arms, workload_for(question.workload, definition.workload))
    refuse_without_nginx(definition, question.transport, arms)
    with MeasuringLock():
        run = make_run_dir(runs, "measure", definition.name)
        with Supervisor(run / "logs") as supervisor:
            app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
            if accept is not None:
                accept(app)
            plan = make_sweep_plan(question, app, arms)
            apps = prepare_commits(definition, app, plan.arms, supervisor, progress.phase)
            with JournalWriter(run / SWEEP_FILE) as journal:
                journal.append(SweepHeader(SWEEP_SCHEMA, __version__, time.strftime("%Y-%m-%dT%H:%M:%S%z"), tuple(argv), plan))
                for note in reader.notes:
                    progress.note(note)
                session = SweepSession(
                    run=run,
                    plan=plan,
                    app=app,
                    apps=apps,
                    supervisor=supervisor,
                    progress=progress,
                    argv=tuple(argv),
                    notes=tuple(reader.notes),
                    rivals=rivals,
                )
                session.measure(journal, None)
    return run


def resume(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a sweep that was interrupted; finished rounds count, one that was begun is begun
    again.

    Raises UsageError where nothing is left to do.
    """
    run = check_place(run)
    begun = read_sweep(run)
    if begun.finished:
        raise UsageError("this run is finished", where=str(run), next_step=f"see it with: phpdyno report {run}")
    plan = begun.plan
    rivals = rivals_here(progress) if plan.cross_check else ()
    go_on_with(plan.source.network)
    definition = open_source(plan.source)
    require_servers(plan.transport, plan.arms)
    require_descriptors(most_connections(plan.points))
    with MeasuringLock(), Supervisor(run / "logs") as supervisor:
        app = definition.prepare(supervisor, cache=cache_dir(), progress=progress.phase)
        refuse_changed(plan, app, plan.arms)
        apps = prepare_commits(definition, app, plan.arms, supervisor, progress.phase)
        drop_cut_off_line(run / SWEEP_FILE)
        with JournalWriter(run / SWEEP_FILE) as journal:
            SweepSession(
                run=run, plan=plan, app=app, apps=apps, supervisor=supervisor, progress=progress, argv=tuple(argv), notes=(), rivals=rivals
            ).measure(journal, begun)
    return run


# ---- before anything starts ---------------------------------------------------------------------


def check_question(question: MeasureRequest) -> None:
    """Raise UsageError for what cannot be asked, DynoError where this process may not open as many
    connections."""
    points = question.points
    if not closed_points(points):
        raise UsageError("there is no point with a fixed number of requests in flight", next_step="name at least one, for example 1")
    if len(set(points)) < len(points) or len(points) - len(closed_points(points)) > 1:
        raise UsageError("a point is named twice", next_step="name each number of requests in flight once, and one open loop at most")
    if min(point.concurrency for point in points) < 1:
        raise UsageError("a point has at least one request in flight")
    most = most_connections(points)
    check_nginx(question.transport, most)
    if question.transport == "script":
        raise UsageError("a script performs one operation at a time", next_step="compare scripts with phpdyno compare --script")
    if question.cross_check and question.transport != "http":
        raise UsageError("wrk and ab speak HTTP only", where="--cross-check", next_step="measure with --transport http")
    if not (question.visit_s > 0.0 and question.budget_s > 0.0 and 0.0 < question.confidence < 1.0):
        raise UsageError("times lie above 0, and a confidence between 0 and 1")
    require_descriptors(most)


def most_connections(points: Sequence[Point]) -> int:
    """The most connections that any point opens."""
    return max(point.concurrency for point in points)


def rivals_here(progress: Progress) -> tuple[Rival, ...]:
    """Those of wrk and ab that are installed; of the other the line that installs it is noted.
    Raises DynoError when neither is."""
    found: list[Rival] = []
    missing: list[DynoError] = []
    for name in get_args(Rival):
        try:
            find_rival(name)
            found.append(name)
        except DynoError as error:
            missing.append(error)
    if not found:
        raise missing[0]
    for lacking in missing:
        progress.note(str(lacking))
    return tuple(found)


def pool_arms(specs: Sequence[str], reader: SpecReader) -> tuple[Arm, ...]:
    """An arm for each SPEC, named by it. Raises UsageError for a SPEC that cannot be, or that is
    there twice."""
    made: dict[str, Arm] = {}
    for spec in specs:
        name, option = spec or PLAIN, ARM_OPTION if made else CONTROL_OPTION
        if name in made:
            raise UsageError("this arm is named twice", where=f"{option} {spec}")
        made[name] = reader.arm(name, with_pool(reader.read(spec, option, {})), {})
    return tuple(made.values())


def with_pool(given: Mapping[str, str]) -> dict[str, str]:
    """Settings with the distribution's pool, unless they say how many workers there are and of
    which kind (`live` does)."""
    if "pool.pm" in given or "pool.pm.max_children" in given:
        return {"pool.pm": "static", "pool.pm.max_children": DEBIAN_POOL["pool.pm.max_children"], **given}
    return {**DEBIAN_POOL, **given}


def make_sweep_plan(question: MeasureRequest, app: PreparedApp, arms: Sequence[Arm]) -> SweepPlan:
    """The frozen plan of a question, once its app and its arms are known."""
    return SweepPlan(
        app=app.name,
        app_version=app.version,
        workload=workload_for(question.workload, app.workload),
        arms=tuple(arms),
        **taken_over(structs.replace(question, source=with_named_peers(question.source)), SweepTerms),
    )
