"""The sweeps of a study: their figures from their records, and their part of the page. Pure."""

from collections.abc import Sequence

from phpdyno.commands.measure.view.shape import ArmRow, PointRow, SweepView
from phpdyno.commands.measure.view.whole import sweep_view
from phpdyno.commands.measure.view.words import (
    estimate_words,
    failures,
    load_words,
    mib,
    percentile_name,
    percentile_of,
    value_words,
    whole,
)
from phpdyno.commands.study.view.cells import app_words
from phpdyno.commands.study.view.shape import StudyView, SweepArm, SweepFigures
from phpdyno.journal.study import StudyPart
from phpdyno.journal.sweep import Sweep
from phpdyno.model.arm import PLAIN
from phpdyno.model.runs.study import Study, StudySweep, spec_of
from phpdyno.report.markdown import plain, table
from phpdyno.report.words import NOTHING, count, percent

HERE = "here"
SHOWN = (50.0, 99.0)
"""Percentiles of the page's tables; the sweep's own report has all of them."""

Table = tuple[tuple[str, ...], list[tuple[str, ...]], int]
"""Head, rows, and how many columns are words."""


def sweep_figures(study: Study, wanted: StudySweep, part: StudyPart, sweep: Sweep | None) -> SweepFigures:
    """The figures of a sweep; without any arm while no round is finished."""
    view = sweep_view(sweep, wanted.name) if sweep is not None and sweep.visits else None
    return SweepFigures(
        name=wanted.name,
        app=wanted.app,
        app_version=sweep.plan.app_version if sweep is not None else "",
        state=part.state,
        detail=part.detail,
        concurrency=wanted.concurrency,
        open_share=wanted.open_share,
        arms=_arms(study, wanted, view) if view is not None else (),
        rounds=view.rounds if view is not None else 0,
        confidence=study.confidence,
        elapsed_s=sweep.spent_s if sweep is not None else 0.0,
        excluded=sum(1 for row in view.visits if row.excluded) if view is not None else 0,
    )


def _arms(study: Study, wanted: StudySweep, view: SweepView) -> tuple[SweepArm, ...]:
    """The arms by their names in the study file; in the record they are called by their SPECs."""
    rows = {row.name: row for row in view.arms}
    made = []
    for name in wanted.arms:
        found = rows.get(spec_of(study.arm(name).settings) or PLAIN)
        if found is not None:
            points = tuple(row for row in view.points if row.arm == found.name)
            made.append(SweepArm(name, tuple(study.arm(name).levels.values()), found, points))
    return tuple(made)


# ---- tables -------------------------------------------------------------------------------------


def throughput_table(view: StudyView, sweep: SweepFigures) -> Table:
    """Requests per second over requests in flight in the form of the reference's: machine, pool,
    then a column for each load."""
    head = ("machine", "arm", *(f"c={load}" for load in sweep.concurrency))
    rows: list[tuple[str, ...]] = [
        (HERE, arm.arm, *(estimate_words(_at(arm, load).per_s) for load in sweep.concurrency)) for arm in sweep.arms
    ]
    for each in view.reference.sweeps if view.reference is not None else ():
        for name in (arm.arm for arm in sweep.arms):
            if name in each.per_s:
                found = each.per_s[name]
                cells = (f"{found[str(load)]:,.0f}" if str(load) in found else NOTHING for load in sweep.concurrency)
                rows.append((each.machine, name, *cells))
    return head, rows, 2


def loads_table(sweep: SweepFigures) -> Table:
    """Requests per second, a row for each load: for a terminal, which is not as wide as a page."""
    head = ("c", *(arm.arm for arm in sweep.arms))
    rows: list[tuple[str, ...]] = [(str(load), *(estimate_words(_at(arm, load).per_s) for arm in sweep.arms)) for load in sweep.concurrency]
    return head, rows, 1


def times_table(sweep: SweepFigures) -> Table:
    """Service times over requests in flight, milliseconds."""
    head = ("arm", "ms", *(f"c={load}" for load in sweep.concurrency))
    rows: list[tuple[str, ...]] = [
        (arm.arm, percentile_name(each), *(value_words(percentile_of(_at(arm, load).percentiles, each)) for load in sweep.concurrency))
        for arm in sweep.arms
        for each in SHOWN
    ]
    return head, rows, 2


