"""A ladder's record and its comparison's journal as what its reports show. Pure."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.commands.build.view import BuildView, build_view
from phpdyno.commands.compare.view.rows import doubts
from phpdyno.commands.ladder.steps import MeasuredSteps, best_of, found_steps, on_top_of
from phpdyno.journal.ladder import LadderRecord
from phpdyno.model.inside.hot import HotPass
from phpdyno.model.runs.ladder import STOCK, StepFound
from phpdyno.report.change_words import change_words
from phpdyno.report.words import HERE, percent

SCHEMA = "phpdyno.ladder/1"


class LadderView(Struct, frozen=True, kw_only=True):
    """A ladder with all that was found, and what it comes to in words."""

    schema: Annotated[str, Meta(description="Name and version of this format.")] = SCHEMA
    title: Annotated[str, Meta(description="The app.")]
    run: Annotated[str, Meta(description="Name of the run's directory.")]
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that measured.")]
    started: Annotated[str, Meta(description="When measuring began.")]
    outcome: Annotated[str, Meta(description="`finished`, `interrupted`, `failed` or `unfinished`.")]
    outcome_detail: Annotated[str, Meta(description="Why it failed; empty otherwise.")]
    elapsed_s: Annotated[float, Meta(description="Seconds of measuring.")]
    margin: Annotated[float, Meta(description="A step matters from this fraction on.")]
    confidence: Annotated[float, Meta(description="Probability that all intervals hold together.")]
    control: Annotated[str, Meta(description="The stock PHP in words.")]
    workload: Annotated[str, Meta(description="What was asked, in words.")]
    scope: Annotated[str, Meta(description="What the verdicts hold for.")]
    steps: Annotated[tuple[StepFound, ...], Meta(description="The steps in their order.")]
    builds: Annotated[tuple[BuildView, ...], Meta(description="The builds that they run.")]
    hot: Annotated[
        HotPass | None,
        Meta(
            description="Where a request's time goes in the first build and in the best one (the last where none is certainly better); "
            "null: not known."
        ),
    ]
    not_hot: Annotated[str, Meta(description="Why that is not known; empty where it is, or was not asked for.")]
    sentences: Annotated[tuple[str, ...], Meta(description="What was found, in words; the last one is the outcome.")]
    warnings: Annotated[tuple[str, ...], Meta(description="What casts doubt on it.")]
    repeat: Annotated[str, Meta(description="Shell command that repeats it.")]


def ladder_view(record: LadderRecord, measured: MeasuredSteps, knobs: MeasuredSteps | None = None) -> LadderView:
    """The view of a ladder: its builds' comparison, and that of the knobs on top of the best of
    them, where it began."""
    compared = measured.view
    steps = found_steps(record.steps, measured)
    on_top = knobs.view if knobs is not None else None
    if knobs is not None:
        below = record.knobs[0].on
        found = found_steps(record.knobs, knobs, bottom=below)
        standing_on = next((each.total for each in steps if each.step.name == below), None)
        steps += found if below == STOCK else on_top_of(found, standing_on)
    unfinished = record.knob_budget_s > 0 and on_top is None and compared.outcome == "finished"
    last = on_top or compared
    named = {each.spec: each.name for each in (*record.steps, *record.knobs)}
    rows = (*compared.rows, *(on_top.rows if on_top else ()))
    return LadderView(
        title=f"{compared.app} {compared.app_version}".strip() + ": step by step to a faster PHP",
        run=compared.run,
        phpdyno=compared.phpdyno,
        started=compared.started,
        outcome="unfinished" if unfinished else last.outcome,
        outcome_detail=last.outcome_detail,
        elapsed_s=compared.elapsed_s + (on_top.elapsed_s if on_top else 0.0),
        margin=compared.margin,
        confidence=record.confidence,
        control=compared.control,
        workload=compared.workload,
        scope=compared.scope,
        steps=steps,
        builds=tuple(build_view(each) for each in record.builds.values()),
        hot=record.hot,
        not_hot=record.not_hot,
        sentences=(*map(step_words, steps), outcome_words(steps, record.confidence)),
        warnings=(*compared.preflight_warnings, *record.notes, *doubts(rows, named)),
        repeat=compared.repeat,
    )


def step_words(found: StepFound) -> str:
    """`pgo on o2: −5.5 % (−7.1 to −3.9): keep; −6.5 % (−8.3 to −4.5) in all`."""
    step = found.step
    if found.kind == "invalid":
        return f"{step.name} on {step.on}: no number ({found.reason})"
    total = "" if step.on == STOCK else f"; {change_words(found.total)} in all"
    return f"{step.name} on {step.on}: {change_words(found.ratio)}: {standing(found)}{total}"


def standing(found: StepFound) -> str:
    """Whether a step earns its place, and why not."""
    if found.earned:
        return "keep" if found.relevance == "relevant" else "keep, how much it brings is open"
    match found.kind:
        case "improved":
            return "real, but below the margin"
        case "regressed":
            return "it hurts"
        case "equivalent":
            return "no effect that matters"
        case "invalid":
            return found.reason
        case _:
            return found.reason or "undecided in this budget"


def outcome_words(steps: Sequence[StepFound], confidence: float) -> str:
    """The last line of every report."""
    best = best_of(steps)
    if best is None:
        return "Outcome: no step is certainly better than the PHP that is there."
    earned = [each.step.name for each in steps if each.earned]
    climb = f"; steps to keep: {', '.join(earned)}" if earned else ""
    others = [f"{each.step.name} ({'no number' if each.kind == 'invalid' else standing(each)})" for each in steps if not each.earned]
    tried = f"; not kept: {', '.join(others)}" if others else ""
    said = f"CPU per request {change_words(best.total)} against the stock PHP, {percent(confidence)} CI; {HERE}"
    return f"Outcome: {best.step.name}: {said}{climb}{tried}."
