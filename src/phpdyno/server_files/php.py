"""php.ini fragment and php-fpm configuration of an arm."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from phpdyno.config.ini_syntax import bare_word, is_literal, is_plain, is_quoted_keyword
from phpdyno.errors import UsageError
from phpdyno.model.arm import Arm

POOL_DEFAULTS = {"pm": "static", "pm.max_children": "1", "listen.backlog": "511"}
"""One worker: CPU per request is measured one request at a time, and every further worker only
cools the caches."""

SPARES = ("pm.start_servers", "pm.min_spare_servers", "pm.max_spare_servers")

QUIT_S = 60
"""How long php-fpm waits for workers that it has asked to quit. (SIGTERM, by which servers are
stopped, ends them at once.)"""

STATUS_PATH = "/.phpdyno/status"
"""Where php-fpm's status page is, when it is asked for; nginx hands it nothing of that name."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:")


def most_workers(arm: Arm) -> int:
    """How many workers an arm's pool may have; 1 for an arm without a pool."""
    return int(arm.layer("pool").get("pm.max_children", POOL_DEFAULTS["pm.max_children"]))


def workers_at_start(pool: Mapping[str, str]) -> int:
    """How many workers php-fpm starts a pool of these settings with, which it has not refused."""
    values = pool_values(pool)
    if values["pm"] == "ondemand":
        return 0
    return int(values["pm.start_servers" if values["pm"] == "dynamic" else "pm.max_children"])


def ini_value(value: str, *, as_text: bool = False) -> str:
    """A value as php.ini takes it: bare where that is unambiguous, else (and `as_text`) quoted.

    Bare matters: a quoted "on" is the text, a bare one is 1, and a bare word in capitals may be a
    constant. Single quotes take everything literally; double ones would expand ${NAME} and serve
    only for a value that holds a single quote.
    """
    if is_quoted_keyword(value):
        return value
    if value and set(value) <= _PLAIN and not as_text and not bare_word(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_written(text: str) -> str:
    """A value in php.ini's own syntax as an ini file takes it: for PHP's parser to read, whichever
    PHP that is. Only a text that it could not read is put into quotes."""
    return ini_value(text) if not text or (is_literal(text) and not is_plain(text)) else text


def render_ini(
    settings: Mapping[str, str], extension_dir: str | None = None, loading: Sequence[str] = (), texts: Container[str] = ()
) -> str:
    """The fragment that is scanned after the distribution's own, so that it wins; `loading` are
    lines that load extensions, in order.

    `texts` names settings whose value is no keyword, whatever it looks like.
    """
    values = {**({"extension_dir": extension_dir} if extension_dir else {}), **settings}
    lines = [f"{name} = {ini_value(value, as_text=name in texts)}" for name, value in sorted(values.items())]
    return "".join(f"{line}\n" for line in (*loading, *lines))


def render_fpm(listen: str, pool: Mapping[str, str], texts: Container[str] = (), *, status: str | None = None) -> str:
    """php-fpm.conf with one pool that listens at `listen` (a path, or ADDRESS:PORT); `pool`
    overrides the defaults.

    `texts` names php.ini settings of the pool whose value is no keyword, whatever it looks like.
    `status` asks for the status page: at a socket of its own (PHP 8.0), or at the pool's when it is
    ''.
    """
    page = {} if status is None else {"pm.status_path": STATUS_PATH, **({"pm.status_listen": status} if status else {})}
    values = {**pool_values(pool), **page}
    # A php.ini setting of the pool is any text; the pool's own are words and numbers.
    lines = [
        f"{name} = {ini_value(value, as_text=name in texts) if name.startswith('php_') else value}"
        for name, value in sorted(values.items())
    ]
    return "\n".join(
        [
            "[global]",
            "error_log = /proc/self/fd/2",
            "daemonize = no",
            # Workers that are asked to quit are waited for; without it php-fpm ends them at once,
            # and what they count dies with them.
            f"process_control_timeout = {QUIT_S}",
            "[phpdyno]",
            f"listen = {listen}",
            "clear_env = no",
            "catch_workers_output = yes",
            *lines,
            "",
        ]
    )


def without_unfit_spares(pool: Mapping[str, str], named: Container[str]) -> dict[str, str]:
    """A dynamic pool's settings without the numbers of spare workers that are more than it may
    have, but those that are `named`.

    They belong together (php-fpm: min_spare ≤ start ≤ max_spare ≤ max_children), so with one all of
    them go.
    """
    most = int(pool.get("pm.max_children", POOL_DEFAULTS["pm.max_children"]))
    too_many = any(int(pool[name]) > most for name in SPARES if name in pool and name not in named)
    return {name: value for name, value in pool.items() if not (too_many and name in SPARES and name not in named)}


def pool_values(pool: Mapping[str, str]) -> dict[str, str]:
    """A pool's settings over our defaults, with spare numbers where it is dynamic. Raises
    UsageError."""
    values = {**POOL_DEFAULTS, **pool}
    if values["pm"] == "dynamic":
        add_spares(values)
    return values


def add_spares(values: dict[str, str]) -> None:
    """Debian's own spare numbers where the arm names none: php-fpm refuses a dynamic pool without
    them. Raises UsageError."""
    try:
        most = int(values["pm.max_children"])
    except ValueError as error:
        raise UsageError("pool.pm.max_children is no number", next_step="give one: pool.pm.max_children=5") from error
    values.setdefault("pm.start_servers", str(min(2, most)))
    values.setdefault("pm.min_spare_servers", "1")
    values.setdefault("pm.max_spare_servers", str(min(3, most)))


def scan_path(fragment: Path, distribution: str | None = None) -> str:
    """PHP_INI_SCAN_DIR: the compiled-in directory (an empty entry), or another one, and then
    ours."""
    return f"{distribution or ''}:{fragment}"
