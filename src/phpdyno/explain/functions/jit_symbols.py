"""Names of the code that PHP's JIT makes: it tells them in a file for perf, which perf itself does
not find.

The file is named by the process that opened it: php-fpm's master, for all its workers, by the
number that it has in its own PID namespace; perf looks for the worker's, as the host counts. So it
is read here.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.host.files.plain import read_plain
from phpdyno.model.arm import Arm
from phpdyno.servers.supervision.supervisor import Supervisor

DEBUG = "ini.opcache.jit_debug"
PERF_MAP = "16"
"""ZEND_JIT_DEBUG_PERF: /tmp/perf-PID.map."""
HELPER = "a helper of the JIT"
_LINE = re.compile(r"([0-9a-f]+) ([0-9a-f]+) (.+)$")
_TRACE = re.compile(r"TRACE-\d+\$(.+?)(?:\$\d+)?$")
_FUNCTION = re.compile(r"JIT\$(?!\$)(.+)$")


def told_to_perf(arm: Arm, supervisor: Supervisor) -> Arm:
    """An arm whose JIT, where it has one, tells the names of its code; unchanged without a bottle:
    the host's /tmp would keep them."""
    if supervisor.no_bottle:
        return arm
    return structs.replace(arm, settings={**arm.settings, DEBUG: PERF_MAP})


class JitMap:
    """What lies where in the JIT's buffer."""

    def __init__(self, text: str = "") -> None:
        """`text` as perf's maps are: start and length in hexadecimal, and a name. Of code that lies
        where other code lay, the newest."""
        found: dict[int, tuple[int, str]] = {}
        for line in text.splitlines():
            match = _LINE.match(line)
            if match:
                start = int(match[1], 16)
                found[start] = (start + int(match[2], 16), php_name(match[3]))
        self._starts = sorted(found)
        self._ends = [found[start] for start in self._starts]

    def name(self, address: int) -> str:
        """The PHP function that an address is in, HELPER for what belongs to none; '' where nothing
        is known of it."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return ""
        end, name = self._ends[place]
        return name if address < end else ""


def php_name(symbol: str) -> str:
    """`WP_Hook::apply_filters` of `TRACE-53$WP_Hook::apply_filters$299` and of
    `JIT$WP_Hook::apply_filters`."""
    match = _TRACE.match(symbol) or _FUNCTION.match(symbol)
    return match[1] if match else HELPER


def read_jit_map(pids: Sequence[int]) -> JitMap:
    """What the masters of these workers, or they themselves, wrote for perf in the bottle; empty
    where there is nothing to read."""
    texts: dict[Path, str] = {}
    for pid in pids:
        for number in _own_numbers(pid):
            path = Path(f"/proc/{pid}/root/tmp/perf-{number}.map")
            try:
                texts[path] = read_plain(path).decode(errors="replace")
            except OSError:
                continue
    return JitMap("\n".join(texts.values()))


def _own_numbers(pid: int) -> Iterator[int]:
    """Numbers of a process and of its parent in the PID namespace that each is in."""
    told = _status(pid)
    parent = told.get("PPid", "0")
    for status in (told, _status(int(parent))):
        yield from (int(number) for number in status.get("NSpid", "").split()[-1:])


def _status(pid: int) -> dict[str, str]:
    try:
        lines: Iterable[str] = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
