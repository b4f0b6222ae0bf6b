"""The report of a run of the lab as one HTML page that needs no network."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno import __version__
from phpdyno.commands.connectors import view
from phpdyno.commands.connectors.found import LabFound, OperationFound, RowFound, is_ceiling
from phpdyno.commands.connectors.record import read_lab
from phpdyno.commands.connectors.render.speeds import Speed, grouped_speeds, speeds_of
from phpdyno.commands.connectors.render.study_page import study_page
from phpdyno.commands.connectors.study import ConnectorStudy
from phpdyno.errors import DynoError, UsageError
from phpdyno.journal.reader import FILE, read_journal
from phpdyno.journal.records import Ended, Header, Preflight
from phpdyno.model.runs.connector import ConnectorRow
from phpdyno.report.answer.shape import CommandAnswer
from phpdyno.report.frame import render_frame
from phpdyno.report.plots import Figure
from phpdyno.report.words import duration

NAME = "report.html"
STUDY_PAGE = "study.md"
PUBLISHED = "published operations/s"
"""Head of what the reference of a study gives."""
ALL = "all"
"""The plot of all operations."""


class OperationView(Struct, frozen=True):
    """An operation: its heading, the place of its plot, the cells of its table."""

    title: str
    plot: str
    rows: tuple[tuple[str, ...], ...]
    best: tuple[str, ...]


class LabPage(Struct, frozen=True):
    """What the page shows; the first fields are those of every page."""

    title: str
    run: str
    started: str
    outcome: str
    outcome_detail: str
    elapsed_s: float
    phpdyno: str
    heads: tuple[str, ...]
    parts: tuple[OperationView, ...]
    skipped: dict[str, str]
    lines: tuple[str, ...]
    warnings: tuple[str, ...]
    repeat: str


def write_page(run: Path, found: LabFound, page: LabPage, answer: CommandAnswer | None = None) -> Path:
    """Write the page of a run beside its record, and give its path. Raises DynoError."""
    path = run / NAME
    path.write_text(render_connectors(page, found, read_lab(run).asked.rows, answer), encoding="utf-8")
    return path


def write_study_page(run: Path, found: LabFound, page: LabPage, place: Path | None) -> Path | None:
    """Write the page of the study that a run carries out, to `place` or beside its record, and give
    its path; None for a run of no study.

    Raises UsageError where `place` is given and there is no study, DynoError.
    """
    record = read_lab(run)
    if place is not None:
        check_page(place, is_study=record.asked.study is not None)
    if record.asked.study is None:
        return None
    path = place or run / STUDY_PAGE
    measured = f"{page.started[:10]}, phpdyno {page.phpdyno}, {duration(page.elapsed_s)} of measuring, seed {record.asked.seed}"
    try:
        path.write_text(study_page(record.asked.study, found, measured=measured), encoding="utf-8")
    except OSError as error:
        raise DynoError(f"the page cannot be written: {error.strerror}", where=str(path)) from error
    return path


def check_page(place: Path, *, is_study: bool) -> None:
    """Raises UsageError where the page of a study cannot be written to `place`, or there is no
    study."""
    if not is_study:
        raise UsageError("this is no study, so it has no such page", where="--page", next_step="carry one out with --study FILE")
    if not place.absolute().parent.is_dir():
        raise UsageError("there is no such directory", where=f"--page {place}", next_step="make it, or name another file")


def render_connectors(page: LabPage, found: LabFound, rows: Sequence[ConnectorRow], answer: CommandAnswer | None = None) -> str:
    """The whole page as text, the answer first. About 5 MB, nearly all of it plotly.js."""
    figures = {_plot(part): drawn for part in found.parts if (drawn := _figure(part)) is not None}
    if len(figures) > 1:
        figures[ALL] = grouped_speeds(view.fastest(found, rows), [part.operation for part in found.parts if _plot(part) in figures])
    return render_frame(
        "connectors.html.j2",
        figures,
        packages=["phpdyno.commands.connectors.render"],
        filters={},
        warnings=page.warnings,
        answer=answer,
        view=page,
    )


def page_view(run: Path, found: LabFound) -> LabPage:
    """What the page shows of a run by now."""
    record = read_lab(run)
    journals = [read_journal(path) for operation in record.asked.operations if (path := run / operation / FILE).is_file()]
    every = [each for journal in journals for each in journal]
    ended = [each for each in every if isinstance(each, Ended)]
    finished = len(found.parts) == len(record.asked.operations) and all(part.finished for part in found.parts)
    last = ended[-1] if ended else None
    return LabPage(
        title="Clients of Tarantool",
        run=run.name,
        started=next((each.started for each in every if isinstance(each, Header)), ""),
        outcome="finished" if finished else last.outcome if last and last.outcome != "finished" else "interrupted",
        outcome_detail="" if finished or last is None else last.detail,
        elapsed_s=sum(each.elapsed_s for each in ended),
        phpdyno=__version__,
        heads=view.HEADS if record.asked.study is None else (*view.HEADS, PUBLISHED),
        parts=tuple(
            OperationView(view.title(part), _plot(part), tuple(_cells(part, record.asked.study)), tuple(view.best(part)))
            for part in found.parts
        ),
        skipped=found.skipped,
        lines=tuple(view.lines(found)),
        warnings=tuple(dict.fromkeys(warning for each in every if isinstance(each, Preflight) for warning in each.warnings)),
        repeat=shlex.join(("phpdyno", *record.argv)),
    )


def _cells(part: OperationFound, study: ConnectorStudy | None) -> Iterator[tuple[str, ...]]:
    """The rows of a table, in a study with what the reference gives."""
    for row, cells in zip(part.rows, view.cells(part), strict=True):
        if study is None:
            yield cells
        else:
            published = study.published(row.row, part.operation)
            yield (*cells, "; ".join(f"{each:,.0f}" for each in published) or "–")


def _plot(part: OperationFound) -> str:
    return f"speeds-{part.operation}"


def _figure(part: OperationFound) -> Figure | None:
    speeds = [_speed(row, cells) for row, cells in zip(part.rows, view.cells(part), strict=True) if row.operations_per_s is not None]
    return speeds_of(speeds) if speeds else None


def _speed(row: RowFound, cells: tuple[str, ...]) -> Speed:
    color = "var(--muted)" if is_ceiling(row) or row.ratio is None else "var(--accent)"
    _, per_s, speed, share, *_ = cells
    return Speed(row.row, row.operations_per_s or 0.0, f"{per_s} per second; {speed}; {share} of the ceiling", color)
