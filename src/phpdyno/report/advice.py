"""What an app reached for, as lines for people: how often, what, and the next step. Pure.

The words are those of a run that has no network, and files of its own.
"""

import posixpath
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from phpdyno.errors import one_line
from phpdyno.model.inside.reach import Connection, Deed, Missed, Outcome, Program, Reached, Write
from phpdyno.model.plan import Unit
from phpdyno.model.services.kinds import SERVICE_KINDS, Kind
from phpdyno.report.known_services import kind_of

MOST_FILES = 3
"""Files of one directory that are named; where there are more (names that are drawn anew each time)
the directory is."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
SYSLOG = frozenset({"/dev/log"})
ENDS: dict[Outcome, str] = {"in progress": "no answer", "timed out": "no answer", "connected": "sent"}
ABSENT = frozenset({"ENOENT", "ENOTDIR"})
DEEDS: dict[Deed, str] = {
    "written": "opened for writing",
    "made": "made",
    "removed": "removed",
    "renamed": "renamed",
    "changed": "given other rights, owner or times",
}


class WatchedCount(Struct, frozen=True):
    """How many requests of an app, or operations of a script, were watched."""

    count: int
    unit: Unit = "request"


class ReachAdvice(Struct, frozen=True):
    """One thing that the app reached for."""

    calls: int
    often: str
    what: str
    next_step: str
    snippet: str = ""
    """Lines of TOML that give the app the service, '' where no kind of ours is one."""
    missing: str = ""
    """The server that the app wanted an answer of and got none; '' where it was something else."""

    @property
    def line(self) -> str:
        """All of it in one line."""
        return f"{self.often} {self.what}: {self.next_step}"


def advise(reached: Reached, *, given: Collection[str] = (), unit: Unit = "request") -> tuple[ReachAdvice, ...]:
    """What to tell, most frequent first. `given`: peers that the run has itself (HOST:PORT, or the
    path of a socket), which are left out. `unit`: what was watched; a script's operations have no
    app.toml that could give it services.

    A peer that answered at least once is left out as well: the app has what it reached for.
    """
    names: Counter[str] | None = Counter() if unit == "request" else None
    watched = WatchedCount(reached.requests, unit)
    found = [
        *_peers(reached.connections, watched, frozenset(given), names),
        *_lookups(reached, watched),
        *_programs(reached.programs, watched, names),
        *_writes(reached.writes, watched),
        *_missed(reached.missed, watched),
    ]
    return tuple(sorted(found, key=lambda each: -each.calls))


def often(calls: int, watched: WatchedCount) -> str:
    """`once a request`, `3 x a request`, else `12 x`."""
    if not watched.count or calls % watched.count:
        return f"{calls} x"
    each = f"a{'n' if watched.unit == 'operation' else ''} {watched.unit}"
    return f"once {each}" if calls == watched.count else f"{calls // watched.count} x {each}"


def service_snippet(kind: Kind, at: str, names: Counter[str]) -> str:
    """`[service.NAME]` with its kind and, where it has one, its place; `names` counts the names
    that are taken."""
    name = SERVICE_KINDS[kind].table
    names[name] += 1
    number = names[name] if names[name] > 1 else ""
    place = [f"at = {_quoted(at)}"] if at else []
    return "\n".join([f"[service.{name}{number}]", f'kind = "{kind}"', *place])


# ---- the network --------------------------------------------------------------------------------


def _peers(rows: Sequence[Connection], watched: WatchedCount, given: frozenset[str], names: Counter[str] | None) -> Iterable[ReachAdvice]:
    groups: defaultdict[tuple[str, bool], list[Connection]] = defaultdict(list)
    for row in rows:
        groups[_same_peer(row), row.protocol == "udp"].append(row)
    counted = []
    for (_, udp), group in groups.items():
        places = {_at(row) for row in group}
        works = not udp and any(row.outcome == "connected" for row in group)
        if not works and given.isdisjoint(places):
            # Both kinds of address are tried one after the other for one connection that is wanted.
            families: Counter[str] = Counter()
            for row in group:
                families[row.family] += row.calls
            first = min(group, key=lambda row: (row.family, row.host))
            counted.append((max(families.values()), first, _outcome(group)))
    for calls, row, outcome in sorted(counted, key=lambda each: (-each[0], _at(each[1]), each[1].protocol)):
        yield _peer(row, outcome, calls, watched, names)


def _peer(row: Connection, outcome: str, calls: int, watched: WatchedCount, names: Counter[str] | None) -> ReachAdvice:
    at = _at(row)
    kind = None if row.protocol == "udp" else kind_of(row.port, row.path)
    what = f"{one_line(at)}{' (udp)' if row.protocol == 'udp' else ''}, {outcome}"
    missing = "" if row.protocol == "udp" or row.path in SYSLOG else one_line(at)
    if kind and names is not None:
        snippet = service_snippet(kind, at, names)
        return ReachAdvice(calls, often(calls, watched), what, f"{_inline(snippet)} gives it one", snippet, missing)
    if row.path in SYSLOG:
        step = "what is written to the system's log is dropped in this run"
    elif row.path:
        step = "no server listens there in this run, and `--allow-network` takes HOST:PORT only"
    elif row.protocol == "udp":
        step = "nobody reads it in this run"
    else:
        step = f"`--allow-network {one_line(at)}` lets it through, for this run"
    return ReachAdvice(calls, often(calls, watched), what, step, missing=missing)


def _same_peer(row: Connection) -> str:
    """What peers are told apart by: the two addresses of loopback are one."""
    return row.path or f"{'loopback' if row.host in LOOPBACK else row.host}:{row.port}"


def _at(row: Connection) -> str:
    """HOST:PORT, or the path of the socket."""
    host = f"[{row.host}]" if ":" in row.host else row.host
    return row.path or f"{host}:{row.port}"


def _outcome(group: Sequence[Connection]) -> str:
    """How most of the attempts ended."""
    ends: Counter[str] = Counter()
    for row in group:
        ends["no answer" if row.outcome in ("in progress", "timed out") else "sent" if row.outcome == "connected" else row.outcome] += (
            row.calls
        )
    return min(ends, key=lambda end: (-ends[end], end))


def _lookups(reached: Reached, watched: WatchedCount) -> Iterable[ReachAdvice]:
    for row in reached.lookups:
        if not row.resolved:
            name = one_line(row.name)
            step = f"`--allow-network {name}:PORT` lets it through, for this run"
            yield ReachAdvice(row.calls, often(row.calls, watched), f"{name} was looked up, and no address found", step, missing=name)
    if reached.no_name_server:
        step = "a resolv.conf that names a server on loopback shows them, whether one answers or not"
        yield ReachAdvice(0, "at times", "names were looked up that are not known, since no name server can be reached", step)


# ---- programs -----------------------------------------------------------------------------------


def _programs(rows: Sequence[Program], watched: WatchedCount, names: Counter[str] | None) -> Iterable[ReachAdvice]:
    mails = sum(row.calls for row in rows if row.mail)
    if mails:
        snippet = service_snippet("smtp-sink", "", names) if names is not None else ""
        step = f"{_inline(snippet)} counts what is sent, and nothing leaves the machine" if snippet else "nothing leaves the machine"
        yield ReachAdvice(mails, often(mails, watched), "mail() handed a message to sendmail", step, snippet)
    for row in rows:
        if not row.mail:
            step = (
                f"it could not be executed ({row.error})"
                if row.error
                else "it runs as the app does, without network and with private files"
            )
            yield ReachAdvice(row.calls, often(row.calls, watched), f"the program `{one_line(row.name)}`", step)


# ---- files --------------------------------------------------------------------------------------


def _writes(rows: Sequence[Write], watched: WatchedCount) -> Iterable[ReachAdvice]:
    folders: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        folders[posixpath.dirname(row.path)].add(row.path)
    groups: defaultdict[tuple[str, str], Counter[Deed]] = defaultdict(Counter)
    for row in rows:
        folder = posixpath.dirname(row.path)
        many = len(folders[folder]) > MOST_FILES
        where = f"{len(folders[folder])} files in {folder}" if many else row.path
        groups[where, row.error][row.deed] += row.calls
    found = []
    for (where, error), deeds in groups.items():
        what = f"{one_line(where)}, {_listed([DEEDS[deed] for deed in DEEDS if deed in deeds])}"
        calls = max(deeds.values())
        found.append(ReachAdvice(calls, often(calls, watched), what, _of_write(error)))
    return sorted(found, key=lambda each: (-each.calls, each.what, each.next_step))


def _missed(rows: Sequence[Missed], watched: WatchedCount) -> Iterable[ReachAdvice]:
    for row in rows:
        what = f"{one_line(row.path)}, which this host has and the copy has not"
        step = f"`also = [{_quoted(row.path)}]` in an app.toml takes it along; without it the app may answer otherwise"
        yield ReachAdvice(row.calls, often(row.calls, watched), what, step)


def _of_write(error: str) -> str:
    if not error:
        return "it went to a private copy, which is gone after the run; nothing of yours was touched"
    if error in ABSENT:
        return f"there is no such directory in this run ({error}); a directory below the app's own tree can be written to"
    return f"it was refused ({error}); a directory below the app's own tree can be written to"


# ---- text ---------------------------------------------------------------------------------------


def _inline(snippet: str) -> str:
    """A snippet within a sentence."""
    head, *rest = snippet.splitlines()
    first, *others = rest
    return ", ".join(f"`{each}`" for each in (f"{head} {first}", *others))


def _listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([each for each in (", ".join(words[:-1]), words[-1]) if each])


def _quoted(value: str) -> str:
    shown = one_line(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'
