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
