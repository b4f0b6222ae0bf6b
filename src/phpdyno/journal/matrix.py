"""The record of a matrix, `matrix.json`: its apps, its builds, which comparisons are done. Replaced
whole, so never half written."""

from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from phpdyno.journal.reader import there
from phpdyno.journal.replacing import read_record, replace_record
from phpdyno.journal.study import Provenance
from phpdyno.model.build import Build

MATRIX_FILE = "matrix.json"
MATRIX_SCHEMA = 1


class MatrixApp(Struct, frozen=True):
    """One app: what it is opened by, its name, and the folder below the run's in which its
    comparison lies."""

    reference: str
    name: str
    state: Literal["open", "done", "failed"] = "open"
    detail: str = ""


class MatrixRecord(Struct, frozen=True):
    """`plain` is the name of the build without a profile that all others are held against;
    `profiles` are builds by their profile's name.

    `builds` are by their own names. `budget_s` is that of one app; `confidence` holds for the whole
    matrix. `ground` is what the finished comparisons were measured on. `network` are the peers that
    the command line let through.
    """

    schema: int
    phpdyno: str
    started: str
    argv: tuple[str, ...]
    apps: tuple[MatrixApp, ...]
    plain: str
    profiles: dict[str, str]
    builds: dict[str, Build]
    budget_s: float
    margin: float
    confidence: float
    seed: int
    notes: tuple[str, ...] = ()
    ground: Provenance | None = None
    network: tuple[str, ...] = ()

    def with_app(self, app: MatrixApp) -> "MatrixRecord":
        """The record after the comparison of an app has ended."""
        return structs.replace(self, apps=tuple(app if each.name == app.name else each for each in self.apps))


def write_matrix(run: Path, record: MatrixRecord) -> None:
    """It is on disk when this returns. Raises DynoError when the disk takes no more."""
    replace_record(run / MATRIX_FILE, record)


def read_matrix(run: Path) -> MatrixRecord:
    """Raises UsageError when there is none, DynoError when it is damaged or newer than this
    version."""
    path = there(run / MATRIX_FILE if run.is_dir() else run, run, what="matrix", like="runs/<time>-matrix-<apps>")
    return read_record(path, MatrixRecord, what="matrix", schema=MATRIX_SCHEMA)
