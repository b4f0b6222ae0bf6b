"""The answer of a check: can the app be measured, what do its pages cost, what does it reach for.
Pure."""

from collections.abc import Sequence

from phpdyno.commands.check import view
from phpdyno.commands.check.found import CheckFound
from phpdyno.report.answer.parts import table_of
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer, TableLine
from phpdyno.report.words import count

MOST_TOLD = 3
"""Lines of one kind; the others are told with --verbose."""
LEAST_ROWS = 3
"""Rows of the table that lines below it leave room for."""
ELSEWHERE = ": --verbose"


def check_answer(found: CheckFound, php: str, tune: str) -> CommandAnswer:
    """Say what a check comes to; `tune` is the command that tunes the app that was looked at."""
    bad = [target for target in found.targets if target.problem]
    whole = count(len(found.targets), "target")
    fails = f"cannot be measured: {len(bad)} of {whole} {'fails' if len(bad) == 1 else 'fail'}"
    warnings = [f"{each.label}: {text}" for each in found.targets for text in each.warnings]
    answer = CommandAnswer(
        subject=f"{found.app} · PHP {php}",
        result=fails if bad else f"can be measured ({whole})",
        standing="bad" if bad else "good",
        notices=tuple(view.head(found)),
        doubts=(*_some([f"{each.label} cannot be measured: {each.problem}" for each in bad], "target"), *_unsure(found)),
        notes=(*_some(warnings, "warning"), *view.reached_lines(found)),
        next=() if bad else (("Next", tune),),
    )
    rows = [TableLine(cells, "bad" if target.problem else "none") for cells, target in zip(view.rows(found), found.targets, strict=True)]
    shown = min(len(rows), LEAST_ROWS) + 1
    if answer.lines + shown > MOST_LINES:
        answer = answer.with_notes((*_some(warnings, "warning"), view.reached_in_short(found)))
    room = max(shown, MOST_LINES - answer.lines - 1)
    return answer.with_table(table_of(tuple(map(str.upper, view.HEADS)), rows, room, "target", where=ELSEWHERE))


def _unsure(found: CheckFound) -> tuple[str, ...]:
    """Name what all its pages together show that makes one look at them again."""
    missing = view.missing_words(found)
    lost = [f"let through and not reached: {each}" for each in found.not_reached]
    told = (found.remark, *_some(lost, "peer"), f"{missing}; look at them first" if missing else "")
    return tuple(each for each in told if each)


def _some(lines: Sequence[str], thing: str) -> tuple[str, ...]:
    """Give the first of them, and how many more there are."""
    if len(lines) <= MOST_TOLD:
        return tuple(lines)
    return (*lines[: MOST_TOLD - 1], f"{count(len(lines) - MOST_TOLD + 1, f'more {thing}')}{ELSEWHERE}")
