"""What an app reached for before it was measured: from the journal's line to a part of the view,
and in words."""

from collections.abc import Iterable, Iterator

from phpdyno.journal.records import ReachedFor
from phpdyno.model.notices import WARNING
from phpdyno.model.plan import Unit
from phpdyno.report.advice import ReachAdvice, advise
from phpdyno.report.view_parts import ReachRow, ReachView
from phpdyno.report.words import count

MOST_LINES = 8
"""Told on a terminal; the page has all."""


def reach_view(found: ReachedFor) -> ReachView:
    """The part of a view. Without a bottle there is no advice: what was reached for is the host's
    own."""
    if found.reached is None:
        return ReachView(0, (), found.unwatched or "no reason is recorded", found.unit)
    told = advise(found.reached, given=found.let_through, unit=found.unit)
    rows = [
        ReachRow(each.calls, each.often, each.what, "" if found.bottle else each.next_step, each.snippet, each.missing) for each in told
    ]
    return ReachView(found.reached.requests, tuple(rows), "", found.unit)


def lines_of(view: ReachView, *, most: int = MOST_LINES) -> Iterator[str]:
    """A headline, then a line for each of the first few, indented; nothing at all where nothing was
    reached for."""
    what = "script" if view.unit == "operation" else "app"
    if view.unwatched:
        yield f"what the {what} reaches for is not known: {view.unwatched}"
    elif view.rows:
        yield f"what the {what} reaches for, seen in {count(view.requests, view.unit)} before measuring:"
        shown = view.rows if len(view.rows) <= most else view.rows[: most - 1]
        yield from (f"  {in_words(row)}" for row in shown)
        if len(shown) < len(view.rows):
            yield f"  and {len(view.rows) - len(shown)} more, listed on the page"


def without_words(
    told: Iterable[ReachAdvice | ReachRow], unit: Unit = "request", *, next_step: str = "; `phpdyno check` shows them"
) -> str:
    """Says that an app got no answer from servers that it asked, so that its pages may be error
    pages; '' where it missed none."""
    missing = [each.missing for each in told if each.missing]
    if not missing:
        return ""
    what, made = (
        ("script", "what was measured may be its way to fail") if unit == "operation" else ("app", "the pages measured may be error pages")
    )
    servers = count(len(missing), "server") if len(missing) > 2 else " and ".join(missing)
    return f"the {what} got no answer from {servers}: {made}{next_step}"


def missing_of(view: ReachView | None) -> tuple[str, ...]:
    """The same for a run, as the warning of its answer; nothing where nobody looked."""
    words = without_words(view.rows, view.unit) if view is not None else ""
    return (f"{WARNING}{words}",) if words else ()


def in_words(row: ReachRow) -> str:
    """One row in a line."""
    return f"{row.often} {row.what}: {row.next_step}" if row.next_step else f"{row.often} {row.what}"
