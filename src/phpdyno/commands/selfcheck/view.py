"""What a selfcheck found and what it says together. Pure."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno import __version__
from phpdyno.commands.selfcheck.judged import LINE, CheckRow, rows_of
from phpdyno.commands.selfcheck.words import ground_in_words
from phpdyno.journal.checks import Checks, LoopCost
from phpdyno.report.scope import host_in_words


class ChecksView(Struct, frozen=True, kw_only=True):
    """A selfcheck as it is shown and printed as JSON."""

    schema: Annotated[Literal["phpdyno.selfcheck/1"], Meta(description="Name and version of this format.")] = "phpdyno.selfcheck/1"
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that shows it.")] = __version__
    app: Annotated[str, Meta(description="The app that the comparisons were made on.")]
    seed: Annotated[int, Meta(description="Orders, coins and seeds of all comparisons follow from it.")]
    wanted: Annotated[int, Meta(description="Comparisons asked for.")]
    done: Annotated[int, Meta(description="Comparisons made.")]
    counts: Annotated[dict[str, int], Meta(description="Comparisons made, by kind.")]
    invalid: Annotated[tuple[str, ...], Meta(description="Why comparisons gave no number.")]
    kept: Annotated[tuple[str, ...], Meta(description="Journals of comparisons that came out wrong, below the selfcheck's directory.")]
    host: Annotated[str, Meta(description="The machine, in words; empty before it is known.")]
    php: Annotated[str, Meta(description="PHP that served, with its version.")]
    measured: Annotated[str, Meta(description="When, and by which version and code.")]
    warnings: Annotated[tuple[str, ...], Meta(description="What about the host made measuring harder.")]
    planted: Annotated[str, Meta(description="What is planted on what, in words; empty before it is known.")]
    rows: Annotated[tuple[CheckRow, ...], Meta(description="All checks, in the order of the report.")]
    contradicted: Annotated[bool, Meta(description="Whether a target was not reached.")]
    conclusion: Annotated[str, Meta(description="What the checks say together.")]


def checks_view(checks: Checks) -> ChecksView:
    """All that is known of a selfcheck."""
    rows = rows_of(checks)
    kinds = [each.kind for each in checks.compared]
    wanted, done = checks.header.wish.total, len(checks.compared)
    return ChecksView(
        app=checks.header.wish.app,
        seed=checks.header.wish.seed,
        wanted=wanted,
        done=done,
        counts={kind: kinds.count(kind) for kind in dict.fromkeys(sorted(kinds))},
        invalid=tuple(f"{each.kind}: {each.reason}" for each in checks.compared if each.numberless),
        kept=tuple(each.kept for each in checks.compared if each.kept),
        planted=ground_in_words(checks.ground) if checks.ground else "",
        host=host_in_words(checks.ground.host) if checks.ground else "",
        php=", ".join(_php(checks.ground)) if checks.ground else "",
        measured=_measured(checks),
        warnings=tuple(dict.fromkeys(text for session in checks.sessions for text in session.warnings)),
        rows=tuple(rows),
        contradicted=any(row.outcome == "not reached" for row in rows),
        conclusion=conclude(rows, unfinished=done < wanted),
    )


def _php(ground: LoopCost) -> list[str]:
    return [f"{name.removeprefix('php ')} {said}" for name, said in sorted(ground.host.versions.items()) if name.startswith("php")]


def _measured(checks: Checks) -> str:
    header = checks.header
    sessions = f" in {len(checks.sessions)} sessions, the last one of {checks.sessions[-1].started}" if len(checks.sessions) > 1 else ""
    return f"{header.started}{sessions}, by phpdyno {header.phpdyno} (code {header.code})"


def conclude(rows: Sequence[CheckRow], *, unfinished: bool) -> str:
    """What the checks say together, in words that claim no more than was shown."""
    missed = [row for row in rows if row.outcome == "not reached"]
    false = [row.check for row in missed if row.about == "honesty" and row.check != LINE]
    slow = [row.check for row in missed if row.about == "power"]
    judged = [row for row in rows if row.outcome != "–"]
    unsettled = sum(1 for row in judged if row.outcome == "open")
    if false:
        return f"Contradicted: {'; '.join(false)}. Do not rely on verdicts from this host before that is understood."
    if any(row.check == LINE for row in missed):
        return (
            "How large the planted effect is cannot be known here (its cost is no line), so nothing is said of sizes; what else was asked "
            "is not contradicted. See phpdyno doctor, and try again on a quieter host."
        )
    if slow:
        return f"Nothing speaks against the verdicts, but this host decides too little or too late: {'; '.join(slow)}; see phpdyno doctor."
    if unfinished:
        return "Nothing contradicts the targets so far; not all comparisons are made."
    if unsettled:
        return f"Nothing contradicts the targets; {unsettled} of {len(judged)} would need more comparisons to be shown."
    return "All targets are reached."
