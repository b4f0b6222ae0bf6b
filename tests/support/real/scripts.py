"""Command-line scripts for tests of `--script`."""

from pathlib import Path

SPIN = """<?php
$turns = (int) (getenv('SPIN') ?: 20000);
return function () use ($turns): string {
    for ($sum = 0, $i = 0; $i < $turns; $i++) { $sum += $i % 7; }
    return str_repeat('x', 500);
};
"""


def script(tmp_path: Path, text: str, name: str = "bench.php") -> Path:
    """A script in a directory of its own."""
    folder = tmp_path / "script"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name