def pool_table(sweep: SweepFigures) -> Table:
    """What each pool did at its best, and what it takes of memory."""
    head = ("arm", "most requests per s", "at c", "within 5 % from c", "CPU ms", "busy at once", "wanted more", "PSS of one", "PSS of all")
    rows: list[tuple[str, ...]] = []
    for arm in sweep.arms:
        found, memory = arm.found, arm.found.memory
        best = _at(arm, found.best) if found.best is not None else None
        rows.append(
            (
                arm.arm,
                estimate_words(found.best_per_s),
                whole(found.best),
                _knee(found),
                estimate_words(best.cpu.php if best is not None and best.cpu is not None else None),
                whole(found.max_active),
                whole(found.children_reached),
                mib(memory.pss_worker_kib if memory is not None else None),
                mib(memory.pss_pool_kib if memory is not None else None),
            )
        )
    return head, rows, 1


def sweep_lines(sweep: SweepFigures) -> list[str]:
    """What limits each arm at its best, what failed, and the open loop."""
    lines = []
    for arm in sweep.arms:
        best = next((row for row in arm.points if row.loop == "closed" and row.concurrency == arm.found.best), None)
        if best is not None and best.sentence:
            lines.append(f"`{arm.arm}`, {load_words(best)}: {best.sentence}.")
        lines += [f"`{arm.arm}`, {load_words(row)}: failed: {failures(row)}." for row in arm.points if row.requests > row.valid]
        lines += [said for row in arm.points if (said := _open(arm, row))]
    return lines


def sweep_blocks(view: StudyView, sweep: SweepFigures) -> list[str]:
    """The page's part: throughput in the form of the reference's table, times, pools, and what
    limits them."""
    blocks = [f"## {plain(sweep_heading(sweep))}"]
    for said, (head, rows, left) in (
        ("Requests per second in a closed loop, by requests in flight (c):", throughput_table(view, sweep)),
        ("Service times in milliseconds:", times_table(sweep)),
        ("Each pool at its best; PSS in MiB at the largest load; CPU is php-fpm's, milliseconds per valid request:", pool_table(sweep)),
    ):
        blocks += [said, table(head, rows, left=left)]
    lines = "\n".join(f"- {plain(line)}" for line in sweep_lines(sweep))
    return [*blocks, lines, said_below(sweep)]


def sweep_heading(sweep: SweepFigures) -> str:
    """`mediawiki 1.39.13: throughput over requests in flight`."""
    return f"{app_words(sweep)}: throughput over requests in flight"


def said_below(sweep: SweepFigures) -> str:
    """How the tables are to be read."""
    excluded = f" {count(sweep.excluded, 'visit')} excluded for a covariate declared beforehand." if sweep.excluded else ""
    return (
        f"{count(sweep.rounds, 'round')}; each interval holds with {percent(sweep.confidence)} by itself: it says how well its figure is "
        f"known, not which arm is better, which is a comparison's to say.{excluded}"
    )


def method_words(sweeps: Sequence[SweepFigures]) -> str:
    """How sweeps are measured; '' without one."""
    if not any(each.arms for each in sweeps):
        return ""
    return (
        "A sweep is measured in rounds. A round starts fresh instances of every arm in random order and visits every load of each once, in "
        "an order of its own; a visit lasts a second or 20 requests for each in flight, whichever is longer, after a warm-up. Intervals "
        "are over rounds (Student's t on logarithms). Generator and servers share the machine, the measured pool on cores of its own."
    )


def _at(arm: SweepArm, load: int) -> PointRow:
    return next(row for row in arm.points if row.loop == "closed" and row.concurrency == load)


def _knee(found: ArmRow) -> str:
    return f"{whole(found.knee)} (rising)" if found.rising else whole(found.knee)


def _open(arm: SweepArm, row: PointRow) -> str:
    times = ", ".join(f"{percentile_name(each.percent)} {estimate_words(each.ms)}" for each in row.percentiles)
    if row.loop != "open" or not times:
        return ""
    return f"`{arm.arm}`, {load_words(row)}, {whole(row.offered_per_s)} requests per s offered: response time in ms: {times}."
