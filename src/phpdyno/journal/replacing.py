"""A file that is replaced whole, so that no reader ever finds half of it."""

import os
from pathlib import Path

from phpdyno.journal.writer import cannot_write


def replace_file(path: Path, data: bytes) -> None:
    """It is on disk when this returns. Raises DynoError when the disk takes no more."""
    temporary = path.with_suffix(".new")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
