"""The answer of a tune: what it brings, which changes bring it, and how to have it. Pure."""

import math
from collections.abc import Mapping, Sequence

from msgspec import structs

from phpdyno.commands.tune.words import BETTER, brought_words
from phpdyno.journal.tune import TuneRecord
from phpdyno.knobs.catalogue.host import PAGES
from phpdyno.model.notices import first_of
from phpdyno.model.runs.tune import Change, ChangeEffect, Confirmed, Found, Goal, PartFound, TuneRequest
from phpdyno.report.answer.parts import doubts_of, messages_of, next_of, noise_of, subject_words, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, AnswerTable, CommandAnswer, Standing, TableLine
from phpdyno.report.change_words import change_seen, change_words
from phpdyno.report.reached import reach_view
from phpdyno.report.words import count, milliseconds, percent
from phpdyno.stats.change import within
from phpdyno.stats.comparison.judge import margin_log
from phpdyno.tuning.outcome import NO_TIME

HEADS: Mapping[Goal, str] = {
    "cpu": "CPU, IN THE SEARCH",
    "throughput": "REQUESTS/S, IN THE SEARCH",
    "p99": "P99, IN THE SEARCH",
    "memory": "MEMORY, IN THE SEARCH",
}
APPLYING = "Apply adds files and tests them; it restarts nothing, and prints the restart that brings them into effect."
KEEP, WEAK, DROP = "keep", "keep, weak evidence", "leave out"


def tune_answer(record: TuneRecord, run: str) -> CommandAnswer:
    """What a record comes to; `run` is the path of its directory, as a shell takes it."""
    found, asked = record.found, record.asked
    proved = _proved(found) if record.outcome == "finished" else None
    result, standing = _result(record, proved)
    noise = change_seen(proved.aa, asked.goal) if proved and proved.aa else None
    answer = CommandAnswer(
        subject=subject_words(record.app, record.app_version, f"PHP {record.control.php.version}", record.spent_s, outcome="finished"),
        result=result,
        standing=standing,
        beside=(*_beside(proved), *_by_load(found, proved)),
        notes=(*messages_of(found.remarks), *_not_tested(found), *noise_of(noise, decided=False)),
        notices=first_of(record.warnings),
        doubts=(
            *doubts_of(found.remarks, reach_view(record.reached) if record.reached else None),
            *noise_of(noise, decided=True),
        ),
        next=_next(record, run),
    )
    if record.outcome != "finished":
        return answer
    answer = answer.with_table(_table(answer, found, asked, record.host.hugepage_kib))
    return with_room_for(answer, [APPLYING] if record.bundle else [])


def _proved(found: Found) -> Confirmed | None:
    """What was confirmed last and adopted; else what was looked at last."""
    adopted = [each for each in found.confirmations if each.decision == "adopted"]
    tried = adopted or list(found.confirmations)
    return tried[-1] if tried else None


def _result(record: TuneRecord, proved: Confirmed | None) -> tuple[str, Standing]:
    goal, margin = record.asked.goal, percent(record.asked.goal_margin)
    if record.outcome != "finished":
        why = f": {record.detail}" if record.detail else ""
        return f"none yet, the tune is {record.outcome or 'running'}{why}", "open"
    loaded = _loaded(record.found)
    if loaded is not None and (proved is None or proved.decision != "adopted"):
        return _change_words(loaded, loaded.goal), "good"
    effects = record.found.screening.effects if record.found.screening else ()
    if proved is None and record.found.changes and all(each.ratio is None for each in effects):
        return "nothing is decided: no change could be measured in this budget (give more)", "open"
    if proved is None and (unproved := _unproved(record.found)):
        return (
            f"nothing is proved: {unproved} looked better in the screening, and there was no time to confirm it (give more --budget)",
            "open",
        )
    if proved is None:
        return f"no change is worth making: none brings {margin} {BETTER[goal][0]}", "none"
    return _of_confirmed(proved, goal)


