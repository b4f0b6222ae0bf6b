"""Settings of a configuration file without comments and secrets, and how two such texts differ.
Pure."""

import difflib
import re

from phpdyno.knobs.secrets import HIDDEN, is_secret

_LINE = re.compile(r"(?P<key>[^=;]+?)\s*=\s*(?P<value>.*)")
_INDEXED = re.compile(r"\w+\[\s*(?P<name>[^\]]*?)\s*\]")
MOST_LINES = 60


def settings_of(text: str) -> str:
    """The lines that say something, `name = value`; variables of a pool and values that look like
    secrets are hidden.

    Comments behind a value stay: where one begins depends on the quotes before it.
    """
    found = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith((";", "#")):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            found.append(stripped if stripped.startswith("[") else HIDDEN)  # the rest of a text over several lines
            continue
        key, value = " ".join(match["key"].split()), match["value"]
        indexed = _INDEXED.fullmatch(key)
        name = indexed["name"] if indexed else key
        hide = key.startswith("env[") or is_secret(name, value.strip("\"'"))
        found.append(f"{key} = {HIDDEN if hide else value}")
    return "".join(f"{line}\n" for line in found)


def difference(before: str, now: str, name: str) -> str:
    """What changed, as a unified diff without context beyond a line; long ones are cut. '' when
    nothing did."""
    lines = list(difflib.unified_diff(before.splitlines(), now.splitlines(), f"{name} (then)", f"{name} (now)", lineterm="", n=1))
    cut = lines[:MOST_LINES] + ([f"… and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else [])
    return "\n".join(cut)
