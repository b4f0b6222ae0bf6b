import json
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from tools.reference import FOLDER, pages

from phpdyno.bundle.manifest import Manifest
from phpdyno.commands.compare.view.document import document, json_schema
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.commands.measure.view.shape import SweepView
from phpdyno.commands.selfcheck.view import ChecksView
from phpdyno.commands.study.view.shape import StudyView
from phpdyno.commands.tune.view import TuneView
from phpdyno.model.inside.explained import Explained
from phpdyno.report.document import text
from tests.support.made_up.journals import JIT, finished, opening, plan

PAGES = pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_reference_is_current(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "write it again with: python -m tools.reference"


ASKED_FOR = {"explained"}
"""Fields that are there only where an option asked for them."""


@pytest.mark.parametrize("whole", [Explained, RunView, StudyView, ChecksView, SweepView, TuneView, Manifest])
def test_every_field_is_described(whole: type[Struct]) -> None:
    for name, part in msgspec.json.schema(whole)["$defs"].items():
        assert part["description"], name
        for field, spec in part["properties"].items():
            assert spec.get("description"), f"{name}.{field}"


def test_the_document_is_plain_json_and_follows_its_schema() -> None:
    for records in (finished(), opening(plan(JIT))):
        made = document(view_of(records, "run"))
        assert made == json.loads(json.dumps(made, allow_nan=False))
        assert json.loads(text(view_of(records, "run"))) == made
        assert next(iter(made.items())) == ("schema", "phpdyno.compare/1")
        schema = json_schema()
        _check(made, {"$ref": schema["$ref"]}, schema["$defs"])


def test_no_ratio_without_an_interval() -> None:
    for row in document(view_of(finished(), "run"))["rows"]:
        assert (row["ratio"] is None) == (row["low"] is None) == (row["high"] is None)


def _check(value: Any, spec: dict[str, Any], parts: dict[str, Any]) -> None:
    """As much of JSON Schema as msgspec writes."""
    if "$ref" in spec:
        _check(value, parts[spec["$ref"].rsplit("/", 1)[-1]], parts)
    elif "anyOf" in spec:
        if value is not None:
            _check(value, next(each for each in spec["anyOf"] if each.get("type") != "null"), parts)
        else:
            assert {"type": "null"} in spec["anyOf"]
    elif "enum" in spec:
        assert value in spec["enum"]
    elif spec["type"] == "object" and "properties" in spec:
        assert list(value) == [field for field in spec["properties"] if field in value or field not in ASKED_FOR]
        for field, each in value.items():
            _check(each, spec["properties"][field], parts)
    elif spec["type"] == "array":
        for each in value:
            _check(each, spec["items"], parts)
    else:
        kinds: dict[str, Any] = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "object": dict}
        assert isinstance(value, kinds[spec["type"]])
