"""Says which field a log line with named fields lacks to be a request."""

from phpdyno.access_log.forms import names
from phpdyno.access_log.forms.named import NamedLine


def lacking(line: NamedLine) -> str:
    """What a line with names has no name for."""
    parts = (
        ("method", (*names.METHOD, *names.REQUEST)),
        ("target", (*names.TARGET, *names.PATH, *names.REQUEST)),
        ("status", names.STATUS),
    )
    missing = [
        what for what, keys in parts if not any(line.values.get(key) not in {None, "", "-"} for key in keys if _plain_value(line, key))
    ]
    held = ", ".join(list(line.layout.shown.values())[:12])
    return f"no {' or '.join(missing)} among its names: {held}" if missing else ""


def _plain_value(line: NamedLine, key: str) -> bool:
    return isinstance(line.values.get(key), str | int | float)
