"""Functions in which a pool's workers spend their CPU time, sampled by perf's software clock, which
every VM has."""

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from phpdyno.errors import DynoError
from phpdyno.explain.functions.jit_symbols import JitMap, read_jit_map
from phpdyno.explain.tracing.attached import attached
from phpdyno.model.inside.hot import HotFunction, HotPass
from phpdyno.servers.programs.finding import find_program, told
from phpdyno.servers.supervision.child import Child
from phpdyno.servers.supervision.supervisor import Supervisor

RATE_HZ = 1999
"""Samples per second of CPU; no divisor of anything that ticks."""
ATTACH_S = 10.0
MOST_FUNCTIONS = 25
KERNEL = "kernel"
JIT = "compiled at run time"
"""Code without a file: that of PHP's JIT and of PCRE's."""
UNKNOWN = "?"
NOTABLE = 0.005
NAMELESS = "some code that was compiled at run time has no names: PCRE's never has, PHP's where opcache.jit_debug=16 is set in the bottle"
_PARTS = re.compile(r"(?:\.(?:part|constprop|isra|cold|lto_priv|localalias|warm)(?:\.\d+)*|\.\d+|/\d+|@plt)+$")
_ROW = re.compile(r"^\s*(\d+)\s*\|\s*(.+?)\s*\|\s*\[(.)\]\s*(.+?)\s*$")
_ADDRESS = re.compile(r"0x([0-9a-f]+)")
NO_MAP = JitMap()
Samples = dict[tuple[str, str], int]
"""Samples by file and function."""


class CannotSample(DynoError):  # noqa: N818 (it names the finding: this host does not let us look)
    """Functions cannot be sampled here: perf is missing or forbidden. Whatever else was asked for
    goes on."""


class Sampled(Struct):
    """Filled when the sampling ends. `note` says what could not be named."""

    samples: Samples = field(default_factory=dict)
    note: str = ""


def find_perf() -> str:
    """Path of perf. Raises CannotSample with the line that installs it."""
    try:
        return find_program("perf")
    except DynoError as error:
        raise CannotSample(error.what, next_step=error.next_step) from error


@contextlib.contextmanager
def sampling(supervisor: Supervisor, name: str, pids: Sequence[int]) -> Iterator[Sampled]:
    """Sample processes while the block lasts; the result is filled when it ends. Raises
    CannotSample."""
    folder = supervisor.live / "perf"
    folder.mkdir(mode=0o700, exist_ok=True)
    data = folder / f"{name}.data"
    argv = [
        find_perf(),
        "record",
        "-e",
        "cpu-clock",
        "-F",
        str(RATE_HZ),
        "--no-buildid-cache",
        "-o",
        str(data),
        "-p",
        ",".join(map(str, pids)),
    ]
    found = Sampled()
    with attached(supervisor, f"perf-{name}", argv, lambda child: _await_attached(child, data)):
        yield found
    argv = [find_perf(), "report", "-i", str(data), "--stdio", "--no-children", "-F", "sample,dso,symbol", "-t", "|", "-q"]
    answer = told(argv)
    found.samples = samples_in(answer.stdout.decode(errors="replace"), read_jit_map(pids))
    nameless = found.samples.get((JIT, UNKNOWN), 0)
    if nameless > NOTABLE * sum(found.samples.values()):
        found.note = NAMELESS
    if not found.samples:
        raise CannotSample(f"perf found nothing: {(answer.stderr.decode(errors='replace').strip().splitlines() or ['no output'])[-1]}")


def _await_attached(child: Child, data: Path) -> None:
    """perf says nothing when it begins; its file then has a header. Raises CannotSample."""
    deadline = time.monotonic() + ATTACH_S
    while not (data.is_file() and data.stat().st_size):
        if not child.alive():
            raise CannotSample(f"perf {child.ended_how()}: {child.tail()}", next_step="run as root")
        if time.monotonic() > deadline:
            raise CannotSample(f"perf did not begin within {ATTACH_S:.0f} s: {child.tail()}")
        time.sleep(0.02)


def samples_in(report: str, jit: JitMap = NO_MAP) -> Samples:
    """The rows of `perf report -F sample,dso,symbol -t '|'`, parts of one function together; `jit`
    has names for code without a file."""
    found: Samples = {}
    for line in report.splitlines():
        row = _ROW.match(line)
        if row is None:
            continue
        count, place, kind, name = int(row[1]), row[2], row[3], row[4]
        file = KERNEL if kind == "k" else JIT if place.startswith("[JIT]") else place.rpartition("/")[2].strip("[]")
        key = file, _in_jit(name, jit) if file == JIT else function_of(name)
        found[key] = found.get(key, 0) + count
    return found


def _in_jit(symbol: str, jit: JitMap) -> str:
    address = _ADDRESS.fullmatch(symbol)
    return (jit.name(int(address[1], 16)) if address else "") or function_of(symbol)


def function_of(symbol: str) -> str:
    """`zend_hash_find` of `zend_hash_find.part.0.cold`; `?` for an address without a symbol."""
    name = _PARTS.sub("", symbol)
    return UNKNOWN if name.startswith("0x") or not name else name


def hot_pass(
    names: tuple[str, str], samples: tuple[Samples, Samples], cpu_us: tuple[float, float], requests: int, programs: Mapping[str, str]
) -> HotPass:
    """Both arms' samples as microseconds per request, by their CPU per request. `programs` gives
    files one name in both arms. Pure.

    Raises ValueError where an arm has no samples.
    """
    totals = [sum(each.values()) for each in samples]
    if not all(totals):
        raise ValueError("an arm has no samples")
    shares: list[dict[tuple[str, str], float]] = []
    for each, total, cost in zip(samples, totals, cpu_us, strict=True):
        mine: dict[tuple[str, str], float] = {}
        for (file, name), count in each.items():
            key = programs.get(file, file), name
            mine[key] = mine.get(key, 0.0) + cost * count / total
        shares.append(mine)
    functions = _beside(*shares)
    places = _beside(*({(file, ""): sum(cost for (mine, _), cost in each.items() if mine == file) for file, _ in each} for each in shares))
    return HotPass(*names, requests, sum(totals), functions[:MOST_FUNCTIONS], places)


def _beside(before: Mapping[tuple[str, str], float], after: Mapping[tuple[str, str], float]) -> tuple[HotFunction, ...]:
    keys = dict.fromkeys((*before, *after))
    rows = [HotFunction(name, file, before.get((file, name), 0.0), after.get((file, name), 0.0)) for file, name in keys]
    return tuple(sorted(rows, key=lambda each: -max(each.before_us, each.after_us)))
