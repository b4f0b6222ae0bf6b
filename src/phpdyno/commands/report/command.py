"""`phpdyno report`: whatever lies in a directory, shown again."""

from collections.abc import Callable, Mapping
from pathlib import Path

from phpdyno.commands.common.show import form_of
from phpdyno.commands.compare.show import report
from phpdyno.commands.explain.show import report_explained
from phpdyno.commands.ladder.show import report_ladder
from phpdyno.commands.matrix.show import report_matrix
from phpdyno.commands.measure.show import report_sweep
from phpdyno.commands.size.show import report_size
from phpdyno.commands.tune.show import report_tune
from phpdyno.journal.explained import EXPLAIN_FILE
from phpdyno.journal.ladder import LADDER_FILE
from phpdyno.journal.matrix import MATRIX_FILE
from phpdyno.journal.reader import FILE, begun_in
from phpdyno.journal.sweep import SWEEP_FILE
from phpdyno.journal.tune import TUNE_FILE

SIZE_FILE = "size.jsonl"
"""As `commands/size/record.py` calls it, which loads slowly."""

_SHOWN_BY: Mapping[str, Callable[..., object]] = {
    TUNE_FILE: report_tune,
    LADDER_FILE: report_ladder,
    MATRIX_FILE: report_matrix,
    SIZE_FILE: report_size,
    EXPLAIN_FILE: report_explained,
    SWEEP_FILE: report_sweep,
}
"""The record of a run, by which its kind is known; a run with none of them is a comparison."""


def report_any(run: Path, *, json: bool = False, verbose: bool = False) -> None:
    """Show whatever lies there: a sweep, a tune, a ladder, a matrix or an explanation by its own
    record, anything else by its journal."""
    form = form_of(json=json, verbose=verbose)
    for name, shown in _SHOWN_BY.items():
        if run.name == name or (run / name).is_file():
            shown(run, form=form)
            return
    # The folder of a part of a larger run holds the part's own.
    part = begun_in(run) if run.is_dir() and not (run / FILE).is_file() else None
    report(part or run, form=form)
