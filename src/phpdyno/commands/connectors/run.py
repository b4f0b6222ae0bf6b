"""A run of the lab from start to end: a part for each operation, each with a server of its own and
a journal that can be gone on with."""

import time
from collections.abc import Sequence
from pathlib import Path

from phpdyno import __version__
from phpdyno.apps.files.copies import tree_digest
from phpdyno.commands.connectors.counting import is_counted
from phpdyno.commands.connectors.measuring import ConnectorLab, measure, plan_of
from phpdyno.commands.connectors.program import find_server
from phpdyno.commands.connectors.record import SCHEMA, LabRecord, read_lab, write_lab
from phpdyno.commands.connectors.request import LabRequest, rows_in
from phpdyno.errors import DynoError, UsageError
from phpdyno.experiment.common.progress import Progress
from phpdyno.experiment.comparison.state import RunState
from phpdyno.host.lock import MeasuringLock
from phpdyno.journal.reader import FILE, drop_cut_off_line, read_journal
from phpdyno.journal.records import SCHEMA as JOURNAL_SCHEMA
from phpdyno.journal.records import Header, Incident, Planned
from phpdyno.journal.writer import JournalWriter
from phpdyno.model.arm import Arm
from phpdyno.model.runs.connector import ConnectorRow
from phpdyno.package import PACKAGE
from phpdyno.paths import cache_dir
from phpdyno.servers.supervision.supervisor import Supervisor
from phpdyno.servers.tarantool.server import ServerSettings
from phpdyno.session.ending import ending
from phpdyno.session.run_directory import check_place, make_run_dir
from phpdyno.session.specs import SpecReader

COMMAND = "connectors"
OWN_CONNECTOR = PACKAGE.parents[1] / "php" / "tarantool" / "src"


def measure_connectors(asked: LabRequest, *, runs: Path, argv: Sequence[str], progress: Progress) -> Path:
    """Measure all parts, and return the run's directory. Raises UsageError, DynoError."""
    record = LabRecord(SCHEMA, asked, tuple(argv), _package_digest())
    arms = _Arms(asked.php)
    with MeasuringLock():
        run = make_run_dir(runs, COMMAND, "tarantool")
        write_lab(run, record)
        _measure_parts(run, record, arms, argv=argv, progress=progress)
    return run


def resume_connectors(run: Path, *, argv: Sequence[str], progress: Progress) -> Path:
    """Go on with a run that was interrupted; finished blocks count. Raises UsageError where nothing
    is left to do, DynoError."""
    run = check_place(run)
    record = read_lab(run)
    if record.package != _package_digest():
        raise DynoError("our client is not the one that this run began with", where=str(OWN_CONNECTOR), next_step="start a new run")
    if all(_is_finished(run / operation) for operation in record.asked.operations):
        raise UsageError("this run is finished", where=str(run), next_step=f"see it with: phpdyno connectors --show {run}")
    arms = _Arms(record.asked.php)
    with MeasuringLock():
        _measure_parts(run, record, arms, argv=argv, progress=progress)
    return run


class _Arms:
    """How each row's PHP is run; a PHP is asked once what it is."""

    def __init__(self, php: str) -> None:
        self._php = php
        self._reader = SpecReader(script=True)
        self._reader.build({"php": php})

    def of(self, row: ConnectorRow) -> Arm:
        """The arm of a row. Raises UsageError, DynoError: its PHP does not run, or not with these
        extensions."""
        return self._reader.arm(row.name, {"php": self._php, **dict(row.settings)}, {})


def _package_digest() -> str:
    if not OWN_CONNECTOR.is_dir():
        raise DynoError("our client of Tarantool is not there", where=str(OWN_CONNECTOR), next_step="run phpdyno from its source tree")
    return tree_digest(OWN_CONNECTOR)


def _measure_parts(run: Path, record: LabRecord, arms: _Arms, *, argv: Sequence[str], progress: Progress) -> None:
    for number, operation in enumerate(record.asked.operations, 1):
        if not _is_finished(run / operation):
            progress.note(f"part {number} of {len(record.asked.operations)}: {operation}")
            _measure_part(run, operation, record, arms, argv=argv, progress=progress)


def _is_finished(part: Path) -> bool:
    journal = part / FILE
    records = read_journal(journal) if journal.is_file() else []
    planned = any(isinstance(each, Planned) for each in records)
    return planned and not RunState.replay(records).open_treatments() and is_counted(part)


def _measure_part(run: Path, operation: str, record: LabRecord, arms: _Arms, *, argv: Sequence[str], progress: Progress) -> None:
    asked, part = record.asked, run / operation
    part.mkdir(exist_ok=True)
    path = part / FILE
    before = read_journal(path) if path.is_file() else []
    if before:
        drop_cut_off_line(path)
    with JournalWriter(path) as journal, ending(journal, run, COMMAND), Supervisor(part / "logs") as supervisor:
        program = find_server(Path(asked.server) if asked.server else None, supervisor, cache=cache_dir(), progress=progress.phase)
        if any(isinstance(each, Planned) for each in before):
            state = RunState.replay(before)
            journal.append(Incident(state.next_block, "", "resumed", f"phpdyno {__version__}; {' '.join(argv)}"))
        else:
            if not before:
                journal.append(Header(JOURNAL_SCHEMA, __version__, COMMAND, time.strftime("%Y-%m-%dT%H:%M:%S%z"), tuple(argv)))
            plan = plan_of(
                operation,
                asked.rows[0],
                rows_in(operation, asked.rows[1:]),
                arm_of=arms.of,
                version=record.package,
                budget_s=asked.budget_s / len(asked.operations),
                seed=asked.seed,
                confidence=1.0 - (1.0 - asked.confidence) / len(asked.operations),
            )
            journal.append(Planned(plan))
            state = RunState(plan)
        rows = {row.name: row for row in asked.rows}
        lab = ConnectorLab(program, ServerSettings(), OWN_CONNECTOR)
        measure(state, rows, lab, supervisor, journal=journal, run=part, progress=progress)
