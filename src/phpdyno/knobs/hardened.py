"""Functions that a hardened php.ini disables and that phpdyno asks a worker with."""

ASKED = frozenset(
    (
        *("ini_get_all", "error_reporting", "getenv", "function_exists", "opcache_get_status", "getmypid", "get_loaded_extensions"),
        *("realpath_cache_size", "realpath_cache_get", "php_ini_loaded_file", "php_ini_scanned_files", "json_encode", "header"),
    )
)
"""What the probe cannot do without: these are enabled in every arm. Whatever else it calls it finds
a way around."""
SETTING = "disable_functions"


def without_asked(disabled: str) -> str:
    """A value of disable_functions without what phpdyno asks with; itself where nothing of that is
    in it."""
    names = [name.strip() for name in disabled.split(",")]
    kept = [name for name in names if name.lower() not in ASKED]
    return disabled if kept == names else ",".join(kept)


def asked_in(disabled: str) -> tuple[str, ...]:
    """Those of disable_functions that phpdyno asks with, in its order."""
    return tuple(name.strip() for name in disabled.split(",") if name.strip().lower() in ASKED)
