"""The record of a ladder, `ladder.json`: its steps and the builds that they run. What was measured
is in the journal beside it."""

from pathlib import Path

from msgspec import Struct, field

from phpdyno.journal.reader import there
from phpdyno.journal.replacing import read_record, replace_record
from phpdyno.model.build import Build
from phpdyno.model.inside.hot import HotPass
from phpdyno.model.runs.ladder import LadderStep

LADDER_FILE = "ladder.json"
LADDER_SCHEMA = 1
KNOBS = "knobs"


class LadderRecord(Struct, frozen=True):
    """`builds` by their names; `notes` say what was to be told of them. `confidence` holds for both
    comparisons together.

    `knobs` are the steps on top of the best build, known once the builds are measured; they have
    `knob_budget_s` seconds (0: not wanted) and a comparison of their own, below the folder KNOBS.
    `hot` is where the time goes without and with them, looked at once everything is measured;
    `not_hot` says why it is not known."""

    schema: int
    steps: tuple[LadderStep, ...]
    builds: dict[str, Build] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    confidence: float = 0.95
    knob_budget_s: float = 0.0
    knobs: tuple[LadderStep, ...] = ()
    hot: HotPass | None = None
    not_hot: str = ""


def write_ladder(run: Path, record: LadderRecord) -> None:
    """It is on disk when this returns. Raises DynoError when the disk takes no more."""
    replace_record(run / LADDER_FILE, record)


def read_ladder(run: Path) -> LadderRecord:
    """Raises UsageError when there is none, DynoError when it is damaged or newer than this
    version."""
    path = there(run / LADDER_FILE, run, what="ladder", like="runs/<time>-ladder-<app>")
    return read_record(path, LadderRecord, what="ladder", schema=LADDER_SCHEMA)
