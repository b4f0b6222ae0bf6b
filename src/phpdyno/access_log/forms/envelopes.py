"""Takes away what syslog, containers and journals put in front of a log line, or around it."""

import re

_DAY = rb"(?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?: [0-9]{4})?)"
_MOMENT = rb"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]{5,20}(?:Z|[+-][0-9]{2}:?[0-9]{2}))"
_FRONT = re.compile(
    rb"(?:<[0-9]{1,3}>)?(?:"
    rb"1 " + _MOMENT + rb" \S+ \S+ \S+ \S+ (?:-|(?:\[[^\]]{0,1024}\])+) (?:\xef\xbb\xbf)?"  # RFC 5424
    rb"|(?:" + _DAY + rb"|" + _MOMENT + rb") (?:\S+ )?[^\s\[:\"]+(?:\[[^\]\s]{1,40}\])?: ?"  # RFC 3164, rsyslog's file
    rb"|" + _MOMENT + rb" std(?:out|err) [FP] "  # containers of Kubernetes
    rb"|[\w.-]*[_-][0-9]+ +\| "  # docker compose logs
    rb")"
)


def unwrapped(line: bytes) -> bytes:
    """The line without what a system's log put in front of it."""
    found = _FRONT.match(line)
    return line[found.end() :] if found else line
