"""How a session of measuring ends: the last line of its journal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from phpdyno.errors import DynoError, Interrupted
from phpdyno.journal.reader import read_journal
from phpdyno.journal.records import Ended, Planned
from phpdyno.journal.writer import JournalWriter

Outcome = Literal["finished", "interrupted", "failed"]


@contextmanager
def ending(journal: JournalWriter, run: Path, command: str = "compare") -> Iterator[None]:
    """The journal's last line of this session says how it ended, whatever happens (SIGKILL and a
    full disk excepted).

    `command` is the one whose --resume takes the run.
    """
    start = time.monotonic()
    with last_line(journal, lambda outcome, detail: Ended(outcome, detail, time.monotonic() - start)):
        try:
            yield
        except KeyboardInterrupt:
            if any(isinstance(record, Planned) for record in read_journal(journal.path)):
                raise Interrupted(str(run), command) from None
            raise


@contextmanager
def last_line(journal: JournalWriter, told: Callable[[Outcome, str], Struct]) -> Iterator[None]:
    """Append what is `told` of the outcome and its reason, whatever happens."""
    outcome: Outcome = "failed"
    detail = ""
    try:
        yield
        outcome = "finished"
    except KeyboardInterrupt:
        outcome = "interrupted"
        raise
    except BaseException as error:
        detail = str(error)
        raise
    finally:
        try:
            journal.append(told(outcome, detail))
        except DynoError:
            # Where even this cannot be written (a full disk), the fault that is under way says so.
            if outcome == "finished":
                raise
