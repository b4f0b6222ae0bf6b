"""The answer of a sweep: how much each arm serves, at which load, and what limits it. Pure."""

from collections.abc import Sequence

from phpdyno.commands.measure.view.shape import ArmRow, Estimate, PointRow, SweepView
from phpdyno.commands.measure.view.words import percentile_of, value_words
from phpdyno.model.notices import first_of
from phpdyno.report.answer.parts import SCOPE, doubts_of, ending_of, messages_of, next_of, subject_of, table_of, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, AnswerTable, CommandAnswer, TableLine
from phpdyno.report.words import count, percent, rate

TOO_FEW = "P99 –: too few answers at that load (fewer than 100 each time)."
CHEAPER = "What needs less of PHP's CPU for a request serves more: phpdyno tune looks for it."


def measure_answer(view: SweepView, run: str) -> CommandAnswer:
    """What a sweep comes to; `run` is the path of its directory, as a shell takes it."""
    arms = [arm for arm in view.arms if arm.best_per_s is not None]
    best = max(arms, key=lambda arm: arm.best_per_s.value if arm.best_per_s else 0.0) if arms else None
    level = percent(view.confidence)
    answer = CommandAnswer(
        subject=subject_of(view.app, view.app_version, view.environment, view.elapsed_s, outcome=view.outcome),
        result=ending_of(view.outcome, view.outcome_detail) if best is None else _result(best, level, several=len(view.arms) > 1),
        standing="open" if best is None else "none",
        beside=() if best is None else tuple(_beside(view, best)),
        notes=(*messages_of(view.noticed), *_missing(view, arms), SCOPE),
        doubts=doubts_of(view.noticed, view.reached),
        notices=first_of(view.warnings),
        next=next_of("measure", view.outcome, run),
    )
    if best is None:
        return answer
    room = MOST_LINES - answer.lines - 1
    answer = answer.with_table(_arms(arms, room) if len(arms) > 1 else _points(view, best, room))
    return with_room_for(answer, _advice(view, best))


def _result(best: ArmRow, level: str, *, several: bool) -> str:
    at = f"with {best.best} in flight"
    who = f"{best.name} serves the most: " if several else ""
    return f"{who}{_spanned(best.best_per_s)} requests a second {at} ({level} CI)"


def _beside(view: SweepView, best: ArmRow) -> list[str]:
    point = _best_point(view, best)
    told = []
    if best.rising is False and any(row.concurrency > (best.best or 0) for row in _closed(view, best)):
        told.append("More in flight brings no more.")
    if best.knee is not None and best.knee != best.best:
        told.append(f"From {best.knee} in flight on within 5 % of that." if not best.rising else "More in flight may bring more.")
    if point is not None and point.sentence:
        told.append(point.sentence)
    return told


def _missing(view: SweepView, arms: Sequence[ArmRow]) -> tuple[str, ...]:
    """Why a percentile has no figure, where one has none."""
    shown = [] if len(arms) > 1 else [row for arm in arms for row in _closed(view, arm)]
    return (TOO_FEW,) if any(percentile_of(row.percentiles, 99) is None for row in shown) else ()


def _advice(view: SweepView, best: ArmRow) -> tuple[str, ...]:
    """What is to be done about what limits it, where phpdyno knows."""
    point = _best_point(view, best)
    return (CHEAPER,) if point is not None and point.bottleneck == "php" else ()


def _best_point(view: SweepView, best: ArmRow) -> PointRow | None:
    """The load at which an arm serves the most."""
    return next((row for row in _closed(view, best) if row.concurrency == best.best), None)


def _closed(view: SweepView, arm: ArmRow) -> list[PointRow]:
    return [row for row in view.points if row.arm == arm.name and row.loop == "closed" and row.visits]


def _points(view: SweepView, arm: ArmRow, room: int) -> AnswerTable:
    rows = _closed(view, arm)
    lines = [
        TableLine(
            (
                str(row.concurrency),
                _spanned(row.per_s),
                *(value_words(percentile_of(row.percentiles, each)) for each in (50, 99)),
                "–" if row.cpu is None else value_words(row.cpu.php),
                "none" if row.requests == row.valid else str(row.requests - row.valid),
            )
        )
        for row in rows
    ]
    return table_of(("IN FLIGHT", "REQUESTS/S", "P50 ms", "P99 ms", "PHP CPU ms", "FAILED"), lines, room, "load")


def _arms(arms: Sequence[ArmRow], room: int) -> AnswerTable:
    lines = [TableLine((arm.name, _spanned(arm.best_per_s), str(arm.best), count(arm.workers, "worker"))) for arm in arms]
    return table_of(("ARM", "REQUESTS/S", "IN FLIGHT", "POOL"), lines, room, "arm")


def _spanned(figure: Estimate | None) -> str:
    """`982 (970 to 994)`; without the ends where there are none."""
    if figure is None:
        return "–"
    ends = "" if figure.low is None or figure.high is None else f" ({rate(figure.low)} to {rate(figure.high)})"
    return f"{rate(figure.value)}{ends}"
