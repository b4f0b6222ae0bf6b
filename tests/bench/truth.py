"""Section `truth`: how often verdicts are right where the answer is known, and how long they take.

On a quiet host about 75 minutes for `hello` (four hours if each comparison used up its budget), and 64 at most for WordPress.

Comparisons are kept one by one below runs/bench/truth: a section that was cut short goes on where it stopped.
"""

import math
import shutil
import time
from pathlib import Path

from phpdyno.errors import DynoError
from phpdyno.journal.checks import Checks, Wish, read_checks
from phpdyno.report.check_rows import NEVER, CheckRow
from phpdyno.report.checks import checks_view, ground_in_words
from phpdyno.workflows.selfcheck import Changed, begin, code_digest, resume_selfcheck, with_comparisons
from tests.bench.figures import Figure, Target
from tests.bench.results import Sizes
from tests.bench.stand import Say

SAY_S = 60.0
FOLDER = "truth"
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


def measure(sizes: Sizes, logs: Path, say: Say, skipped: list[str]) -> list[Figure]:
    """All figures of the section."""
    place, count = logs.parents[1] / FOLDER, sizes.truth_comparisons
    base = Wish("hello", aa=0, zero=0, planted=0, effect=EFFECT, planted_budget_s=sizes.truth_budget_s, rounds=sizes.truth_rounds)
    hello = with_comparisons(base, count)
    wordpress = Wish(
        "wordpress",
        aa=0,
        zero=0,
        planted=sizes.truth_wordpress,
        effect=EFFECT,
        planted_budget_s=sizes.truth_wordpress_budget_s,
        rounds=sizes.truth_rounds,
    )
    figures = []
    for wish, only in ((hello, ""), (wordpress, TIME)):
        say(f"{wish.total} comparisons on {wish.app}")
        checks = made(place / wish.app, wish, say)
        view = checks_view(checks)
        skipped += [f"a comparison on {wish.app} ({why})" for why in view.invalid]
        figures += [figure_of(row, checks) for row in view.rows if only in row.check]
    return figures


def made(run: Path, wish: Wish, say: Say) -> Checks:
    """All comparisons of a wish: those kept in `run` where they are of the same code, host and app, and the rest."""
    if not continues(run, wish):
        anew(run, wish)
    try:
        return resume_selfcheck(run, SayProgress(say))[1]
    except Changed as change:
        say(f"{change.what}: starting anew")
        anew(run, wish)
        return resume_selfcheck(run, SayProgress(say))[1]


def continues(run: Path, wish: Wish) -> bool:
    """Whether what is kept can be gone on with."""
    try:
        header = read_checks(run).header
    except DynoError:
        return False
    return header.wish == wish and header.code == code_digest()


def anew(run: Path, wish: Wish) -> None:
    """Forget what is kept, and write the first line."""
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    begin(run, wish, argv=("bench",))


def figure_of(row: CheckRow, checks: Checks) -> Figure:
    """A row as a figure of the page. A target that no interval can prove (`never`) is judged by the count."""
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
            # Without a case all of the exact interval is as good as reached; with the first none of it is.
            target = Target(row.target, None, 0.0 if estimate else row.high)
        return Figure(name, "%", estimate, row.low, row.high, of, target, row.found)
    if row.unit in {"ratio", "correlation"}:
        return Figure(name, "×" if row.unit == "ratio" else "", estimate, row.low, row.high, of, target)
    low, high, least, most = (None if bound is None else math.exp(bound) for bound in (row.low, row.high, row.at_least, row.at_most))
    detail = ground_in_words(checks.ground) if checks.ground and row.check.startswith("cost") else ""
    return Figure(name, "×", math.exp(estimate), low, high, of, Target(row.target, least, most) if judged else None, detail)
