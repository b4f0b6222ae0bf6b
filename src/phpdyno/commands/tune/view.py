"""A tune's record as what its reports show. Pure."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from phpdyno.commands.tune.words import BETTER, outcome_words
from phpdyno.journal.tune import TuneRecord
from phpdyno.model.runs.tune import Change, Found, Goal
from phpdyno.report.reached import reach_view
from phpdyno.report.view_parts import ExplainedRow, ReachView
from phpdyno.report.words import count, duration, percent

SCHEMA = "phpdyno.tune/1"


class PartView(Struct, frozen=True):
    """One comparison of the tune; its journal lies in the folder of its name, and `phpdyno report`
    shows it."""

    name: Annotated[str, Meta(description="The stage, with a number where it has several.")]
    seconds: Annotated[float, Meta(description="Seconds of the budget that it took.")]
    blocks: Annotated[int, Meta(description="Blocks that were measured.")]


class TuneView(Struct, frozen=True, kw_only=True):
    """A tune with all that was found, and what it comes to in words."""

    schema: Annotated[str, Meta(description="Name and version of this format.")] = SCHEMA
    title: Annotated[str, Meta(description="App and goal.")]
    run: Annotated[str, Meta(description="Name of the run's directory.")]
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that began it.")]
    started: Annotated[str, Meta(description="When it began.")]
    outcome: Annotated[str, Meta(description="`finished`, `interrupted`, `failed`, or `running`.")]
    outcome_detail: Annotated[str, Meta(description="Why it failed; empty otherwise.")]
    elapsed_s: Annotated[float, Meta(description="Seconds of the budget that were used up.")]
    goal: Annotated[Goal, Meta(description="What it was to improve.")]
    scope: Annotated[tuple[tuple[str, str], ...], Meta(description="What the result holds for: names and values.")]
    sentences: Annotated[tuple[str, ...], Meta(description="What was found, in words; the last one is the outcome.")]
    margin: Annotated[float, Meta(description="A difference of the goal's metric matters from this fraction on.")]
    loaded_margin: Annotated[float, Meta(description="The same of throughput.")]
    loaded_concurrency: Annotated[int, Meta(description="Requests in flight, and workers, where throughput is measured.")]
    argv: Annotated[tuple[str, ...], Meta(description="The command, without `phpdyno`.")]
    bundle: Annotated[str, Meta(description="The bundle's directory in the run's; empty where there is none.")]
    warnings: Annotated[tuple[str, ...], Meta(description="About the host, and about settings of a live pool that were not taken over.")]
    parts: Annotated[tuple[PartView, ...], Meta(description="The comparisons that it consists of, in their order.")]
    found: Annotated[Found, Meta(description="What was found, stage by stage.")]
    reached: Annotated[ReachView | None, Meta(description="What the app reached for; null where nobody looked: a built-in app.")] = None
    explained: Annotated[
        ExplainedRow | UnsetType, Meta(description="What was found beside the control, inside; there only where `--explain` asked for it.")
    ] = UNSET


def tune_view(record: TuneRecord, run: str) -> TuneView:
    """The view of a record."""
    asked, host, found, looked = record.asked, record.host, record.found, record.explained
    servers = ", ".join(dict.fromkeys(host.versions.values()))
    scope = (
        ("host", f"{host.cpu_model}, {count(host.cores, 'core')}, kernel {host.kernel}"),
        ("servers", servers),
        ("control", asked.control or "as the distribution sets it up"),
        ("seed", str(asked.seed)),
        ("budget", f"{duration(asked.budget_s)}, {duration(record.spent_s)} used"),
        ("confidence", f"{percent(asked.confidence)} in each stage; a difference matters from {percent(asked.goal_margin)} on"),
    )
    racers = found.race.racers if found.race else ()
    outcome = outcome_words(found.confirmations, racers, found.settings, asked.goal)
    unfinished = () if record.outcome == "finished" else (f"the tune is {record.outcome or 'running'}, so this is not its result",)
    return TuneView(
        title=f"{record.app} {record.app_version}: tuned for {BETTER[asked.goal][0]}",
        run=run,
        phpdyno=record.phpdyno,
        started=record.started,
        outcome=record.outcome or "running",
        outcome_detail=record.detail,
        elapsed_s=record.spent_s,
        goal=asked.goal,
        scope=scope,
        sentences=(*unfinished, outcome),
        margin=asked.goal_margin,
        loaded_margin=asked.loaded_margin,
        loaded_concurrency=asked.loaded_concurrency,
        argv=record.argv,
        bundle=record.bundle,
        warnings=(*record.warnings, *record.notes),
        parts=tuple(PartView(each.name, each.seconds, each.blocks) for each in record.parts),
        found=found,
        reached=reach_view(record.reached) if record.reached else None,
        explained=ExplainedRow(looked.treatment, looked.found, looked.unexplained) if looked else UNSET,
    )


def left_out(changes: Sequence[Change]) -> tuple[tuple[str, str], ...]:
    """What took no part: names joined, and the reason; those with the same reason together, in
    their order."""
    by_reason: dict[str, list[str]] = {}
    for each in changes:
        if each.refused:
            by_reason.setdefault(each.refused, []).append(each.name)
    return tuple((", ".join(names), reason) for reason, names in by_reason.items())
