"""The JSON of a comparison: the view itself, its schema, and the reference page made from the same
definitions."""

from typing import Any

import msgspec

from phpdyno.commands.compare.view.shape import SCHEMA, RunView
from phpdyno.report.document import reference_page


def document(view: RunView) -> dict[str, Any]:
    """The view as plain dictionaries, lists, strings, numbers and None; docs/reference/json.md
    explains each field."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(view))
    return plain


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the document, as committed at docs/reference/compare.schema.json."""
    schema = msgspec.json.schema(RunView)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **schema}


def reference() -> str:
    """The page docs/reference/json.md, from the descriptions of the fields."""
    said = [
        f"`phpdyno compare --json` and `phpdyno report RUN --json` print one document of the format `{SCHEMA}`. This page is made from",
        "the code, as is [compare.schema.json](compare.schema.json) for machines. Version 1 may gain fields; none changes its meaning",
        "or unit. Units are in the names: `_ms` milliseconds, `_s` seconds. Ratios are control cost / treatment cost, so above 1 the",
        "treatment is better, whichever the metric; a ratio is null until it has an interval.",
    ]
    return reference_page("The JSON of a comparison", said, RunView)
