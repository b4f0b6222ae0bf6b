"""Pieces of a Markdown page. Text from outside stays on its line, and is no HTML."""

from collections.abc import Iterable, Sequence

from phpdyno.report.words import visible


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table, the first `left` columns to the left and numbers to the right."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def listed(head: str, lines: Sequence[tuple[str, str]]) -> list[str]:
    """A line and a list below it, each entry a name and what is said of it; nothing where there is
    no entry."""
    return [head, "\n".join(f"- {plain(f'`{name}`: {said}')}" for name, said in lines)] if lines else []


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|")


def plain(text: str) -> str:
    """The text on one line, no HTML of somebody else's, and nothing that a terminal would obey."""
    return visible(" ".join(text.split())).replace("<", "&lt;")