def _unproved(found: Found) -> str:
    """What the screening says helps, where there was no time to race it; '' for nothing."""
    race, screening = found.race, found.screening
    if race is None or screening is None or any(each.ratio is not None for each in race.racers):
        return ""
    if not any(each.fate == NO_TIME for each in race.racers):
        return ""
    return ", ".join(each.name.removeprefix("ini.") for each in screening.effects if each.standing == "helps")


def _of_confirmed(proved: Confirmed, goal: Goal) -> tuple[str, Standing]:
    words = _change_words(proved, goal)
    why = f" ({proved.reason})" if proved.reason else ""
    if proved.decision == "adopted":
        return words, "good"
    if proved.kind == "invalid":
        return f"no change is adopted: the best one failed its proof{why}", "bad"
    if proved.kind == "regressed":
        return f"no change is adopted: the best one brought {words}", "bad"
    if proved.kind == "improved":
        return f"no change is adopted: the best one brought {words}{why}", "bad"
    return f"no change is proved: {words}", "open"


def _loaded(found: Found) -> Confirmed | None:
    """What is adopted for throughput: of those that the adopted settings hold, the best."""
    held = [each for each in found.loaded if each.decision == "adopted" and each.settings.items() <= found.settings.items()]
    return max(held, key=lambda each: each.ratio.value if each.ratio else 1.0, default=None)


def _by_load(found: Found, proved: Confirmed | None) -> tuple[str, ...]:
    """What was adopted besides, by throughput; the result says it where nothing else was."""
    loaded = _loaded(found)
    if loaded is None:
        return ()
    beside = proved is not None and proved.decision == "adopted"
    return (f"{loaded.name}: {_change_words(loaded, loaded.goal)}" if beside else loaded.name,)


def _change_words(found: Confirmed, goal: Goal) -> str:
    if found.ratio is None:
        return "not measured"
    return brought_words(found.ratio, goal, found.confidence)


def _beside(proved: Confirmed | None) -> tuple[str, ...]:
    """`On fresh servers: CPU 21.2 → 19.6 ms · p50 25.8 → 24.2 ms · memory 4.3 → 4.2 MiB a
    worker`."""
    if proved is None or proved.before is None or proved.after is None:
        return ()
    one, other = proved.before, proved.after
    parts = [f"On fresh servers: CPU {milliseconds(one.cpu_ms)} → {milliseconds(other.cpu_ms)} ms"]
    if one.p50_ms is not None and other.p50_ms is not None:
        parts.append(f"p50 {milliseconds(one.p50_ms)} → {milliseconds(other.p50_ms)} ms")
    if one.worker_kib is not None and other.worker_kib is not None:
        parts.append(f"memory {one.worker_kib / 1024:.1f} → {other.worker_kib / 1024:.1f} MiB a worker")
    return (" · ".join(parts),)


def _table(answer: CommandAnswer, found: Found, asked: TuneRequest, huge_kib: int) -> AnswerTable | None:
    """The changes with what each brings and what became of it: those that stay, then the others
    as far as `answer` has room. Notes, but for the last, make room for those that stay."""
    goal, margin = asked.goal, asked.goal_margin
    effects = {each.name: each for each in (found.screening.effects if found.screening else ())}
    parts = {each.name: each for each in found.parts}
    kept = sorted(
        (name for name, part in parts.items() if part.kept), key=lambda name: -_gain(effects.get(name), parts[name])
    ) or _whole_of(found)
    room = _room(answer)
    if len(kept) > room:
        room = min(len(kept), _room(structs.replace(answer, notes=answer.notes[-1:])))
    names = {name: short_name(name, found.settings, huge_kib) for name in (*kept, *effects)}
    others = [each for each in effects.values() if each.name not in kept]
    of_kept = len(kept) if len(kept) <= room else max(1, room - 1)
    of_others = len(others) if len(kept) + len(others) <= room else max(0, room - len(kept) - 1)
    rows = [_row(names[name], effects.get(name), parts.get(name), goal, margin, kept=True) for name in kept[:of_kept]]
    rows += [_row(names[each.name], each, parts.get(each.name), goal, margin, kept=False) for each in others[:of_others]]
    if not rows:
        return None
    rest = [f"{len(kept) - of_kept} more: {KEEP}"] if of_kept < len(kept) else []
    rest += [_of_others(others[of_others:], goal)] if of_others < len(others) else []
    return AnswerTable(("CHANGE", HEADS[goal], "DECISION"), tuple(rows), "; ".join(rest))


