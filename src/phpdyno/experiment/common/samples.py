"""Every request and every slot of a block, kept in one compressed numpy file beside the journal."""

from pathlib import Path
from typing import Any

import numpy as np

from phpdyno.experiment.common.slot import SlotReading
from phpdyno.experiment.comparison.block import BlockReading
from phpdyno.journal.unbroken import unbroken
from phpdyno.journal.writer import cannot_write


def save_samples(run: Path, block: int, reading: BlockReading, treatments: tuple[str, ...]) -> str:
    """Write samples/block-NNNN.npz and give its name relative to the run. Raises DynoError when the
    disk is full.

    Slot columns (one row per slot): treatment (index into `treatments`), pair, treated (0 control,
    1 treatment), first (1 when the slot came first in its pair), php_ns, web_ns, database_ns,
    host_ns, wall_ns. Request columns: slot (row), target, sent_ns, first_byte_ns, done_ns
    (CLOCK_MONOTONIC), status, body_bytes, outcome.
    """
    slots: list[tuple[int, ...]] = []
    readings: list[SlotReading] = []
    for number, entry in enumerate(reading.pairs):
        index = treatments.index(entry.pair.treatment)
        for treated, slot in ((0, entry.control), (1, entry.treated)):
            first = int(entry.pair.control_first != bool(treated))
            slots.append((index, number, treated, first, slot.php_ns, slot.web_ns, slot.database_ns, slot.host_ns, slot.wall_ns))
            readings.append(slot)
    names = ("treatment", "pair", "treated", "first", "php_ns", "web_ns", "database_ns", "host_ns", "wall_ns")
    table = np.asarray(slots, dtype=np.int64).reshape(len(slots), len(names))
    columns: dict[str, Any] = {f"slot_{name}": table[:, position] for position, name in enumerate(names)}
    requests: dict[str, Any] = {
        name: np.concatenate([getattr(slot.samples, name) for slot in readings]) if readings else np.zeros(0)
        for name in ("target", "sent_ns", "first_byte_ns", "done_ns", "status", "body_bytes", "outcome")
    }
    rows = np.repeat(np.arange(len(readings)), [slot.samples.target.size for slot in readings])
    relative = f"samples/block-{block:04d}.npz"
    path = run / relative
    try:
        path.parent.mkdir(exist_ok=True)
        with unbroken():
            np.savez_compressed(path, treatments=np.asarray(treatments), slot=rows, **columns, **requests)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    return relative
