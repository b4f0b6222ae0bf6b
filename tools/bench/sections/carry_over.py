"""Section `carry-over`: one effect in slots of 1 and of 20 requests and in those that the verdict
rests on, side by side.

Switching from one arm to the other refills the processor's caches, which is what some changes save:
in slots of one request both arms start cold every time, and a site, which does not switch, is
nearer to the longer ones.
"""

import shutil

from phpdyno.commands.compare.run import CompareRequest, compare
from phpdyno.commands.compare.view.measuring import CarriedEffect
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.errors import DynoError
from phpdyno.journal.reader import FILE, read_journal
from phpdyno.model.plan import AppSource
from phpdyno.php_build.rungs import JIT_SPEC
from tools.bench.figures import Figure
from tools.bench.results import Room, Say, Sizes

TREATMENTS = {"hello": "web.socket=tcp", "wordpress": JIT_SPEC}
"""The JIT finds nothing to compile on `hello`."""


def measure(sizes: Sizes, room: Room) -> list[Figure]:
    """All figures of the section. No verdict ends a comparison before its budget: one would come
    before all lengths have an interval."""
    shutil.rmtree(room.unfinished, ignore_errors=True)
    found: list[Figure] = []
    for app, budget_s in (("hello", sizes.carry_hello_s), ("wordpress", sizes.carry_wordpress_s)):
        room.say(f"{app}: {TREATMENTS[app]} for {budget_s:.0f} s")
        asked = CompareRequest(source=AppSource(app), treatments=(TREATMENTS[app],), metric="cpu", budget_s=budget_s, settle="never")
        run = compare(asked, runs=room.unfinished / app, argv=("bench",), progress=_Told(room.say))
        found += figures_of(app, view_of(read_journal(run / FILE), run.name))
    return found


def figures_of(app: str, view: RunView) -> list[Figure]:
    """One figure for each slot length; the verdict's own says whether they differ. Raises DynoError
    where no other length was looked at."""
    if not view.carry_over:
        (row,) = view.rows
        raise DynoError(f"{app}: {row.reason or view.carry_over_missing}")
    return [_figure(app, check.treatment, each, check.said) for check in view.carry_over for each in check.effects]


def _figure(app: str, treatment: str, found: CarriedEffect, said: str) -> Figure:
    slot = "1 request" if found.slot_requests == 1 else f"{found.slot_requests} requests"
    verdict = ", which the verdict rests on" if found.main else ""
    estimate = 1.0 if found.ratio is None else found.ratio
    name = f"{app}: CPU per request, without / with {treatment.partition(';')[0]}, slots of {slot}{verdict}"
    return Figure(name, "×", estimate, found.low, found.high, f"{found.blocks} blocks", None, said if found.main else "")


class _Told:
    """Progress for a listener who wants to hear of notes alone."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def phase(self, text: str) -> None:
        """Nothing is shown."""

    def tick(self, *_: object) -> None:
        """Nothing is shown."""

    def note(self, text: str) -> None:
        """Say it."""
        self._say(text)
