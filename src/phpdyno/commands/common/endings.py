"""How a command of several comparisons ends."""

from pathlib import Path

from rich.console import Console

from phpdyno.commands.common.live import print_line


def ended(outcome: str, command: str, run: Path, console: Console) -> int:
    """The exit code: 0 for a run that is finished, else 1, after a line that says how to go on."""
    if outcome == "finished":
        return 0
    print_line(console, f"phpdyno: not finished; go on with: phpdyno {command} --resume {run}")
    return 1
