"""Log formats out of a server's configuration: log_format of nginx, LogFormat of Apache."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from phpdyno.access_log.log_format.apache import KNOWN
from phpdyno.errors import UsageError

_COMBINED = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
_APACHE = re.compile(r"""^[ \t]*LogFormat[ \t]+("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')[ \t]+(\S+)[ \t]*$""", re.MULTILINE | re.IGNORECASE)
_ROTATED = re.compile(r"(?:[.-][0-9]{1,10})?(?:\.gz)?\Z")
_ESCAPED = re.compile(r"""\\(["'\\])""")
_MOST_BYTES = 4 << 20


def format_of_configuration(given: str, *, log: Path, where: str) -> str:
    """The format that `FILE:NAME` or `FILE` names; without a name it is that of the access_log
    which is this log, or the only one. Raises UsageError."""
    path, name = _split(given)
    if not path.is_file():
        raise UsageError(
            "there is no such file", where=where, next_step="name the server's main configuration, e.g. @/etc/nginx/nginx.conf:main"
        )
    apache = _apache_formats(path, where)
    if apache:
        formats, used = apache, list[tuple[str, str]]()
    else:
        formats, used = _nginx_formats(path, where)
    chosen = name or _chosen(formats, used, log, where)
    if chosen not in formats:
        close = get_close_matches(chosen, formats, 1)
        near = f"did you mean {close[0]}?" if close else "it has " + (", ".join(sorted(formats)) or "none")
        raise UsageError(f"no format there is called {chosen!r}", where=where, next_step=near)
    return formats[chosen]


def _split(given: str) -> tuple[Path, str]:
    path, colon, name = given.rpartition(":")
    return (Path(path).expanduser(), name) if colon and "/" not in name else (Path(given).expanduser(), "")


def _chosen(formats: dict[str, str], used: list[tuple[str, str]], log: Path, where: str) -> str:
    """The format that access_log has for this file, or its name before it was rotated."""
    plain = _ROTATED.sub("", str(log))
    names = list(dict.fromkeys(name for path, name in used if path in {str(log), plain}))
    if not names:
        names = list(dict.fromkeys(name for path, name in used if Path(path).name == Path(plain).name))
    own = [name for name in formats if name not in {*KNOWN}]
    candidates = names or own or (["combined"] if list(formats) == ["combined"] else [])
    if len(candidates) == 1:
        return candidates[0]
    what = f"it has {len(candidates)} formats, and none is named" if candidates else "it defines no log format"
    raise UsageError(
        what, where=where, next_step=f"add :NAME, one of {', '.join(sorted(candidates or formats)) or 'those of another file'}"
    )


def _apache_formats(path: Path, where: str) -> dict[str, str]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=where) from error
    found = {name: f"LogFormat {quoted} {name}" for quoted, name in _APACHE.findall(text.replace("\\\n", ""))}
    return {**KNOWN, **found} if found else {}


def _nginx_formats(path: Path, where: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Formats by their names, and which file each access_log writes in which of them."""
    import crossplane  # noqa: PLC0415 (only where a configuration is named)

    try:
        payload = crossplane.parse(str(path), catch_errors=True, comments=False)
    except (OSError, crossplane.errors.NgxParserBaseException, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", where=where) from error
    formats = {"combined": _COMBINED}
    used: list[tuple[str, str]] = []
    for directive in _directives([each for file in payload["config"] for each in file["parsed"]]):
        args: list[str] = directive["args"]
        if directive["directive"] == "log_format" and len(args) >= 2:
            formats[args[0]] = "".join(_ESCAPED.sub(r"\1", piece) for piece in args[1:] if not piece.startswith("escape="))
        elif directive["directive"] == "access_log" and args and args[0] != "off":
            used.append((args[0], args[1] if len(args) > 1 and "=" not in args[1] else "combined"))
    faults = [f"{file['file']}: {fault['error']}" for file in payload["config"] for fault in file["errors"]]
    if len(formats) == 1 and faults:
        raise UsageError(
            f"it cannot be read whole: {faults[0]}", where=where, next_step="mend it (nginx -t says more), or copy the log_format itself"
        )
    return formats, used


def _directives(block: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for directive in block:
        yield directive
        yield from _directives(directive.get("block") or [])
