"""The record of a study, `study.json`: the study as it began, and which of its parts are done.
Replaced whole, so never half written."""

from pathlib import Path
from typing import Literal

from msgspec import Struct, field, structs

from phpdyno.journal.reader import there
from phpdyno.journal.replacing import read_record, replace_record
from phpdyno.model.build import Build
from phpdyno.model.runs.study import Study, SyscallCounts

STUDY_FILE = "study.json"
STUDY_SCHEMA = 1

PartState = Literal["open", "done", "failed", "impossible"]
"""`failed`: a fault ended it, `--resume` tries again. `impossible`: this host forbids it, and the
study is whole without it."""


class StudyPart(Struct, frozen=True):
    """One comparison, sweep or syscall pass; `detail` says why it is not done, `app_version` on
    what it was measured.

    The run of a comparison or a sweep lies in the directory of its name.
    """

    name: str
    kind: Literal["comparison", "sweep", "syscalls"]
    state: PartState = "open"
    detail: str = ""
    app_version: str = ""


class Provenance(Struct, frozen=True):
    """What the finished parts were measured on: a digest of the code that measures, the host and
    the servers by what they are."""

    code: str
    host: dict[str, str]
    servers: dict[str, str]


class StudyRecord(Struct, frozen=True):
    """What is known of a study so far; `scale` is the share of the study file's budgets that it was
    given.

    `file` is the study file, as it is named when the study is repeated: relative, or only its name.
    `builds` are those that it made, by their names in the study. `network` are the peers that the
    command line let through.
    """

    schema: int
    phpdyno: str
    started: str
    argv: tuple[str, ...]
    study: Study
    scale: float
    parts: tuple[StudyPart, ...]
    counts: tuple[SyscallCounts, ...] = ()
    file: str = ""
    ground: Provenance | None = None
    builds: dict[str, Build] = field(default_factory=dict)
    network: tuple[str, ...] = ()

    def with_part(self, part: StudyPart, counts: tuple[SyscallCounts, ...] = ()) -> "StudyRecord":
        """The record after a part has ended; new counts replace those of the same app and arm."""
        new = {(each.app, each.arm) for each in counts}
        kept = tuple(each for each in self.counts if (each.app, each.arm) not in new)
        parts = tuple(part if each.name == part.name else each for each in self.parts)
        return structs.replace(self, parts=parts, counts=(*kept, *counts))


def write_study(run: Path, record: StudyRecord) -> None:
    """Replace `study.json`; it is on disk when this returns. Raises DynoError when the disk takes
    no more."""
    replace_record(run / STUDY_FILE, record)


def read_study(run: Path) -> StudyRecord:
    """The record of a study's directory. Raises UsageError when there is none, DynoError when it is
    damaged or newer than this version."""
    path = there(run / STUDY_FILE, run, what="study", like="runs/<time>-study-<name>")
    return read_record(path, StudyRecord, what="study", schema=STUDY_SCHEMA)
