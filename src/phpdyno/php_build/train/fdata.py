"""BOLT's profiles of branches and calls as text: `1 FUNCTION OFFSET 1 FUNCTION OFFSET MISPREDICTED
COUNT`, a line for each (BOLT's DataReader.h)."""

from collections.abc import Iterator
from pathlib import Path

from phpdyno.php_build.train.bolt import BoltError


def profiles_of(name: str, folder: Path) -> tuple[Path, ...]:
    """What processes that ran a binary of this name have written, one file each."""
    return tuple(sorted(folder.glob(f"{name}.*.fdata")))


def counts_of(profile: Path) -> int:
    """Branches and calls that were counted."""
    return sum(count for _, count in _lines(profile))


def subtract(profile: Path, less: Path) -> None:
    """Take the counts of `less` off a profile; what is left with none goes.

    A count below that of `less` is none: how often a process looks for something to do is not the
    same twice. Raises BoltError where nothing is left.
    """
    taken = dict(_lines(less))
    left = [(what, count - taken.get(what, 0)) for what, count in _lines(profile)]
    kept = [b"%s %d\n" % (what, count) for what, count in left if count > 0]
    if not kept:
        raise BoltError("the training counted no more than a start does", where=profile.name, next_step="the app's targets must be served")
    profile.write_bytes(b"".join(kept))


def _lines(profile: Path) -> Iterator[tuple[bytes, int]]:
    """What was counted, and how often; other lines are passed over."""
    with profile.open("rb") as lines:
        for line in lines:
            what, _, count = line.strip().rpartition(b" ")
            if count.isdigit():
                yield what, int(count)
