"""Parts that the answers of several commands share."""

import re
from collections.abc import Iterable, Sequence

from phpdyno.model.notices import WARNING
from phpdyno.report.answer.shape import MOST_LINES, AnswerTable, CommandAnswer, TableLine
from phpdyno.report.reached import missing_of
from phpdyno.report.view_parts import EnvironmentRow, ReachView
from phpdyno.report.words import count, duration
from phpdyno.stats.change import Percent, signed

SCOPE = "Scope: this host, this workload, these builds, these minutes."
_DIGEST = re.compile(r"[0-9a-f]{16}")


def subject_of(app: str, version: str, environment: Iterable[EnvironmentRow], seconds: float, *, outcome: str = "finished") -> str:
    """`wordpress 6.1.9 · PHP 8.2.36 · 6 min 29 s`; a version that is a digest tells nobody
    anything. How it ended stands there where it is not finished."""
    php = next((" ".join(each.value.split()[:2]) for each in environment if each.name == "PHP"), "")
    return subject_words(app, version, php, seconds, outcome=outcome)


def subject_words(app: str, version: str, php: str, seconds: float, *, outcome: str) -> str:
    """The same where `php` is known in words."""
    named = app if _DIGEST.fullmatch(version) else f"{app} {version}".strip()
    return " · ".join(each for each in (named, php, duration(seconds), "" if outcome == "finished" else outcome) if each)


def doubts_of(told: Iterable[str], reached: ReachView | None) -> tuple[str, ...]:
    """What casts doubt on a result: of what answers showed, and servers that gave no answer."""
    return (*(each for each in dict.fromkeys(told) if each.startswith(WARNING)), *missing_of(reached))


def messages_of(told: Iterable[str]) -> tuple[str, ...]:
    """The first of PHP's messages in answers, and how many more there are."""
    said = tuple(each for each in dict.fromkeys(told) if not each.startswith(WARNING))
    more = (f"{count(len(said) - 1, 'more message')} of PHP in pages: --verbose",) if len(said) > 1 else ()
    return (*said[:1], *more)


def noise_of(seen: Percent | None, *, decided: bool) -> tuple[str, ...]:
    """Say what the control against itself shows, if it differs (`decided`) or if it does not;
    nothing in the other case, and where it was not measured."""
    if seen is None or seen.decided != decided:
        return ()
    fine = "it should be 0: trust no small effect of this run" if decided else "no false effect"
    return (f"Noise check: control against itself {signed(seen)}: {fine}",)


def ending_of(outcome: str, detail: str) -> str:
    """What is said in the place of a result that is not there."""
    return f"none yet: {outcome}" + (f", {detail}" if detail else "")


def next_of(command: str, outcome: str, run: str) -> tuple[tuple[str, str], ...]:
    """How to go on with a run that was cut short, and where its report is; `run` is the path of
    its directory."""
    report = ("Report", f"{run}/report.html")
    return (report,) if outcome == "finished" else (("Go on", f"phpdyno {command} --resume {run}"), report)


def with_room_for(answer: CommandAnswer, notes: Iterable[str]) -> CommandAnswer:
    """The answer with these notes below its own, each that there is room for."""
    for note in notes:
        wider = answer.with_notes((*answer.notes, note))
        answer = wider if wider.lines <= MOST_LINES else answer
    return answer


def table_of(heads: tuple[str, ...], lines: Sequence[TableLine], room: int, thing: str, *, where: str = " in the report") -> AnswerTable:
    """As many of the lines as there is room for; the last line says how many more there are, and
    where."""
    shown = list(lines) if len(lines) <= room else list(lines)[: max(1, room - 1)]
    left = len(lines) - len(shown)
    return AnswerTable(heads, tuple(shown), f"{count(left, f'more {thing}')}{where}" if left else "")
