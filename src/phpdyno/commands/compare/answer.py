"""The answer of a comparison: what each treatment brings, how sure that is, and what now. Pure."""

from collections.abc import Sequence

from msgspec import structs

from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.words import aa_of, change, change_in, label, less_more, ordered, tone, waiting
from phpdyno.commands.explain.words import answer as inside_words
from phpdyno.journal.records import IN_A_PAGE, REMARK
from phpdyno.model.notices import WARNING, first_of
from phpdyno.report.answer.parts import SCOPE, doubts_of, ending_of, messages_of, next_of, noise_of, subject_of, table_of, with_room_for
from phpdyno.report.answer.shape import MOST_LINES, STANDING, AnswerTable, CommandAnswer, Standing, TableLine
from phpdyno.report.words import count, duration, metric_words, milliseconds, percent, rate
from phpdyno.stats.change import Percent, said, signed


def compare_answer(view: RunView, run: str) -> CommandAnswer:
    """What a comparison comes to; `run` is the path of its directory, as a shell takes it."""
    effects = [row for row in ordered(view.rows) if not row.is_aa]
    rows = effects or list(view.rows)
    result, standing = _result(view, rows)
    told = [each.detail for each in view.incidents if each.kind in {REMARK, IN_A_PAGE}]
    noise = _noise(view, rows)
    answer = CommandAnswer(
        subject=subject_of(view.app, view.app_version, view.environment, view.elapsed_s, outcome=view.outcome),
        result=result,
        standing=standing,
        beside=_beside(rows[0]) if len(rows) == 1 else (),
        notes=(*messages_of(told), *_warnings(rows), *noise_of(noise, decided=False), *_inside(view), SCOPE),
        notices=first_of(view.preflight_warnings),
        doubts=(*doubts_of(told, view.reached), *noise_of(noise, decided=True)),
        next=next_of(view.command, view.outcome, run),
    )
    if len(rows) > 1:
        # Notes make room for rows, but for the last two.
        bare = structs.replace(answer, notes=answer.notes[-2:])
        answer = answer.with_table(_table(rows, MOST_LINES - bare.lines - 1))
    open_ = view.outcome == "finished" and any(row.kind == "inconclusive" for row in rows)
    return with_room_for(answer, [f"Not decided: a longer --budget may tell (this one was {duration(view.budget_s)})."] if open_ else [])


def words_of(row: Row) -> str:
    """`7.4 % less CPU per request (95 % CI 2.6 to 12.0 %)`, or why there is no number."""
    seen = change(row)
    if row.kind == "invalid":
        return f"no result: {row.reason or 'invalid'}"
    if seen is None:
        return waiting(row)
    return said(seen, *less_more(row.metric, row.unit), percent(row.confidence))


def verdict_words(row: Row) -> str:
    """What the interval says against the margin, in words."""
    margin = percent(row.margin)
    if row.kind in {"improved", "regressed"}:
        if row.relevance == "spent elsewhere":
            return "spent elsewhere: the whole stack takes more"
        word = "better" if row.kind == "improved" else "worse"
        beside = {"relevant": "", "not relevant": f", below your {margin}"}.get(row.relevance, f", whether by {margin} is open")
        return word + beside
    return {"equivalent": f"no difference of {margin} or more", "invalid": "invalid"}.get(row.kind, "not decided")


def _result(view: RunView, rows: Sequence[Row]) -> tuple[str, Standing]:
    if view.outcome != "finished" and not any(row.low is not None for row in rows):
        return ending_of(view.outcome, view.outcome_detail), "open"
    if len(rows) == 1:
        row = rows[0]
        aa = "the control against itself: " if row.is_aa else ""
        return f"{aa}{words_of(row)}" + ("" if row.kind == "invalid" else f": {verdict_words(row)}"), STANDING[tone(row)]
    better = [row for row in rows if tone(row) == "improved" and row.relevance == "relevant"]
    worse = [row for row in rows if tone(row) == "regressed"]
    broken = [row for row in rows if row.kind == "invalid"]
    undecided = [row for row in rows if row.kind == "inconclusive"]
    if len(undecided) == len(rows):
        return f"none of {count(len(rows), 'treatment')} is decided", "open"
    whole = f"of {count(len(rows), 'treatment')}"
    if better or not worse:
        told = [f"{len(better)} {whole} {_is(better)} better by {percent(rows[0].margin)} or more"]
        told += [f"{len(worse)} {_is(worse)} worse"] if worse else []
    else:
        told = [f"{len(worse)} {whole} {_is(worse)} worse, none is shown to be better"]
    told += [f"{len(undecided)} not decided"] if undecided else []
    told += [f"{len(broken)} without a result"] if broken else []
    return ", ".join(told), "good" if better else "bad" if worse else "invalid" if broken else "none"


def _is(rows: Sequence[Row]) -> str:
    return "is" if len(rows) == 1 else "are"


def _beside(row: Row) -> tuple[str, ...]:
    """`NAME · CPU 21.2 → 19.6 ms · p50 25.8 → 24.2 ms · 21 blocks`."""
    parts = [label(row)]
    one, other = row.control, row.treated
    if one is not None and other is not None:
        parts.append(f"CPU {milliseconds(one.php_cpu_ms_per_request)} → {milliseconds(other.php_cpu_ms_per_request)} ms")
        if one.service_p50_ms is not None and other.service_p50_ms is not None:
            parts.append(f"p50 {milliseconds(one.service_p50_ms)} → {milliseconds(other.service_p50_ms)} ms")
        if row.metric == "throughput":
            parts.append(f"{rate(one.requests_per_s)} → {rate(other.requests_per_s)} a second")
    parts.append(count(row.blocks, "block"))
    return (" · ".join(parts),)


def _table(rows: Sequence[Row], room: int) -> AnswerTable:
    metrics = {row.metric for row in rows}
    head = metric_words(rows[0].metric, rows[0].unit).upper() if len(metrics) == 1 else "CHANGE"
    lines = [TableLine((label(row), _cell(row, mixed=len(metrics) > 1), verdict_words(row)), STANDING[tone(row)]) for row in rows]
    return table_of(("TREATMENT", head, "VERDICT"), lines, room, "treatment")


def _cell(row: Row, *, mixed: bool) -> str:
    seen = change(row)
    if seen is None:
        return "no number"
    return f"{signed(seen)} {'CPU' if row.metric == 'cpu' else 'req/s'}" if mixed else signed(seen)


def _warnings(rows: Sequence[Row]) -> list[str]:
    told = list(dict.fromkeys(f"{WARNING}{each}" for row in rows for each in row.warnings))
    return told[:2] if len(told) < 3 else [*told[:1], f"{len(told) - 1} more warnings: --verbose"]


def _inside(view: RunView) -> list[str]:
    """What `--explain` found to have changed most."""
    looked = [(each.treatment, each.found) for each in view.explained or () if each.found is not None]
    return [f"Inside {name}: {inside_words(found)[-1]}" for name, found in looked[:1]]


def _noise(view: RunView, rows: Sequence[Row]) -> Percent | None:
    """How the control differs from itself by the metric of the answer; None without an interval."""
    metric = rows[0].metric if rows else "cpu"
    arms = (row for row in view.rows if row.is_aa and row.kind != "invalid" and row.metric == metric and row not in rows)
    aa = next(arms, None) or aa_of(view, metric)
    return None if aa is None else change_in(aa, metric)
