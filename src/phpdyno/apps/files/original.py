"""Whether an app's own files were changed while it was measured."""

from pathlib import Path

from phpdyno.host.files.trees import statuses_below
from phpdyno.model.app import PreparedApp

FIRST = (".php", ".inc", ".phtml", ".env", ".ini")
"""Names of files that run end so: of those that changed they are named first."""


def change_of(app: PreparedApp) -> str:
    """Say what was written, made or removed in the app's original since it was prepared; '' where
    nothing was.

    What is left out of the app is not looked at. An entry has changed where its time of change
    (ctime), which nobody can set back, is later than the beginning of its preparation.
    """
    if app.original is None or not app.begun_ns:
        return ""
    found = changed_since(app.original, app.begun_ns, frozenset(app.left_out))
    if not found:
        return ""
    first = min(found, key=lambda path: (not path.endswith(FIRST), path))
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    seen = "the arms measured before and after may differ by that" if app.written else "measured was the state before"
    return f"{app.original / first}{more} changed meanwhile: {seen}"


def changed_since(top: Path, since_ns: int, without: frozenset[str]) -> list[str]:
    """Paths below a directory whose time of change is later; those of `without`, and what is in
    them, are left out."""
    return [path for path, status in statuses_below(top, without) if status.st_ctime_ns > since_ns]
