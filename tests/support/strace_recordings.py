"""What strace 6.1 wrote of PHP 8.2: `tests/support/recorded`, with the lines left out that open a
file for reading.

`network.txt` and `files.txt` are a php-fpm worker that serves a page twice, `resolved.txt` two
scripts side by side with a name server that knows some names, `isolated.txt` a script in namespaces
of its own.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "recorded"


def recorded(name: str) -> list[str]:
    """The lines of a record."""
    return (FOLDER / f"{name}.txt").read_text().splitlines(keepends=True)
