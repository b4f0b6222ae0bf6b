"""A matrix's record and its comparisons as what its reports show. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.commands.build.view import BuildView, build_view
from phpdyno.commands.build.words import missing_words
from phpdyno.commands.compare.view.rows import doubts
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.words import tone
from phpdyno.journal.matrix import MatrixRecord
from phpdyno.model.build import Build
from phpdyno.model.runs.matrix import Cell, ProfileFound
from phpdyno.model.runs.tune import TunedRatio
from phpdyno.report.change_words import change_words
from phpdyno.report.scope import repeat
from phpdyno.report.words import count, percent

SCHEMA = "phpdyno.matrix/1"
NOT_MEASURED = "not measured"
LEAST_TOLD = 1.0005
"""A gain below that is 0.0 % in words."""


class MatrixView(Struct, frozen=True, kw_only=True):
    """A matrix with all that was found, and what it comes to in words."""

    schema: Annotated[str, Meta(description="Name and version of this format.")] = SCHEMA
    title: Annotated[str, Meta(description="The apps.")]
    run: Annotated[str, Meta(description="Name of the run's directory.")]
    phpdyno: Annotated[str, Meta(description="Version of phpdyno that measured.")]
    started: Annotated[str, Meta(description="When it began.")]
    outcome: Annotated[str, Meta(description="`finished`, or `unfinished` while a comparison is missing.")]
    outcome_detail: Annotated[str, Meta(description="What is missing and why; empty otherwise.")]
    elapsed_s: Annotated[float, Meta(description="Seconds of measuring, all comparisons together.")]
    margin: Annotated[float, Meta(description="A difference matters from this fraction on.")]
    confidence: Annotated[float, Meta(description="Probability that all intervals of the matrix hold together.")]
    apps: Annotated[tuple[str, ...], Meta(description="The apps that it was measured on, in their order.")]
    profiles: Annotated[tuple[ProfileFound, ...], Meta(description="The profiles, in the order of the apps, all together last.")]
    cells: Annotated[tuple[Cell, ...], Meta(description="One for each profile and app.")]
    builds: Annotated[tuple[BuildView, ...], Meta(description="The builds, the one without a profile first.")]
    scopes: Annotated[tuple[str, ...], Meta(description="What the verdicts of each app hold for.")]
    sentences: Annotated[tuple[str, ...], Meta(description="What was found, in words; the last one is the outcome.")]
    warnings: Annotated[tuple[str, ...], Meta(description="What casts doubt on it.")]
    argv: Annotated[tuple[str, ...], Meta(description="The command, without `phpdyno`.")]
    repeat: Annotated[str, Meta(description="The command that does it again, quoted for a shell.")]


def matrix_view(record: MatrixRecord, compared: Mapping[str, RunView], run: str) -> MatrixView:
    """The view of a record and the comparisons of its apps, by their names; those that never began
    are not there."""
    apps = tuple(each.name for each in record.apps)
    cells = tuple(_cell(name, record.builds[build], app, compared.get(app)) for name, build in record.profiles.items() for app in apps)
    profiles = tuple(profile_found(name, build, cells, record.margin) for name, build in record.profiles.items())
    missing = [f"{each.name}: {each.detail or 'not measured'}" for each in record.apps if each.state != "done"]
    named = {f"build={build}": name for name, build in record.profiles.items()}
    host = dict.fromkeys(warning for each in compared.values() for warning in each.preflight_warnings)
    doubted = [f"on {app}, trained on {said}" for app in apps if app in compared for said in doubts(compared[app].rows, named)]
    return MatrixView(
        title=f"{', '.join(apps[:-1])} and {apps[-1]}: each profile on every app",
        run=run,
        phpdyno=record.phpdyno,
        started=record.started,
        outcome="unfinished" if missing else "finished",
        outcome_detail="; ".join(missing),
        elapsed_s=sum(each.elapsed_s for each in compared.values()),
        margin=record.margin,
        confidence=record.confidence,
        apps=apps,
        profiles=profiles,
        cells=cells,
        builds=tuple(build_view(record.builds[name]) for name in (record.plain, *record.profiles.values())),
        scopes=tuple(compared[app].scope for app in apps if app in compared),
        sentences=(*(f"{cell_name(each)}: {cell_words(each)}" for each in cells), *outcome_words(profiles, cells)),
        warnings=(*host, *record.notes, *doubted),
        argv=record.argv,
        repeat=repeat(record.argv, record.seed, "matrix"),
    )


def _cell(profile: str, build: Build, app: str, view: RunView | None) -> Cell:
    if build.skipped:
        # Held against the others it would be another recipe in their row.
        return Cell(profile, app, None, "invalid", "", "; ".join(missing_words(build.recipe.name, build.skipped)))
    row = next((each for each in view.rows if each.name == f"build={build.name}"), None) if view else None
    if row is None or (row.kind == "inconclusive" and not row.blocks):
        return Cell(profile, app, None, "inconclusive", "", NOT_MEASURED)
    return Cell(profile, app, _ratio(row), row.kind, row.relevance, row.reason if row.kind == "invalid" else "")


def _ratio(row: Row) -> TunedRatio | None:
    return None if row.ratio is None or row.kind == "invalid" else TunedRatio(row.ratio, row.low, row.high, row.blocks)


def profile_found(name: str, build: str, cells: Sequence[Cell], margin: float) -> ProfileFound:
    """What a profile comes to over its cells: unsafe where the interval goes below 1 / (1 +
    margin), or is not there, and where the whole stack certainly pays more for what PHP saves."""
    mine = [each for each in cells if each.profile == name]
    lows = {each.app: _low(each) for each in mine}
    elsewhere = {each.app for each in mine if each.relevance == "spent elsewhere"}
    unsafe = tuple(app for app, low in lows.items() if low is None or low < 1.0 / (1.0 + margin) or app in elsewhere)
    known = [low for low in lows.values() if low is not None]
    return ProfileFound(
        name=name,
        build=build,
        hurts=tuple(each.app for each in mine if each.kind == "regressed"),
        unsafe=unsafe,
        worst=min(known) if known and len(known) == len(lows) else None,
    )


def safest(profiles: Sequence[ProfileFound]) -> ProfileFound | None:
    """The profile to ship to all: of those that are safe the one that helps the app most that it
    helps least."""
    safe = [(each.worst, each) for each in profiles if each.safe and each.worst is not None]
    return max(safe, key=lambda pair: pair[0])[1] if safe else None


def outcome_words(profiles: Sequence[ProfileFound], cells: Sequence[Cell]) -> tuple[str, ...]:
    """Where profiles hurt, what else stands against them, and which one is safe; the last one is
    the outcome."""
    by_place = {(each.profile, each.app): each for each in cells}
    said = []
    for profile in profiles:
        if profile.hurts:
            said.append(f"The profile of {profile.name} makes {' and '.join(profile.hurts)} slower.")
        against = [by_place[profile.name, app] for app in profile.unsafe if app not in profile.hurts]
        said += [f"The profile of {profile.name}, on {each.app}: {_doubt(each)}." for each in against if each.reason != NOT_MEASURED]
    return (*said, f"Outcome: {best_of_all(profiles, cells)}.")


def best_of_all(profiles: Sequence[ProfileFound], cells: Sequence[Cell]) -> str:
    """Which profile is safe for all apps, in words, or why none is."""
    best = safest(profiles)
    if best is not None:
        gains = best.worst is not None and best.worst >= LEAST_TOLD
        worst = f", and each uses at least {100 * (1 - 1 / best.worst):.1f} % less CPU" if gains and best.worst is not None else ""
        return f"the profile of {best.name} is safe for all of these apps: none loses what matters{worst}"
    missing = dict.fromkeys(each.app for each in cells if each.reason == NOT_MEASURED)
    if missing:
        return f"open, since {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not measured"
    decided = {(each.profile, each.app) for each in cells if _is_decided(each)}
    undecided = [each.name for each in profiles if decided.isdisjoint((each.name, app) for app in each.unsafe)]
    longer = f"; longer measuring may decide about that of {' and '.join(undecided)}" if undecided else ""
    return f"no profile is certain not to cost any of these apps what matters{longer}"


def _doubt(cell: Cell) -> str:
    """Why an app is not certain to keep its speed, where it is not certain to lose some."""
    if cell.ratio is None or cell.ratio.low is None:
        return f"no number{f' ({cell.reason})' if cell.reason else ''}"
    if cell.relevance == "spent elsewhere":
        return "what PHP saves the other servers pay, and more"
    return f"a loss that matters cannot be ruled out, {change_words(cell.ratio)}"


def _is_decided(cell: Cell) -> bool:
    """Whether longer measuring changes nothing: it loses for certain, or it can have no number."""
    return cell.kind == "invalid" or tone(cell) == "regressed"


def _low(cell: Cell) -> float | None:
    return None if cell.ratio is None else cell.ratio.low


def short_words(cell: Cell) -> str:
    """What a table says of it: the ratio, or why there is none in a word or two."""
    return change_words(cell.ratio) if cell.ratio is not None else NOT_MEASURED if cell.reason == NOT_MEASURED else cell.kind


def reasons(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Why cells have no number, those aside of which the run says it."""
    said = (f"{cell_name(each)}: {each.reason}" for each in cells if each.reason and each.reason != NOT_MEASURED)
    return tuple(dict.fromkeys(said))


