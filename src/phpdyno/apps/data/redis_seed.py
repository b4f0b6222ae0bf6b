"""Redis's dumps in the cache: a dump of its own, its log of commands, or commands as text, all kept
as one dump of the installed server."""

import re
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from phpdyno.apps.data.databases import DATADIR, dump_digest, unpacked
from phpdyno.apps.files.copies import copy_as
from phpdyno.apps.source import Progress
from phpdyno.apps.store import stored
from phpdyno.errors import DynoError
from phpdyno.model.services.service import Service
from phpdyno.servers.services import redis
from phpdyno.servers.services.addresses import Listen
from phpdyno.servers.services.running import RunningService, ServiceStart
from phpdyno.servers.supervision.supervisor import Supervisor

SAVING_S = 600.0
AT_ONCE = 500
_WORD = re.compile(rb"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\')*)'|([^\s"']+))(?=\s|$)""", re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def seeded(supervisor: Supervisor, service: Service, *, cache: Path, dump: Path, progress: Progress) -> Path:
    """A directory in the cache with `dump.rdb`, made from `dump` once for each of its contents.

    Keys whose time is up by now are not in it. Raises DynoError.
    """
    key = {"kind": "redis", "server": redis.version(), "dump": dump_digest(dump), "suffix": "".join(dump.suffixes[-2:])}

    def build(partial: Path) -> None:
        progress(f"loading {dump.name}")
        datadir = supervisor.directory("seed-redis")
        start = ServiceStart(Service(f"{service.name}-seed", "redis", ()), Listen(), datadir)
        with unpacked(supervisor, dump, what="dump") as plain:
            kind = _kind_of(plain, dump)
            if kind != "text":
                _give(supervisor, plain, datadir / (redis.DUMP if kind == "dump" else redis.LOG_OF_COMMANDS))
            with redis.started(supervisor, start, replaying=kind == "log") as server:
                if kind == "text":
                    _tell(server, plain, dump)
                _save(server, dump)
        (partial / DATADIR).mkdir(mode=0o700)
        copy_as(supervisor, datadir / redis.DUMP, partial / DATADIR / redis.DUMP)
        shutil.rmtree(datadir, ignore_errors=True)

    return stored(cache, "seed-redis", key, build, progress) / DATADIR


def words_of(line: bytes) -> list[bytes] | None:
    """The words of a command as redis-cli reads a line; None where its quotes do not end."""
    words, at, line = [], 0, line.strip()
    while at < len(line):
        match = _WORD.match(line, at)
        if match is None:
            return None
        double, single, plain = match.groups()
        if double is not None:
            words.append(_ESCAPE.sub(lambda each: bytes([int(each[1], 16)]) if each[1] else _ESCAPES.get(each[2], each[2]), double))
        else:
            words.append(single.replace(b"\\'", b"'") if single is not None else plain)
        at = match.end()
    return words


def _kind_of(plain: Path, dump: Path) -> str:
    """`dump` (RDB), `log` (AOF, with or without a dump before it), or `text`."""
    with plain.open("rb") as file:
        beginning = file.read(5)
    if ".aof" in dump.suffixes or beginning.startswith(b"*"):
        return "log"
    return "dump" if beginning == b"REDIS" else "text"


def _give(supervisor: Supervisor, plain: Path, place: Path) -> None:
    shutil.copyfile(plain, place)
    if supervisor.user.switch:
        shutil.chown(place, supervisor.user.uid, supervisor.user.gid)


def _commands(plain: Path, dump: Path) -> Iterator[tuple[int, bytes]]:
    """Each command with the number of its line. Raises DynoError."""
    with plain.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            words = words_of(line)
            if words is None:
                raise DynoError("a quote does not end, or stands in the middle of a word", where=f"{dump}: line {number}")
            if words and not words[0].startswith(b"#"):
                yield number, redis.command(*words)


def _tell(server: RunningService, plain: Path, dump: Path) -> None:
    """Give the commands to the server, and stop at the first that it refuses. Raises DynoError."""
    commands = _commands(plain, dump)
    try:
        with redis.signed_in(_socket(server), None) as stream:
            while batch := list(islice(commands, AT_ONCE)):
                stream.write(b"".join(command for _, command in batch))
                stream.flush()
                for number, _ in batch:
                    reply = redis.read_reply(stream)
                    if reply.startswith(b"-"):
                        what = f"Redis refuses this command: {reply[1:].decode(errors='replace').strip()}"
                        raise DynoError(what, where=f"{dump}: line {number}")
    except OSError as error:
        raise DynoError(f"Redis does not take the commands: {error}", where=str(dump)) from error


def _save(server: RunningService, dump: Path) -> None:
    """Write what it holds into its dump."""
    try:
        reply = redis.ask(_socket(server), None, b"SAVE", timeout_s=SAVING_S)
    except OSError as error:
        raise DynoError(f"Redis does not write its dump: {error}", where=str(dump)) from error
    if reply != b"+OK\r\n":
        raise DynoError(f"Redis does not write its dump: {reply.decode(errors='replace').strip()}", where=str(dump))


def _socket(server: RunningService) -> Path:
    if server.socket is None:
        raise DynoError("this Redis has no private socket")
    return server.socket
