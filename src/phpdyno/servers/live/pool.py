"""The operator's own running pools: which there are, which one is meant, and what one is as
settings of an arm."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from phpdyno.config.fpm_conf import GLOBAL, ConfEntry, Variables, levels_of, read_fpm_conf
from phpdyno.config.nearest import suggestion
from phpdyno.config.spec import LIVE
from phpdyno.errors import DynoError, UsageError
from phpdyno.servers.live.masters import LiveMaster, live_masters
from phpdyno.servers.live.taken_over import Taken, options_of, take_command_line, take_entries
from phpdyno.servers.programs.php import fpm_prefix, fpm_version

VARIABLES_WITH_DEFAULTS = (8, 3)


class LivePool(Struct, frozen=True):
    """A running pool as an arm's settings. `left_out` names what was not taken over, with the
    reason; `notes` are in words.

    `secrets` are the values behind the markers `live:POOL` in `settings`, by full setting name: for
    a starting instance only. `master` is the php-fpm that it belongs to, `files` the configuration
    files that were read for it, `opened_in` the one that opens its section. `address` is where it
    listens as the load core takes it, '' for a relative path; `user` is its workers' account, ''
    where it names none.
    """

    selector: str
    settings: dict[str, str]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    secrets: dict[str, str] = field(default_factory=dict)
    master: LiveMaster | None = None
    files: tuple[Path, ...] = ()
    section: str = ""
    opened_in: Path | None = None
    address: str = ""
    user: str = ""

    def in_words(self) -> tuple[str, ...]:
        """Every note, what was left out first, one line for each reason."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            reasons.setdefault(reason, []).append(name)
        return (
            *(f"not taken over from the pool {self.selector}: {', '.join(names)} ({why})" for why, names in reasons.items()),
            *self.notes,
        )


def import_pool(selector: str) -> LivePool:
    """The pool that `selector` names: its section, PROGRAM/SECTION or PID/SECTION; '' for the only
    one. Nothing is touched.

    Raises UsageError (no such pool, more than one) and DynoError (none runs, not readable), each
    with what to do.
    """
    pools, refused = _pools()
    fitting = [pool for pool in pools if selector in {"", *pool.names}]
    if not fitting and refused:
        raise refused[0]
    if not pools:
        raise DynoError("no php-fpm runs here", where="live", next_step="start it, or give its settings by hand (ini.NAME=…;pool.pm=…)")
    if len(fitting) == 1:
        return _imported(fitting[0], _selector(fitting[0], pools))
    known = ", ".join(_selector(pool, pools) for pool in (fitting or pools))
    if fitting:
        what = f"more than one pool runs: {known}" if not selector else f"more than one pool is called {selector}: {known}"
        raise UsageError(what, where=f"live:{selector}" if selector else "live", next_step=f"name one, as in live:{known.split(', ')[0]}")
    near = suggestion(selector, [_selector(pool, pools) for pool in pools])
    raise UsageError("no such pool runs", where=f"live:{selector}", next_step=near or f"running: {known}")


def secrets_behind(marker: str) -> dict[str, str]:
    """The values that `live:POOL` stands for now, by full setting name. Raises as `import_pool`
    does."""
    return import_pool(marker.removeprefix(LIVE)).secrets


class _Pool(Struct, frozen=True):
    master: LiveMaster
    section: str
    entries: list[ConfEntry]

    @property
    def names(self) -> tuple[str, str, str]:
        """All that it may be called, the shortest first."""
        return self.section, f"{Path(self.master.exe).name}/{self.section}", f"{self.master.pid}/{self.section}"


def _pools() -> tuple[list[_Pool], list[DynoError]]:
    """Every pool that can be read, and why others cannot."""
    masters = live_masters()
    found: list[_Pool] = []
    refused = list(masters.refused)
    for master in masters.found:
        try:
            found += _pools_of(master)
        except DynoError as error:
            refused.append(error)
    return found, refused


def _pools_of(master: LiveMaster) -> Iterator[_Pool]:
    prefix = [value for letter, value in options_of(master.argv or ()) if letter == "p"]
    sections = read_fpm_conf(master.config, prefix=Path(prefix[-1]) if prefix else fpm_prefix(master.exe), variables=_variables(master))
    for name, entries in sections.items():
        if name != GLOBAL:
            yield _Pool(master, name, [_expanded(entry, name) for entry in entries])


def _variables(master: LiveMaster) -> Variables:
    """What a php-fpm's own files may name."""
    version = fpm_version(master.exe)
    return Variables(master.env, version >= VARIABLES_WITH_DEFAULTS, levels_of(version))


def _expanded(entry: ConfEntry, pool: str) -> ConfEntry:
    return ConfEntry(entry.key, entry.index, entry.value.replace("$pool", pool), entry.where)


def _selector(pool: _Pool, pools: Sequence[_Pool]) -> str:
    """The shortest name that no other pool has."""
    return next((name for name in pool.names if sum(name in other.names for other in pools) == 1), pool.names[-1])


def _imported(pool: _Pool, selector: str) -> LivePool:
    taken = Taken(selector)
    master = pool.master
    variables = _variables(master)
    taken.settings["php"] = master.exe
    take_command_line(taken, master, variables)
    take_entries(taken, pool.entries, master)
    files = dict.fromkeys([master.config, *(Path(entry.where.rpartition(":")[0]) for entry in pool.entries)])
    return LivePool(
        selector=selector,
        settings=taken.settings,
        left_out=taken.left_out,
        notes=tuple(taken.notes),
        secrets=taken.secrets,
        master=master,
        files=tuple(files),
        section=pool.section,
        opened_in=next((Path(entry.where.rpartition(":")[0]) for entry in pool.entries if entry.key == "listen"), None),
        address=_address(_last(pool.entries, "listen")),
        user=_last(pool.entries, "user"),
    )


def _last(entries: Sequence[ConfEntry], key: str) -> str:
    """What a directive is: of two lines for it php-fpm heeds the last one."""
    return next((entry.value for entry in reversed(entries) if entry.key == key), "")


def _address(listen: str) -> str:
    """`unix:/path` or `tcp:HOST:PORT`; a pool that listens everywhere is found on loopback."""
    if listen.startswith("/"):
        return f"unix:{listen}"
    host, _, port = listen.rpartition(":")
    if not port.isdecimal():
        return ""
    return f"tcp:{'127.0.0.1' if host in {'', '*', '0.0.0.0', '[::]'} else host}:{port}"  # noqa: S104 (what is compared, not bound)
