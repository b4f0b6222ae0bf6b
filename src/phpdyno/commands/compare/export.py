"""The verdicts of a comparison as CSV and as a Markdown table."""

import csv as csv_format
import io
from collections.abc import Iterator
from pathlib import Path

from phpdyno.commands.compare.answer import verdict_words, words_of
from phpdyno.commands.compare.view.shape import Row, RunView
from phpdyno.commands.compare.view.words import change, label, ordered
from phpdyno.errors import DynoError
from phpdyno.report.words import metric_words, visible

COLUMNS = ("treatment", "metric", "verdict", "relevance", "ratio", "low", "high", "change", "confidence", "blocks", "reason")
"""Of the CSV: `ratio` with its ends is how many times better (as in the JSON), `change` what was
measured became more or less, as a fraction."""


def export(view: RunView, *, csv: Path | None, markdown: Path | None) -> None:
    """Write the files that are asked for. Raises DynoError, naming the one that cannot be
    written."""
    for path, text in ((csv, csv_text), (markdown, markdown_text)):
        if path is not None:
            try:
                path.write_text(text(view), encoding="utf-8")
            except OSError as error:
                what, step = f"cannot be written: {error.strerror or error}", "name a file in a directory that is there"
                raise DynoError(what, where=str(path), next_step=step) from error


def csv_text(view: RunView) -> str:
    """A line of heads and one for each treatment, as RFC 4180 has it but for the line ends."""
    written = io.StringIO()
    writer = csv_format.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row) for row in ordered(view.rows))
    return written.getvalue()


def _cells(row: Row) -> Iterator[object]:
    seen = change(row)
    yield from (visible(label(row)), row.metric, row.kind, row.relevance, row.ratio, row.low, row.high)
    yield from ("" if seen is None else seen.value, row.confidence, row.blocks, visible(row.reason))


def markdown_text(view: RunView) -> str:
    """A table as code forges show it."""
    lines = ["| treatment | metric | change | verdict |", "| --- | --- | --- | --- |"]
    for row in ordered(view.rows):
        cells = (f"`{label(row)}`", metric_words(row.metric, row.unit), words_of(row), verdict_words(row))
        lines.append("| " + " | ".join(visible(each).replace("|", "\\|") for each in cells) + " |")
    return "\n".join(lines) + "\n"
