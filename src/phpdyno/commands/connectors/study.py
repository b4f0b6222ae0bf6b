"""A study of clients of Tarantool: somebody else's reports, and the row of ours that stands beside
each. Data only."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from phpdyno.commands.connectors.clients import CLIENTS, can
from phpdyno.commands.connectors.operations import KNOWN, MOST_IN_FLIGHT, MOST_PROCESSES
from phpdyno.config.nearest import suggestion
from phpdyno.config.study.kinds import read_kind
from phpdyno.errors import UsageError
from phpdyno.model.runs.connector import CEILING, ConnectorRow, Engine, Packer, Through

KIND = "connectors"
"""What such a file says in `kind`."""

Positive = Annotated[float, Meta(gt=0)]


class Ours(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ours as a file names it."""

    connector: str
    engine: Engine = "sync"
    in_flight: Annotated[int, Meta(ge=1, le=MOST_IN_FLIGHT)] = 1
    packer: Packer = "pure"
    processes: Annotated[int, Meta(ge=1, le=MOST_PROCESSES)] = 1

    def row(self, through: Through) -> ConnectorRow:
        """The row, over a transport."""
        return ConnectorRow(self.connector, self.engine, self.in_flight, through, self.packer, self.processes)


class Report(Struct, frozen=True, forbid_unknown_fields=True):
    """One report of the reference: its name there, operations per second, what failed, how many
    iterations were thrown away; the row of ours that stands beside it and what differs, or why
    there is none (`skipped`)."""

    report: str
    title: str
    ours: Ours | None = None
    skipped: str = ""
    differs: str = ""
    rejected: Annotated[int, Meta(ge=0)] = 0
    per_s: dict[str, Positive] = field(default_factory=dict)
    failed: str = ""


class More(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of ours that the reference has nothing like."""

    title: str
    ours: Ours


class LabReference(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody else's figures: who measured them, and how."""

    source: str
    setup: dict[str, str] = field(default_factory=dict)


class ConnectorStudy(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole study. `control` is the row beside which all others are measured."""

    kind: str
    title: str
    control: Ours
    operations: Annotated[tuple[str, ...], Meta(min_length=1)]
    row: Annotated[tuple[Report, ...], Meta(min_length=1)]
    reference: LabReference
    about: str = ""
    over: Through = "tcp"
    more: tuple[More, ...] = ()

    @property
    def rows(self) -> tuple[ConnectorRow, ...]:
        """All rows to be measured, each once, the control first and the server's ceiling last."""
        named = [self.control, *(each.ours for each in self.row if each.ours is not None), *(each.ours for each in self.more)]
        return (*dict.fromkeys(each.row(self.over) for each in named), ConnectorRow(CEILING, "window", MOST_IN_FLIGHT, self.over))

    def published(self, row: str, operation: str) -> tuple[float, ...]:
        """What the reference gives for a row of ours, by name: operations per second, of each of
        its reports."""
        mine = (each.per_s for each in self.row if each.ours is not None and each.ours.row(self.over).name == row)
        return tuple(per_s[operation] for per_s in mine if operation in per_s)


_KEYS = {
    "": ConnectorStudy.__struct_fields__,
    "control": Ours.__struct_fields__,
    "row": Report.__struct_fields__,
    "row.ours": Ours.__struct_fields__,
    "more": More.__struct_fields__,
    "more.ours": Ours.__struct_fields__,
    "reference": LabReference.__struct_fields__,
}


def load_connector_study(path: Path) -> ConnectorStudy:
    """Read and check a file. Raises UsageError naming the file and the key."""
    study = read_kind(path, KIND, ConnectorStudy, called="connectors", keys=_KEYS)
    _known(path, "operations", study.operations)
    _check(path, "control", study.control, study.over)
    for number, report in enumerate(study.row):
        key = f"row[{number}]"
        if (report.ours is None) == (report.skipped == ""):
            raise UsageError("a report has either a row of ours or the reason why not", where=f"{path}: {key}", next_step="ours or skipped")
        _known(path, f"{key}.per_s", report.per_s)
        if report.ours is not None:
            _check(path, f"{key}.ours", report.ours, study.over)
    for number, more in enumerate(study.more):
        _check(path, f"more[{number}].ours", more.ours, study.over)
    return study


def _known(path: Path, key: str, operations: Iterable[str]) -> None:
    for operation in operations:
        if operation not in KNOWN:
            raise UsageError(f"there is no operation {operation!r}", where=f"{path}: {key}", next_step=suggestion(operation, KNOWN))


def _check(path: Path, key: str, ours: Ours, through: Through) -> None:
    if ours.connector not in CLIENTS:
        what = f"there is no connector {ours.connector!r}"
        raise UsageError(what, where=f"{path}: {key}.connector", next_step=suggestion(ours.connector, list(CLIENTS)))
    if not can(ours.row(through)):
        raise UsageError("this client cannot be driven like this", where=f"{path}: {key}", next_step="see phpdyno connectors --help")
