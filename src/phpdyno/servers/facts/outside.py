"""PHP's words about a file that it does not find, for those who know the app by its own paths and
not by those of a run."""

import os
import re
from pathlib import Path

from phpdyno.model.app import PreparedApp

_NOT_OPENED = re.compile(
    r"[Ff]ailed opening (?:required )?'(?P<included>[^']+)'"
    r"|\((?P<opened>[^()\s]+)\): [Ff]ailed to open (?:stream|dir(?:ectory)?): No such file"
)


def in_own_paths(text: str, app: PreparedApp) -> str:
    """What a server said, with the original's paths in the place of our copy's, and where a file is
    missed that was not copied, with that and what to write."""
    if app.original is None:
        return text
    said = text.replace(str(app.copy), str(app.original))
    found = _NOT_OPENED.search(said)
    if found is None:
        return said
    docroot = app.original / app.copied_docroot.relative_to(app.copy)
    place = Path(os.path.normpath(docroot / (found["included"] or found["opened"])))
    if not place.exists():
        return said
    if place.is_relative_to(app.original):
        inside = str(place.relative_to(app.original))
        out = next((each for each in app.left_out if inside == each or inside.startswith(f"{each}/")), "")
        return f"{said}: {place} exists, but exclude leaves {out} out" if out else said
    above = Path(os.path.commonpath([app.original, place]))
    if above == Path("/"):
        return f"{said}: {place} exists, but lies outside what is copied ({app.original})"
    up = os.path.relpath(above, app.original)
    return f'{said}: {place} exists, but lies outside what is copied ({app.original}); an app.toml there with root = "{up}" takes it along'