def cell_name(cell: Cell) -> str:
    """`wordpress, trained on mediawiki`."""
    return f"{cell.app}, trained on {cell.profile}"


def cell_words(cell: Cell) -> str:
    """`−5.5 % (−7.1 to −3.9): improved, relevant`."""
    if cell.ratio is None:
        return f"no number{f' ({cell.reason})' if cell.reason else ''}: {cell.kind}"
    return f"{change_words(cell.ratio)}: {cell.kind}" + (f", {cell.relevance}" if cell.relevance else "")


def decided_words(view: MatrixView) -> str:
    """How it was decided."""
    apps = count(len(view.apps), "app")
    return f"A difference matters from {percent(view.margin)} on; all intervals over {apps} hold together with {percent(view.confidence)}"


def warmth(cell: Cell) -> int:
    """Which of seven colours a cell has: -3 for a loss of 10 % or more, 0 for what may be nothing,
    3 for a gain of 10 % or more."""
    ratio = cell.ratio
    if ratio is None or ratio.low is None or ratio.high is None or ratio.low <= 1.0 <= ratio.high:
        return 0
    if tone(cell) == "regressed" and ratio.value > 1.0:
        return -1  # whatever PHP gains
    size = abs(ratio.value - 1.0)
    steps = 1 + (size >= 0.03) + (size >= 0.1)
    return steps if ratio.value > 1.0 else -steps
