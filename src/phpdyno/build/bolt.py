"""BOLT: a program's functions and blocks laid out anew by what really ran. No branch records in a VM, so the program counts by itself."""

import re
from pathlib import Path

from msgspec import Struct

from phpdyno.errors import DynoError
from phpdyno.host.checkup.check import install
from phpdyno.stack.programs import version_key
from phpdyno.stack.supervise import Supervisor

HOMES = Path("/usr/lib")
PACKAGES = ("bolt-19", "libbolt-19-dev")
LEFT_ALONE = ("execute_ex", "execute_ex.*")
"""The interpreter jumps to computed addresses, which BOLT 19 cannot move (`unable to get new address corresponding to input address`)."""
SKIP = f"--skip-funcs={','.join(LEFT_ALONE)}"
LAYOUT = ("-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions", "-split-all-cold", "-icf=1", "-dyno-stats")
MOST_S = 1800.0
_STAT = re.compile(r"^\s*(\d+)\s*:\s*([a-z][a-z ()-]*[a-z)])(?:\s*\(([-+=][\d.]*)%?\))?\s*$", re.MULTILINE)
_SKIPPED = re.compile(r"BOLT-(?:WARNING|ERROR|INFO):.*?(?:skipping|ignoring|failed).*?function (\S+)", re.IGNORECASE)


class DynoStat(Struct, frozen=True):
    """One figure that BOLT counts over the profile, before and after, e.g. `taken branches`."""

    name: str
    before: int
    after: int


class Moved(Struct, frozen=True):
    """A binary that was laid out anew: what it counts, and functions that were left alone, by name."""

    binary: Path
    stats: tuple[DynoStat, ...]
    skipped: tuple[str, ...]


class Bolt:
    """BOLT's programs of one installation. Raises DynoError with the line that installs them where there is none."""

    def __init__(self, supervisor: Supervisor, homes: Path = HOMES) -> None:
        found = sorted(homes.glob("llvm-*/bin/llvm-bolt"), key=lambda path: version_key(str(path)))
        # /usr/bin/llvm-bolt-19 looks for its runtime in a folder that is not there.
        usable = [path for path in found if any(path.parent.parent.glob("lib/libbolt_rt_instr.a"))]
        if not usable:
            what = "BOLT is not installed" if not found else "BOLT's runtime is not installed"
            raise DynoError(what, next_step=f"install it with: {install(*PACKAGES)}, or leave `bolt` out of the recipe")
        self._program = usable[-1]
        self._supervisor = supervisor

    def instrument(self, binary: Path, made: Path, profile: Path) -> None:
        """A binary that counts, and writes what it counted to `profile`.PID.fdata when it ends. Raises DynoError."""
        self._run(
            "instrument",
            [
                str(self._program),
                str(binary),
                "-o",
                str(made),
                "-instrument",
                f"-instrumentation-file={profile}",
                "-instrumentation-file-append-pid",
                SKIP,
            ],
        )

    def merge(self, profiles: list[Path], into: Path) -> None:
        """Several processes' profiles as one. Raises DynoError where there is none."""
        if not profiles:
            raise DynoError("training left no profile for BOLT", next_step="the workers must end by themselves, and may write there")
        self._run("merge", [str(self._program.with_name("merge-fdata")), "-o", str(into), *map(str, profiles)])

    def optimise(self, binary: Path, profile: Path, made: Path) -> Moved:
        """The binary laid out by a profile. Raises DynoError."""
        said = self._run("optimise", [str(self._program), str(binary), "-o", str(made), f"-data={profile}", *LAYOUT, SKIP])
        return Moved(made, stats_in(said), skipped_in(said))

    def _run(self, what: str, argv: list[str]) -> str:
        child = self._supervisor.run(f"build-bolt-{what}", argv, as_service=False, timeout_s=MOST_S)
        if child.status != 0:
            raise DynoError(f"BOLT ({what}) failed: {child.tail(2)}", where=argv[1], next_step=f"see {child.log}")
        return child.said()


def stats_in(said: str) -> tuple[DynoStat, ...]:
    """The dyno stats that BOLT prints: all figures of the original program, then those of the new one with their change."""
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for number, name, change in _STAT.findall(said):
        (after if change else before).setdefault(name.strip(), int(number))
    return tuple(DynoStat(name, count, after[name]) for name, count in before.items() if name in after)


def skipped_in(said: str) -> tuple[str, ...]:
    """Functions that BOLT left alone, each once."""
    return tuple(dict.fromkeys(_SKIPPED.findall(said)))
