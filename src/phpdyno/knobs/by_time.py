"""Settings that act after seconds of rest, or once in so many seconds: where one request follows
the other in blocks of seconds, what they do on a site does not show."""

from collections.abc import Mapping
from types import MappingProxyType

REVALIDATE, TIMESTAMPS = "ini.opcache.revalidate_freq", "ini.opcache.validate_timestamps"
_STALE = "files are looked at once in so many seconds: a busy loop hardly ever does, a quiet site each time"
_TTL = "what it keeps expires after so many seconds, which a block does not last"
_REST = "it acts on workers that rest, and in a busy loop none does"

BY_TIME: Mapping[str, str] = MappingProxyType(
    {
        REVALIDATE: _STALE,
        TIMESTAMPS: _STALE,
        "ini.opcache.file_update_protection": "it looks at the age of files that were just changed, and here none is",
        "ini.opcache.force_restart_timeout": _TTL,
        "ini.realpath_cache_ttl": _TTL,
        "ini.user_ini.cache_ttl": _TTL,
        "ini.apc.ttl": _TTL,
        "ini.apc.user_ttl": _TTL,
        "ini.apc.gc_ttl": _TTL,
        "ini.session.gc_maxlifetime": _TTL,
        "ini.session.cache_expire": "it is a header for browsers, and no browser asks here",
        "ini.mysqli.reconnect": _REST,
        "ini.default_socket_timeout": "it ends what waits for that long, and here nothing does",
        "ini.max_execution_time": "it ends what runs for that long, and here nothing does",
        "pool.pm.process_idle_timeout": _REST,
        "pool.request_terminate_timeout": "it ends what runs for that long, and here nothing does",
    }
)
"""What of a setting's effect a busy loop hides, by full name."""


def hidden_by_a_busy_loop(changed: Mapping[str, str], control_ini: Mapping[str, str]) -> dict[str, str]:
    """The changed settings whose effect on a site a busy loop hides, each with the reason.

    A period of 0 acts at every request, in the treatment as in its control, and shows.
    """
    found = {}
    for name, value in changed.items():
        period = control_ini.get((REVALIDATE if name == TIMESTAMPS else name).removeprefix("ini."), "")
        at_once = period == "0" or (value == "0" and name != TIMESTAMPS)
        if name in BY_TIME and not at_once:
            found[name] = BY_TIME[name]
    return found


def hidden_words(hidden: Mapping[str, str]) -> str:
    """`not judged under a busy loop: NAME acts by time`; '' for nothing."""
    if not hidden:
        return ""
    *names, last = hidden
    return (
        f"not judged under a busy loop: {', '.join(names)} and {last} act by time"
        if names
        else f"not judged under a busy loop: {last} acts by time"
    )
