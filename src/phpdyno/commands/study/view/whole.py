"""From a study's record and its parts' journals to the view that page and terminal show. Pure: no
files, no clock."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from phpdyno.commands.build.view import build_view
from phpdyno.commands.build.words import missing_words
from phpdyno.commands.compare.view.gather import GatheredRecords, gather
from phpdyno.commands.compare.view.shape import Ratio
from phpdyno.commands.study.view.comparisons import comparison_figures
from phpdyno.commands.study.view.contrasts import contrast_of
from phpdyno.commands.study.view.shape import ComparisonFigures, ContrastFigures, Missing, StudyView, SyscallRow, SyscallTable
from phpdyno.commands.study.view.sweeps import sweep_figures
from phpdyno.journal.records import Record
from phpdyno.journal.study import StudyRecord
from phpdyno.journal.sweep import Sweep
from phpdyno.model.build import Build
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.study import Note, Reference, Side, Study, SyscallCounts

SCHEMA: Final = "phpdyno.study/1"
PER = 1000
_PLACE = re.compile(r"(?<![\w.:/])/(?:[^/\s'\":,;]+/)+")
"""The directory of an absolute path: a page is shown to others, to whom it says nothing."""
_FAMILY = {
    **dict.fromkeys(("open", "openat"), "open, openat"),
    **dict.fromkeys(("stat", "lstat", "fstat", "newfstatat", "statx"), "stat, lstat, fstat, newfstatat"),
    **dict.fromkeys(("accept", "accept4"), "accept, accept4"),
    **dict.fromkeys(("clone", "clone3", "fork", "vfork"), "clone, fork"),
}
"""Calls that do the same; which of them a program makes depends on its C library's age."""


def study_view(record: StudyRecord, journals: Mapping[str, Sequence[Record]], sweeps: Mapping[str, Sweep] | None = None) -> StudyView:
    """The view of a study; `journals` holds the records of each comparison that got as far as a
    plan, by its name, `sweeps` each sweep."""
    study = record.study
    runs = {name: gather(records, name) for name, records in journals.items()}
    parts = {part.name: part for part in record.parts}
    comparisons = tuple(comparison_figures(study, each, parts[each.name], runs.get(each.name)) for each in study.comparisons)
    contrasts = _contrasts(study, comparisons, runs)
    swept = sweeps or {}
    host, php = _machine(list(runs.values()), list(swept.values()))
    measured = tuple(sweep_figures(study, each, parts[each.name], swept.get(each.name)) for each in study.sweeps)
    return StudyView(
        schema=SCHEMA,
        name=study.name,
        title=study.title,
        about=study.about,
        file=record.file or f"{study.name}.toml",
        phpdyno=record.phpdyno,
        started=record.started,
        seed=study.seed,
        scale=record.scale,
        elapsed_s=sum(each.elapsed_s for each in comparisons) + sum(each.elapsed_s for each in measured),
        workers=study.load.workers,
        concurrency=study.load.concurrency,
        factors=tuple(study.factors),
        host=host,
        php=php,
        servers=_servers([*(run.host for run in runs.values()), *(each.host for sweep in swept.values() for each in sweep.hosts)]),
        comparisons=comparisons,
        contrasts=contrasts,
        syscalls=_syscall_tables(study, record.counts),
        missing=tuple(Missing(part.name, part.state, part.detail) for part in record.parts if part.state != "done"),
        warnings=_warnings(list(runs.values()), list(swept.values()), record.builds),
        reference=study.reference,
        notes=tuple(note.text for note in study.notes if _holds(note, contrasts)),
        why=_why(study, contrasts),
        sweeps=measured,
        builds={name: build_view(build) for name, build in record.builds.items()},
    )


def side_of(ours: Ratio, reference: float) -> Side:
    """Our interval beside the reference's ratio."""
    return "smaller" if ours.high < reference else "larger" if ours.low > reference else "alike"


def _contrasts(study: Study, comparisons: Sequence[ComparisonFigures], runs: Mapping[str, GatheredRecords]) -> tuple[ContrastFigures, ...]:
    """Each contrast once per app and metric, from the first comparison that has an interval for
    both arms: never from two."""
    found: dict[tuple[str, str, str], ContrastFigures] = {}
    for contrast in study.contrasts:
        reference = _reference_ratio(study.reference, contrast.arm, contrast.against)
        for comparison in comparisons:
            arms = {each.arm: each for each in comparison.arms}
            key = (contrast.title, comparison.app, comparison.metric)
            told = key in found and found[key].ours is not None
            if contrast.arm not in arms or contrast.against not in arms or told:
                continue
            ours = contrast_of(study, comparison, runs.get(comparison.name), contrast)
            loaded = comparison.metric == "throughput"
            side = side_of(ours, reference) if loaded and ours is not None and reference is not None else None
            found[key] = ContrastFigures(*key[:2], comparison.metric, ours, reference, side)
    return tuple(found.values())


