"""Preloading that changes no answer: what the app really loads, less whatever makes php-fpm fail or
a page differ."""

from collections.abc import Sequence

from phpdyno.commands.tune.measurer import Batch
from phpdyno.commands.tune.stages.search import SearchState, TuneSearch
from phpdyno.tuning.budget import LEAST_PAIRS
from phpdyno.tuning.factors import Candidate
from phpdyno.tuning.preloading import LEAST_SCRIPTS, MOST_TESTS, PRELOAD, can_preload, left_out_words, name_of, place
from phpdyno.tuning.safe import safe_subset

STAGE = "preload"


def find_preload(search: TuneSearch, search_state: SearchState) -> tuple[Candidate, ...]:
    """A change that preloads; none where opcache is off, something is preloaded already, or too
    little is safe."""
    measurer = search.measurer
    wanted = not measurer.asked.knobs or PRELOAD in measurer.asked.knobs  # a script of the user's own is a value like any other
    if not wanted or not can_preload(search_state.facts):
        return ()
    scripts = search.found.scripts
    if not scripts:
        control = measurer.control(measurer.metric)
        scripts = measurer.parts.loaded_scripts(
            control, measurer.plan(STAGE, (control,), metric=measurer.metric, budget_s=measurer.clock.left_s())
        )
        search.take(scripts=scripts)
    if len(scripts) < LEAST_SCRIPTS:
        return ()
    turn = 0

    def is_safe(files: Sequence[str]) -> bool:
        nonlocal turn
        turn += 1
        arm = measurer.arm(name_of(files), {PRELOAD: place(files)}, measurer.metric)
        state = search.measure(
            f"{STAGE}-{turn}", (arm,), measurer.fixed(search_state.known, Batch(1, LEAST_PAIRS), 1), measurer.clock.left_s()
        )
        return all(verdict.kind != "invalid" for verdict in state.verdicts.values())

    safe = safe_subset(scripts, is_safe, MOST_TESTS)
    if said := left_out_words(scripts, safe):
        search.note(said)
    if len(safe.passed) < LEAST_SCRIPTS:
        return ()
    search.take(preload=safe.passed)
    return (Candidate(name_of(safe.passed), {PRELOAD: place(safe.passed)}),)
