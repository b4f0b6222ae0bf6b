"""The app that a command line names, with absolute paths."""

from pathlib import Path

from phpdyno.apps.registry import BUILT_IN
from phpdyno.config.values import absolute
from phpdyno.model.plan import AppSource

MOST_CONCURRENCY = 1000


def app_source(reference: str, docroot: Path | None, urls: tuple[str, ...], script: Path | None = None) -> AppSource:
    """The app or script that was named, with absolute paths. Raises UsageError for a home directory
    that is not known."""
    return AppSource(
        reference=absolute_reference(reference),
        docroot=str(docroot.absolute()) if docroot else "",
        urls=urls,
        script=str(absolute(Path(), str(script), where="--script")) if script else "",
    )


def absolute_reference(reference: str) -> str:
    """The path of an app.toml made absolute, so that the run can be resumed from anywhere; a
    built-in name stays."""
    return str(Path(reference).absolute()) if reference and Path(reference).exists() and reference not in BUILT_IN else reference
