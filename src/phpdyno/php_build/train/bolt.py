"""BOLT: a program's functions and blocks laid out anew by what really ran. No branch records in a
VM, so the program counts by itself."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.files.copies import take_file
from phpdyno.errors import DynoError
from phpdyno.host.checkup.check import install
from phpdyno.model.build import Counted, LaidOut
from phpdyno.servers.programs.finding import version_key
from phpdyno.servers.supervision.supervisor import Supervisor

HOMES = Path("/usr/lib")
PACKAGES = ("bolt-19", "libbolt-19-dev")
LEFT_ALONE = ("execute_ex", "execute_ex.*")
"""The interpreter jumps to computed addresses, which BOLT 19 cannot move (`unable to get new
address corresponding to input address`)."""
SKIP = f"--skip-funcs={','.join(LEFT_ALONE)}"
# Without -icf: it makes functions of one code one, and PHP tells handlers of objects apart by where
# they are.
LAYOUT = ("-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions", "-split-all-cold", "-icf=0", "-dyno-stats", SKIP)
SAYING = ("-v=1", "--no-threads")
"""It names what it could not read, and no two names run into each other."""
MOST_S = 1800.0
RESULTS = "laid-out"
"""The directory in the live directory that BOLT writes to."""
_STAT = re.compile(r"^\s*(\d+)\s*:\s*([a-z][a-z ()-]*[a-z)])(?:\s*\(([-+=][\d.]*)%?\))?\s*$", re.MULTILINE)
_NOT_READ = re.compile(r"^BOLT-WARNING: failed to post-process indirect branches for (\S+)$", re.MULTILINE)
_TO_SKIP = re.compile(r"^BOLT-ERROR: .*\bin function (\S+?)\.? Consider adding this function to --skip-funcs", re.MULTILINE)
MOST_SKIPPED = 16
"""Functions that BOLT itself asks to be left alone, before it is held to fail."""
_COPY = re.compile(r"/\d+(?:\(\*\d+\))?$")


class BoltError(DynoError):
    """BOLT fails, or is left without a profile: a build without it may still be one."""


class Moved(Struct, frozen=True):
    """A binary that was laid out anew, and what BOLT says of it."""

    binary: Path
    told: LaidOut


class Bolt:
    """BOLT's programs of one installation. Raises DynoError with the line that installs them where
    there is none."""

    def __init__(self, supervisor: Supervisor, homes: Path = HOMES) -> None:
        """It runs with the servers' rights: what it reads was compiled of somebody's source, and
        counted by an app's processes."""
        self._program = require_bolt(homes)
        self._supervisor = supervisor

    def instrument(self, binary: Path, made: Path, profile: Path) -> tuple[str, ...]:
        """A binary that counts, and writes what it counted to `profile`.PID.fdata when it ends;
        gives the functions that BOLT asked to be left alone. Raises BoltError."""
        counting = ["-instrument", f"-instrumentation-file={profile}", "-instrumentation-file-append-pid", SKIP]
        _, left = self._run("instrument", [str(self._program), str(binary), *counting], made, [binary])
        return left

    def merge(self, profiles: list[Path], into: Path) -> None:
        """Several processes' profiles as one, their counts summed. Raises BoltError where there is
        none."""
        if not profiles:
            raise BoltError("training left no profile for BOLT", next_step="the workers must end by themselves, and may write there")
        self._run("merge", [str(self._program.with_name("merge-fdata")), *map(str, profiles)], into, profiles)

    def optimise(self, binary: Path, profile: Path, made: Path) -> Moved:
        """The binary laid out by a profile. Raises BoltError."""
        argv = [str(self._program), str(binary), f"-data={profile}", *LAYOUT, *SAYING]
        said, left = self._run("optimise", argv, made, [binary, profile])
        return Moved(made, LaidOut(binary.name, counts_in(said), tuple(sorted({*not_read_in(said), *left}))))

    def _run(self, what: str, argv: list[str], made: Path, read: Sequence[Path]) -> tuple[str, tuple[str, ...]]:
        """Run it to its end: what it says then, and the functions that it asked to be left alone on
        the way; what it made of the files that it `read` is `made` then. Raises BoltError."""
        left: list[str] = []
        for each in read:
            self._supervisor.show(each.parent)
        result = self._supervisor.directory(RESULTS) / made.name
        while True:
            try:
                leaving = [_leaving(left)] if left else []
                child = self._supervisor.run(f"build-bolt-{what}", [*argv, "-o", str(result), *leaving], timeout_s=MOST_S)
                if child.status == 0:
                    take_file(result, made)
                    return child.said(), tuple(left)
            except DynoError as error:
                raise BoltError(error.what, where=error.where, next_step=error.next_step) from error
            name = to_skip_in(child.said())
            if not name or name in left or len(left) == MOST_SKIPPED:
                raise BoltError(f"BOLT ({what}) failed: {child.tail(2)}", where=argv[1], next_step=f"see {child.log}")
            left.append(name)


def _leaving(functions: Sequence[str]) -> str:
    """The option that leaves these alone; a local function's name has a number behind a stroke."""
    return f"--skip-funcs={','.join(f'{name}(/.*)?' for name in functions)}"


def require_bolt(homes: Path = HOMES) -> Path:
    """The program that lays out. Raises DynoError with the line that installs it where none is
    whole."""
    usable = _usable(homes)
    if not usable:
        what = "BOLT's runtime is not installed" if _installed(homes) else "BOLT is not installed"
        raise DynoError(what, next_step=f"install it with: {install(*PACKAGES)}, or leave `bolt` out of the recipe")
    return usable[-1]


def bolt_version(homes: Path = HOMES) -> str:
    """Which BOLT lays out: `llvm-19`, '' where none is whole."""
    usable = _usable(homes)
    return usable[-1].parent.parent.name if usable else ""


def _usable(homes: Path) -> list[Path]:
    """Programs that have their runtime, the newest last. (/usr/bin/llvm-bolt-19 looks for it in a
    folder that is not there.)"""
    return [path for path in _installed(homes) if any(path.parent.parent.glob("lib/libbolt_rt_instr.a"))]


def _installed(homes: Path) -> list[Path]:
    return sorted(homes.glob("llvm-*/bin/llvm-bolt"), key=lambda path: version_key(str(path)))


def counts_in(said: str) -> tuple[Counted, ...]:
    """The dyno stats that BOLT prints: all figures of the original program, then those of the new
    one with their change."""
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for number, name, change in _STAT.findall(said):
        (after if change else before).setdefault(name.strip(), int(number))
    return tuple(Counted(name, count, after[name]) for name, count in before.items() if name in after)


def to_skip_in(said: str) -> str:
    """The function for which BOLT gave up, and which it asks to be left alone; '' where it says
    none."""
    found = _TO_SKIP.search(said)
    return _COPY.sub("", found[1]) if found else ""


def not_read_in(said: str) -> tuple[str, ...]:
    """Functions that ran and that BOLT left as they were, because it took a call by a table for a
    jump table: by name, each once.

    `zend_mm_chunk_free.isra.0/1(*2)` is `zend_mm_chunk_free.isra.0`: which of several of that name
    does not matter here.
    """
    return tuple(sorted({_COPY.sub("", name) for name in _NOT_READ.findall(said)}))
