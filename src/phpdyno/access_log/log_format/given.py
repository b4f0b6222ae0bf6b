"""A format as typed, or one that a server's configuration names, as a LinePattern."""

import re
from pathlib import Path

from phpdyno.access_log.log_format.apache import KNOWN, apache_pattern
from phpdyno.access_log.log_format.configuration import format_of_configuration
from phpdyno.access_log.log_format.nginx import nginx_pattern
from phpdyno.access_log.log_format.pattern import LinePattern, require_parts
from phpdyno.errors import UsageError

OPTION = "--log-format"
_VARIABLE = re.compile(r"\$\{?[a-z_]{2,}")
_DIRECTIVE = re.compile(r"%[!,0-9<>]*(?:\{[^}]*\})?\^?[A-Za-z]")


def pattern_of(text: str, *, log: Path) -> LinePattern:
    """The pattern of what was given: a log_format of nginx, a LogFormat of Apache, or
    `@FILE[:NAME]`, where FILE is their configuration. Raises UsageError."""
    where = OPTION
    if text.startswith("@"):
        where = f"{OPTION} {text}"
        text = format_of_configuration(text[1:], log=log, where=where)
    variables, directives = len(_VARIABLE.findall(text)), len(_DIRECTIVE.findall(text))
    if not variables and not directives and text.strip() not in KNOWN:
        what = f"{_short(text)} is neither a log_format of nginx ($request …) nor a LogFormat of Apache (%r …)"
        raise UsageError(
            what, where=where, next_step="copy it out of the server's configuration, or give @FILE:NAME, e.g. @/etc/nginx/nginx.conf:main"
        )
    pattern = nginx_pattern(text) if variables >= directives and text.strip() not in KNOWN else apache_pattern(text)
    require_parts(pattern, where=where)
    return pattern


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
