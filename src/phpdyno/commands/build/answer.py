"""The answer of a build: what was made, whether it can be relied on, and how it is tried. Pure."""

from collections.abc import Sequence
from pathlib import Path

from phpdyno.commands.build.listed import Listed, cells, started, wrong_in
from phpdyno.commands.build.words import missing_words, taught_words
from phpdyno.php_build.package.texts import unhardened
from phpdyno.report.answer.parts import table_of
from phpdyno.report.answer.shape import MOST_LINES, CommandAnswer, TableLine
from phpdyno.report.words import count, duration, shortened

MOST_TRAINED = 30
"""Columns of what trained a build."""
LISTED = ("List", "phpdyno build --list")


def build_answer(found: Sequence[Listed], app: str) -> CommandAnswer:
    """Say what was made; `app` is what trained it, as a shell takes it ('': not named here)."""
    return _one(found[0], app) if len(found) == 1 else _several(found)


def _one(each: Listed, app: str) -> CommandAnswer:
    made = each.build
    wrong = wrong_in(made)
    passed = f"{len(made.checks) - len(wrong)} of {count(len(made.checks), 'check')} passed"
    trained = taught_words(made)
    instead = f"stands in for {Path(made.like).name} in comparisons; nothing is installed"
    told = (f"trained on {trained}" if trained else "without a profile", instead)
    notice = made.origin.notice or "for measuring only: it is no drop-in of the installed PHP"
    only = (f"{notice[:1].upper()}{notice[1:]}.",) if made.measuring_only else ()
    tried = (("Try", f"phpdyno compare {app} --treatment build={made.name}"),) if app else ()
    start = () if made.measuring_only else (("Start it", started(Path(each.directory), made)),)
    return CommandAnswer(
        subject=f"build {made.name} · PHP {made.php_version} · {duration(made.seconds)}",
        result=f"made, and {passed}" if wrong else f"made; all its checks passed ({len(made.checks)})",
        standing="bad" if wrong else "good",
        beside=(" · ".join(told),),
        doubts=(*(f"{check.name}: {check.seen}" for check in wrong), *missing_words(made.name, made.skipped), *only),
        notes=("Whether it is faster is not known yet: compare it.", unhardened(made)),
        next=(*tried, *start, *((("Package", each.package),) if each.package else ())),
    )


def _several(found: Sequence[Listed]) -> CommandAnswer:
    builds = [each.build for each in found]
    wrong = [f"{made.name}: {check.name}: {check.seen}" for made in builds for check in wrong_in(made)]
    packages = [each.package for each in found if each.package]
    answer = CommandAnswer(
        subject=f"{count(len(found), 'build')} · {duration(sum(made.seconds for made in builds))}",
        result=f"made anew: {count(len(found), 'build')}" + ("" if wrong else "; all their checks passed"),
        standing="bad" if wrong else "good",
        doubts=(*wrong, *(line for made in builds for line in missing_words(made.name, made.skipped))),
        notes=(f"Before you deploy them: {unhardened(builds[0])}",) if packages else (),
        next=(*(("Package", each) for each in packages), LISTED),
    )
    rows = [TableLine(_row(each), "bad" if wrong_in(each.build) else "none") for each in found]
    heads = ("BUILD", "PHP", "TRAINED ON", "CHECKS", "TOOK")
    return answer.with_table(table_of(heads, rows, max(2, MOST_LINES - answer.lines - 1), "build", where=f": {LISTED[1]}"))


def _row(each: Listed) -> tuple[str, ...]:
    name, php, _, trained, *rest = cells(each)
    return name, php, shortened(trained, MOST_TRAINED), *rest
