"""A tune's record as what its reports show. Pure."""

from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.journal.tune import TuneRecord
from phpdyno.model.tune import Goal
from phpdyno.report.tune_words import BETTER, outcome_words
from phpdyno.report.words import count, duration, percent

SCHEMA = "phpdyno.tune/1"


class TuneView(Struct, frozen=True, kw_only=True):
    """The JSON document of a tune: its record, with what it comes to in words."""

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
    record: Annotated[TuneRecord, Meta(description="The record that all of this follows from.")]


def tune_view(record: TuneRecord, run: str) -> TuneView:
    """The view of a record."""
    asked, host, found = record.asked, record.host, record.found
    servers = ", ".join(dict.fromkeys(host.versions.values()))
    scope = (
        ("host", f"{host.cpu_model}, {count(host.cores, 'core')}, kernel {host.kernel}"),
        ("servers", servers),
        ("control", asked.control or "as the distribution sets it up"),
        ("seed", str(asked.seed)),
        ("budget", f"{duration(asked.budget_s)}, {duration(record.spent_s)} used"),
        ("confidence", f"{percent(asked.confidence)} in each stage; a difference matters from {percent(margin_of(record))} on"),
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
        record=record,
    )


def margin_of(record: TuneRecord) -> float:
    """The relevance margin of the goal, as a fraction."""
    return record.asked.loaded_margin if record.asked.goal in {"throughput", "p99"} else record.asked.margin