def _reference_ratio(reference: Reference | None, arm: str, against: str) -> float | None:
    per_s = reference.throughput_per_s if reference else {}
    return per_s[arm] / per_s[against] if arm in per_s and against in per_s else None


def _holds(note: Note, contrasts: Sequence[ContrastFigures]) -> bool:
    """A note without a condition always holds; one on a contrast where every app that has it
    agrees, and one at least."""
    if not note.contrast:
        return True
    sides = [each.side for each in contrasts if each.title == note.contrast and each.side and note.app in {"", each.app}]
    return bool(sides) and all(side == note.ours for side in sides)


def _why(study: Study, contrasts: Sequence[ContrastFigures]) -> dict[str, tuple[str, ...]]:
    """The notes on contrasts that hold, by the contrast."""
    found: dict[str, tuple[str, ...]] = {}
    for note in study.notes:
        if note.contrast and _holds(note, contrasts):
            found[note.contrast] = (*found.get(note.contrast, ()), note.text)
    return found


def _machine(runs: Sequence[GatheredRecords], sweeps: Sequence[Sweep]) -> tuple[HostFacts | None, str]:
    """The machine and the version of PHP that the last part was measured on."""
    swept = [sweep for sweep in sweeps if sweep.hosts]
    if swept:
        return swept[-1].hosts[-1].host, swept[-1].plan.arms[0].php.version
    return (runs[-1].host, runs[-1].plan.control.php.version) if runs else (None, "")


def _warnings(runs: Sequence[GatheredRecords], sweeps: Sequence[Sweep], builds: Mapping[str, Build]) -> tuple[str, ...]:
    """What must be known of builds, and what the host does that may disturb a measurement, each
    warning once."""
    said = [warning for run in runs for warning in run.preflight_warnings]
    said += [warning for sweep in sweeps for each in sweep.hosts for warning in each.warnings]
    made = [build.origin.notice for build in builds.values() if build.origin.notice]
    made += [_PLACE.sub("", each) for name, build in builds.items() for each in missing_words(name, build.skipped)]
    return tuple(dict.fromkeys([*made, *said]))


def _servers(hosts: Sequence[HostFacts | None]) -> dict[str, str]:
    """Versions of all servers but PHP, whose builds have a place of their own."""
    found: dict[str, str] = {}
    for host in hosts:
        for name, said in sorted(host.versions.items()) if host is not None else ():
            if not name.startswith("php"):
                found[name] = said.removeprefix(name + "/")
    return found


def _syscall_tables(study: Study, counts: Sequence[SyscallCounts]) -> tuple[SyscallTable, ...]:
    apps = dict.fromkeys(each.app for each in counts)
    return tuple(_syscall_table(study.reference, app, [each for each in counts if each.app == app]) for app in apps)


def _syscall_table(reference: Reference | None, app: str, counts: Sequence[SyscallCounts]) -> SyscallTable:
    arms = tuple(each.arm for each in counts)
    ours = [_per_thousand({call.name: call.calls for call in each.syscalls}, each.requests) for each in counts]
    theirs = [_reference_calls(reference, arm) for arm in arms]
    names = dict.fromkeys(name for column in (*ours, *theirs) for name in column)
    rows = [
        SyscallRow(name, tuple(column.get(name, 0.0) for column in ours), tuple(column.get(name) for column in theirs)) for name in names
    ]
    rows.sort(key=lambda row: (-max(row.ours), -max((value or 0.0) for value in row.reference), row.name))
    return SyscallTable(
        app=app,
        arms=arms,
        requests=tuple(each.requests for each in counts),
        processes=tuple(each.processes for each in counts),
        rows=tuple(rows),
        totals=tuple(sum(column.values()) for column in ours),
    )


def _reference_calls(reference: Reference | None, arm: str) -> dict[str, float]:
    if reference is None or not reference.syscall_requests:
        return {}
    return _per_thousand(reference.syscalls.get(arm, {}), reference.syscall_requests)


def _per_thousand(calls: Mapping[str, int], requests: int) -> dict[str, float]:
    """Calls per 1,000 requests by family."""
    found: dict[str, float] = {}
    for name, number in calls.items():
        family = _FAMILY.get(name, name)
        found[family] = found.get(family, 0.0) + PER * number / requests
    return found
