"""The report as JSON, for `--json`: the view itself, its schema, and reference pages of all
documents made from the same definitions."""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct


def text(view: Struct) -> str:
    """A document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(view), indent=2).decode()


def reference_page(title: str, said: Sequence[str], whole: type[Struct]) -> str:
    """A page of all fields of a document: the whole first, then its parts in the order in which
    they are first mentioned."""
    parts = msgspec.json.schema(whole)["$defs"]
    lines = [f"# {title}", "", *said, ""]
    for name in _reachable(whole.__name__, parts):
        lines += _section("The document" if name == whole.__name__ else f"`{name}`", parts[name])
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, part: dict[str, Any]) -> list[str]:
    rows = [f"| `{field}` | {_kind(spec)} | {_cell(spec.get('description', ''))} |" for field, spec in part["properties"].items()]
    about = inspect.cleandoc(part.get("description", ""))
    return [f"## {title}", "", about, "", "| field | type | meaning |", "|---|---|---|", *rows, ""]


def _kind(spec: dict[str, Any]) -> str:
    """A field's type in words, with links to the parts."""
    if "$ref" in spec:
        name = spec["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in spec:
        return " or ".join(_kind(each) for each in spec["anyOf"])
    if "enum" in spec:
        return " or ".join(f'`"{word}"`' for word in sorted(spec["enum"]))
    if spec.get("type") == "array":
        several = spec.get("prefixItems")
        return f"list of {len(several)}: {', '.join(map(_kind, several))}" if several else f"list of {_kind(spec['items'])}"
    if spec.get("type") == "object":
        return f"map of {_kind(spec['additionalProperties'])}"
    return str(spec["type"])


def _reachable(start: str, parts: dict[str, Any]) -> list[str]:
    found = [start]
    for name in found:
        found += [each for each in dict.fromkeys(_references(parts[name])) if each not in found]
    return found


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield str(value["$ref"]).rsplit("/", 1)[-1]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
