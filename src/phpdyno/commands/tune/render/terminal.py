"""A tune as a report for a terminal of 80 columns or more, in colour. Nothing is printed here."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phpdyno.commands.explain.render.terminal import looked_into
from phpdyno.commands.tune.view import TuneView, left_out
from phpdyno.commands.tune.words import before_after, confirmed_words, settings_words, standing_words
from phpdyno.model.notices import rest_of
from phpdyno.model.runs.tune import Confirmed, Found, Goal
from phpdyno.report.change_words import change_words
from phpdyno.report.terminal_parts import headed, inert, labelled, reached
from phpdyno.report.words import count, duration

RATIO_WIDTH = 23
"""Columns of a change with its interval: `−11.0 % (−20.3 to −0.6)`; names and words share the rest,
three to two."""
_STYLES = {"helps": "green", "hurts": "red", "open": "yellow"}


def tune_summary(view: TuneView) -> Group:
    """The whole report; its last line is the outcome in words."""
    found = view.found
    parts: list[RenderableType] = [_head(view), Text()]
    for section in (
        _screening(found, view.goal),
        _race(found, view.goal),
        _numbers(found, view.goal),
        _confirmed(found.confirmations),
        _parts(found, view.goal),
        _ladder(found, view.goal),
        _loaded(found.loaded),
    ):
        if section:
            parts += [*section, Text()]
    if view.explained:
        parts += [*looked_into(view.explained.treatment, view.explained.found, view.explained.unexplained), Text()]
    if (told := reached(view.reached)) is not None:
        parts += [told, Text()]
    parts += [*_left_out(found), *_notes(view), Text()]
    if view.bundle:
        parts.append(inert(f"bundle: {view.run}/{view.bundle} (phpdyno bundle apply DIR)"))
    return Group(*parts, *map(inert, view.sentences))


def _head(view: TuneView) -> Group:
    detail = f": {view.outcome_detail}" if view.outcome_detail else ""
    facts = [
        (
            "run",
            inert(f"{view.run}, {view.outcome} after {duration(view.elapsed_s)}{detail}", "" if view.outcome == "finished" else "yellow"),
        ),
        *((name, inert(said)) for name, said in view.scope),
    ]
    if view.found.plan:
        facts.append(("plan", inert(view.found.plan)))
    return Group(*headed(view.title, view.warnings), labelled(facts))


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Text]]) -> list[RenderableType]:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True)
    for head, ratio in zip(heads, (3, None, 2), strict=False):
        table.add_column(head, overflow="fold", ratio=ratio, width=None if ratio else RATIO_WIDTH, header_style="dim")
    for row in rows:
        table.add_row(*row)
    return [Text(title, style="bold"), table]


def _screening(found: Found, goal: Goal) -> list[RenderableType]:
    shape = found.screening
    if shape is None or not shape.effects:
        return []
    rows = [
        (inert(each.name), Text(change_words(each.ratio, goal)), Text(standing_words(each), style=_STYLES.get(each.standing, "")))
        for each in shape.effects
    ]
    title = f"Screened in {count(shape.rows, 'row')} of {count(shape.blocks, 'block')}: average effect of each setting"
    held = _table(title, ("setting", "change", ""), rows)
    beside = [(each.names, change_words(each.ratio, goal)) for each in shape.together]
    return [*held, *(inert(f"  {names[0]} with {names[1]}: {change} more than each alone") for names, change in beside)]


def _race(found: Found, goal: Goal) -> list[RenderableType]:
    race = found.race
    if race is None:
        return []
    if not race.racers:
        return [inert(f"Race: {race.end}")]
    rows = [(inert(each.name), Text(change_words(each.ratio, goal)), inert(each.fate)) for each in race.racers]
    return _table(f"Raced over {count(race.blocks, 'block')} ({race.end})", ("combination", "change", ""), rows)


def _numbers(found: Found, goal: Goal) -> list[RenderableType]:
    if not found.numbers:
        return []
    rows = [(inert(settings_words(each.settings)), Text(change_words(each.ratio, goal))) for each in found.numbers]
    return _table("Numbers proposed for the winner", ("values", "change"), rows)


def _confirmed(confirmations: Sequence[Confirmed]) -> list[RenderableType]:
    if not confirmations:
        return []
    said: list[RenderableType] = [Text("On fresh instances", style="bold")]
    for each in confirmations:
        said.append(inert(f"  {each.name}: {confirmed_words(each)}"))
        beside = [] if each.aa is None else [f"the control against itself {change_words(each.aa, each.goal)}"]
        beside += [f"{name}: {before} before, {after} after" for name, before, after in before_after(each)]
        beside += [each.reason] if each.reason and each.kind != "invalid" else []
        said += [inert(f"    {words}", "dim") for words in beside]
    return said


def _parts(found: Found, goal: Goal) -> list[RenderableType]:
    if not found.parts:
        return []
    rows = [
        (inert(each.name), Text(change_words(each.ratio, goal)), inert(each.reason, "green" if each.kept else "")) for each in found.parts
    ]
    return _table("What each part adds to the rest", ("part", "change", ""), rows)


def _ladder(found: Found, goal: Goal) -> list[RenderableType]:
    if not found.ladder:
        return []
    rows = [(inert(each.name), Text(change_words(each.ratio, goal))) for each in found.ladder]
    return _table("Step by step, each with all before it", ("step", "change"), rows)


def _loaded(loaded: Sequence[Confirmed]) -> list[RenderableType]:
    if not loaded:
        return []
    return [
        Text("Pool, socket and web server, by throughput", style="bold"),
        *(inert(f"  {each.name}: {confirmed_words(each)}") for each in loaded),
    ]


def _left_out(found: Found) -> list[RenderableType]:
    refused = left_out(found.changes)
    if not refused:
        return []
    return [Text("Took no part", style="bold"), *(inert(f"  {names}: {reason}", "dim") for names, reason in refused), Text()]


def _notes(view: TuneView) -> list[RenderableType]:
    told = (*rest_of(view.warnings), *view.found.remarks, *view.found.notes)
    return [inert(f"note: {each}", "dim") for each in told]
