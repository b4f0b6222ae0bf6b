"""Section `truth`: how often verdicts are right where the answer is known, and how long they take.

On a quiet host about 75 minutes for `hello` (four hours if each comparison used up its budget), and
64 at most for WordPress.

It is measured in parts, each a selfcheck of its own: its planted effects are those of its own host,
and nothing else goes from one to the next. So parts that different hosts measured may be counted
together. A part that was cut short goes on where it stopped, on the same host with the same code; a
finished one is committed with the page, which names its host, its days and its code, and says where
they are not those of the page.
"""

import math
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.commands.selfcheck.judged import NEVER, CheckRow
from phpdyno.commands.selfcheck.run import SelfcheckChanged, begin, resume_selfcheck, with_comparisons
from phpdyno.commands.selfcheck.view import checks_view
from phpdyno.commands.selfcheck.words import ground_in_words
from phpdyno.errors import DynoError
from phpdyno.journal.checks import CHECKS_FILE, Checks, LoopCost, SelfcheckRequest, read_checks
from phpdyno.session.provenance import code_digest
from tools.bench.figures import Figure, Target
from tools.bench.results import Part, Room, Say, Sizes

SAY_S = 60.0
TIME = "measuring time"
EFFECT = 0.01


class SayProgress:
    """Progress of a selfcheck as lines of the bench: notes, and a sign of life once a minute."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._last = time.monotonic()

    def phase(self, text: str) -> None:
        """Too many to be said."""

    def note(self, text: str) -> None:
        """A line."""
        self._say(text)

    def tick(self, elapsed_s: float, budget_s: float, text: str) -> None:
        """Time went by."""
        if time.monotonic() - self._last >= SAY_S:
            self._last = time.monotonic()
            self._say(f"{text}, about {(budget_s - elapsed_s) / 60:.0f} minutes")


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section."""
    parts = [part_of(name, wish, room) for name, wish in wishes_of(sizes)]
    room.parts += [origin_of(part) for part in parts]
    figures = []
    for app, only in (("hello", ""), ("wordpress", TIME)):
        checks = pooled([part for part in parts if part.header.wish.app == app])
        view = checks_view(checks)
        room.skipped += [f"a comparison on {app} ({why})" for why in view.invalid]
        figures += [figure_of(row, checks) for row in view.rows if only in row.check]
    return figures


def wishes_of(sizes: Sizes) -> list[tuple[str, SelfcheckRequest]]:
    """The parts by name: those of hello, each with a seed of its own, and WordPress."""
    base = SelfcheckRequest(
        "hello", aa=0, zero=0, planted=0, effect=EFFECT, planted_budget_s=sizes.truth_budget_s, rounds=sizes.truth_rounds
    )
    each = with_comparisons(base, sizes.truth_comparisons // sizes.truth_parts)
    wordpress = structs.replace(base, app="wordpress", planted=sizes.truth_wordpress, planted_budget_s=sizes.truth_wordpress_budget_s)
    wishes = [*(structs.replace(each, seed=1 + part) for part in range(sizes.truth_parts)), wordpress]
    return [(f"{wish.app}-{wish.seed}", wish) for wish in wishes]


def part_of(name: str, wish: SelfcheckRequest, room: Room) -> Checks:
    """A finished part as it is kept, or measured now."""
    kept = room.kept / name
    if (kept / CHECKS_FILE).is_file():
        found = read_checks(kept)
        if found.header.wish == wish and found.finished:
            return found
    room.say(f"{name}: {wish.total} comparisons")
    run = room.unfinished / name
    found = made(run, wish, room.say)
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / CHECKS_FILE, kept / CHECKS_FILE)
    return found


def pooled(parts: Sequence[Checks]) -> Checks:
    """Comparisons of several parts as those of one. What the planted effects rest on is judged by
    the part where it is worst."""
    wishes = [part.header.wish for part in parts]
    aa, long, zero, planted = (sum(counts) for counts in zip(*((w.aa, w.long, w.zero, w.planted) for w in wishes), strict=True))
    header = structs.replace(parts[-1].header, wish=structs.replace(wishes[-1], aa=aa, long=long, zero=zero, planted=planted))
    grounds = [part.ground for part in parts if part.ground is not None]
    compared = [each for part in parts for each in part.compared]
    return Checks(
        header,
        max(grounds, key=bend_at_worst, default=None),
        tuple(session for part in parts for session in part.sessions),
        tuple(structs.replace(each, number=number) for number, each in enumerate(compared)),
    )


def bend_at_worst(ground: LoopCost) -> float:
    """The end of the bend's interval that is further from 0."""
    ends = (ground.line.bend_low, ground.line.bend_high)
    return max(math.inf if end is None else abs(end) for end in ends)


def origin_of(part: Checks) -> Part:
    """What a part holds, and by which code, where and when it was measured. All of a part is of the
    same code and host."""
    header = part.header
    what = f"{len(part.compared)} comparisons on {header.wish.app}"
    if part.ground is None:
        raise DynoError(f"{what} do not say on which host they were made")
    days = sorted(began[:10] for began in (header.started, *(session.started for session in part.sessions)))
    warnings = tuple(dict.fromkeys(text for session in part.sessions for text in session.warnings))
    return Part(what, header.code, part.ground.host, days[0], days[-1], warnings)


def made(run: Path, wish: SelfcheckRequest, say: Say) -> Checks:
    """All comparisons of a wish: those kept in `run` where they are of the same code, host and app,
    and the rest."""
    if not continues(run, wish):
        anew(run, wish)
    try:
        return resume_selfcheck(run, SayProgress(say))[1]
    except SelfcheckChanged as change:
        say(f"{change.what}: starting anew")
        anew(run, wish)
        return resume_selfcheck(run, SayProgress(say))[1]


def continues(run: Path, wish: SelfcheckRequest) -> bool:
    """Whether what is kept can be gone on with."""
    try:
        header = read_checks(run).header
    except DynoError:
        return False
    return header.wish == wish and header.code == code_digest()


def anew(run: Path, wish: SelfcheckRequest) -> None:
    """Forget what is kept, and write the first line."""
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    begin(run, wish, argv=("bench",))


def figure_of(row: CheckRow, checks: Checks) -> Figure:
    """A row as a figure of the page. A target that no interval can prove (`never`) is judged by the
    count."""
    of = f"{row.comparisons} {'rounds' if row.check.startswith('cost') else 'comparisons'}"
    judged = row.outcome != "–"
    target = Target(row.target, row.at_least, row.at_most) if judged else None
    name = f"{checks.header.wish.app}: {row.check}"
    if row.unit == "s":
        estimate = row.estimate if row.estimate is not None else checks.header.wish.planted_budget_s
        return Figure(name, "s", estimate, row.low, row.high, f"median of {of}", target)
    estimate = row.estimate or 0.0
    if row.unit == "share":
        if row.target == NEVER:
            # Without a case all of the exact interval is as good as reached; with the first none of
            # it is.
            target = Target(row.target, None, 0.0 if estimate else row.high)
        return Figure(name, "%", estimate, row.low, row.high, of, target, row.found)
    if row.unit in {"ratio", "correlation"}:
        return Figure(name, "×" if row.unit == "ratio" else "", estimate, row.low, row.high, of, target)
    low, high, least, most = (None if bound is None else math.exp(bound) for bound in (row.low, row.high, row.at_least, row.at_most))
    detail = ground_in_words(checks.ground) if checks.ground and row.check.startswith("cost") else ""
    return Figure(name, "×", math.exp(estimate), low, high, of, Target(row.target, least, most) if judged else None, detail)
