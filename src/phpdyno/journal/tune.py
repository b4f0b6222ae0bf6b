"""The record of a tune, `tune.json`: what was asked, what it is measured on, what was found so far.
Replaced whole, so never half written.

The comparisons of its stages lie below it, each in a folder of its own with a journal; all that is
found follows from those.
"""

from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from phpdyno.journal.reader import there
from phpdyno.journal.records import ExplainedArms, ReachedFor
from phpdyno.journal.replacing import read_record, replace_record
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.runs.tune import Found, TuneRequest

TUNE_FILE = "tune.json"
TUNE_SCHEMA = 1


class TunePart(Struct, frozen=True):
    """One comparison of the tune, in the folder of its name; `seconds` of the budget, blocks that
    were measured."""

    name: str
    seconds: float
    blocks: int


class TuneRecord(Struct, frozen=True):
    """All that is known of a tune. `app` and `app_version` are what was measured; `spent_s` of the
    budget is used up.

    `notes` say what of a running pool was not taken over, `based_on` are the SHA-256 of its
    configuration files by path. `memory_kib` was free at the beginning: it decides how arms are
    dealt to comparisons. `outcome` is how the last session ended, '' while it goes on. `reached` is
    what the control was seen to reach for before anything was measured, None where nobody looked.
    `explained` is what was found beside the control, inside; None where that was not asked for, or
    not yet done.
    """

    schema: int
    phpdyno: str
    started: str
    argv: tuple[str, ...]
    asked: TuneRequest
    app: str
    app_version: str
    control: Arm
    host: HostFacts
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[TunePart, ...] = ()
    found: Found = Found()
    spent_s: float = 0.0
    outcome: Literal["", "finished", "interrupted", "failed"] = ""
    detail: str = ""
    bundle: str = ""
    memory_kib: int = 0
    based_on: dict[str, str] = field(default_factory=dict)
    reached: ReachedFor | None = None
    explained: ExplainedArms | None = None


def write_tune(run: Path, record: TuneRecord) -> None:
    """Replace `tune.json`; it is on disk when this returns. Raises DynoError when the disk takes no
    more."""
    replace_record(run / TUNE_FILE, record)


def read_tune(run: Path) -> TuneRecord:
    """The record of a tune's directory. Raises UsageError when there is none, DynoError when it is
    damaged or newer than this version."""
    path = there(run / TUNE_FILE if run.is_dir() else run, run, what="tune", like="runs/<time>-tune-<app>")
    return read_record(path, TuneRecord, what="tune", schema=TUNE_SCHEMA)