def _room(answer: CommandAnswer) -> int:
    """Rows that a table may have beside what is told, with its heads and its last line."""
    return MOST_LINES - answer.lines - 2


def _of_others(left: Sequence[ChangeEffect], goal: Goal) -> str:
    """What those that there is no row for have in common; a bound only where all have an
    interval."""
    measured = [change_seen(each.ratio, goal) for each in left if each.ratio is not None]
    bound = within(measured) if len(measured) == len(left) else ""
    return f"{count(len(left), 'other')}, {f'intervals within {bound}' if bound else 'not decided'}: {DROP}"


def _whole_of(found: Found) -> list[str]:
    """The one change that was adopted without being taken apart."""
    adopted = [each for each in found.confirmations if each.decision == "adopted"]
    return [adopted[-1].name] if adopted and not found.parts else []


def _gain(effect: ChangeEffect | None, part: PartFound) -> float:
    ratio = effect.ratio if effect is not None and effect.ratio is not None else part.ratio
    return 1.0 if ratio is None else ratio.value


def _row(name: str, effect: ChangeEffect | None, part: PartFound | None, goal: Goal, margin: float, *, kept: bool) -> TableLine:
    ratio = effect.ratio if effect is not None else part.ratio if part is not None else None
    decision = (KEEP if part is None or _shown(effect, part, margin) else WEAK) if kept else DROP
    return TableLine((name, change_words(ratio, goal), decision), "good" if kept else "none")


def _shown(effect: ChangeEffect | None, part: PartFound, margin: float) -> bool:
    """Whether a part that stays is shown to help by itself: by the winner without it on fresh
    instances, or by the screening with more than the margin, which fresh instances do not gainsay.

    What the screening chose looks a little better there than it is, so a hair's breadth is not
    enough.
    """
    if part.ratio is not None and part.ratio.low is not None and part.ratio.low > 1.0:
        return True
    seen = effect.ratio if effect is not None else None
    gainsaid = part.ratio is not None and part.ratio.high is not None and part.ratio.high < 1.0
    return seen is not None and seen.low is not None and math.log(seen.low) > margin_log(margin) and not gainsaid


def short_name(change: str, settings: Mapping[str, str], huge_kib: int) -> str:
    """A change without the prefix that every php.ini setting has; reserved pages, of `huge_kib`
    each, with the number that was adopted (`settings`), since several changes share them."""
    name, _, value = change.partition("=")
    if name != PAGES:
        return change.removeprefix("ini.")
    pages = settings.get(name, value)
    return f"{name.removeprefix('os.')}={pages} (takes {int(pages) * huge_kib // 1024} MiB)"


def _not_tested(found: Found) -> tuple[str, ...]:
    measured = {each.name for each in found.loaded}
    by_load = [each for each in found.changes if each.metric == "throughput" and not each.refused and each.name not in measured]
    refused = [each for each in found.changes if each.refused]
    told = []
    if by_load:
        told.append(f"Untested: {len(by_load)} {_kinds(by_load)} (longer --budget).")
    if refused:
        told.append(f"Not usable: {len(refused)} (see report).")
    return (" ".join(told),) if told else ()


def _kinds(changes: Sequence[Change]) -> str:
    first = {each.name.partition(".")[0] for each in changes}
    kinds = " and ".join(name for name in ("pool", "web") if name in first)
    return f"{kinds} settings".strip() if len(changes) > 1 else f"{kinds} setting".strip()


def _next(record: TuneRecord, run: str) -> tuple[tuple[str, str], ...]:
    told = next_of("tune", record.outcome or "running", run)
    if record.outcome != "finished" or not record.bundle:
        return told
    return (("Apply", f"sudo phpdyno bundle apply {run}/{record.bundle}"), ("Undo", "sudo phpdyno bundle rollback"), *told)
