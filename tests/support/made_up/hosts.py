"""Made-up hosts: small files below a folder that stands for /, and readings of hosts that nobody
has."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from phpdyno.host.checkup.check import Check
from phpdyno.host.checkup.disk import DiskPlace
from phpdyno.host.checkup.programs import PhpFound
from phpdyno.host.checkup.readings import CpuReadings, KernelReadings, MemoryReadings, Readings
from phpdyno.host.checkup.sample import Sample
from phpdyno.host.checkup.trials import ClockTrial, StealTrial
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.surroundings import CgroupLimits


def made_up(root: Path, files: dict[str, str]) -> SmallFiles:
    """A tree of these files."""
    for path, text in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return SmallFiles(root)


CPU = CpuReadings("Made-up CPU", (0, 1, 2, 3), (0, 1, 2, 3), {core: (core,) for core in range(4)}, ("performance",), False, "", "tsc")
MEMORY = MemoryReadings(16 << 20, 8 << 20, 0, 0, "madvise", 0, 2048, True)
KERNEL = KernelReadings("6.0.0-made-up", 2, 2, None, 4096, True, True, True)
HOST = Readings(CPU, MEMORY, KERNEL, CgroupLimits(), "", "", False, (1 << 20, 1 << 20))
SAMPLE = Sample(1.5, 0.0, 0.0, (), 0, 0.0)
STEAL = StealTrial((3,), 1.0, 0.0)
CLOCK = ClockTrial(1, 60.0, 0, 400)


def host(
    *,
    cpu: dict[str, object] | None = None,
    memory: dict[str, object] | None = None,
    kernel: dict[str, object] | None = None,
    **changed: object,
) -> Readings:
    """A quiet machine of four cores of its own, with these differences."""
    return structs.replace(
        HOST,
        cpu=structs.replace(CPU, **(cpu or {})),
        memory=structs.replace(MEMORY, **(memory or {})),
        kernel=structs.replace(KERNEL, **(kernel or {})),
        **changed,
    )


ALL_TOOLS = {name: f"/usr/bin/{name}" for name in ("strace", "perf", "valgrind", "gcc", "llvm-bolt")}
FPM = PhpFound("/usr/sbin/php-fpm8.2", "8.2.7", "ab" * 20, "8.2.7", jit=True)
PLACE = DiskPlace("/tmp", "/tmp", 10 << 20, "")


def named(checks: Sequence[Check], name: str) -> Check:
    (found,) = [check for check in checks if check.name == name]
    return found
