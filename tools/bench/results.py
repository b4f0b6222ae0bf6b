"""What a section yields, and how it is kept so that a bench that was cut short goes on where it
stopped."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path

import msgspec
from msgspec import Struct, field

from phpdyno.errors import DynoError
from phpdyno.model.facts import HostFacts
from tools.bench.figures import Figure

SCHEMA = 1


class Missing(DynoError):  # noqa: N818 (it names what is the matter)
    """A part cannot be measured here; the message says what installs it and names no path."""


Say = Callable[[str], None]


class Part(Struct, frozen=True):
    """One part of a section that was not measured in one go: what it holds, by which code (a digest
    of the package) on which host, from the day it began to that of its last session, and what about
    the host made measuring harder."""

    what: str
    code: str
    host: HostFacts
    began: str
    ended: str
    warnings: tuple[str, ...] = ()


@dataclass
class Room:
    """What a section has to work with: a listener, directories, and lists for what it tells besides
    figures.

    `unfinished` holds work that is gone on with, `kept` what of it is committed with the page.
    `skipped` names what had to be left out and why; `parts` is what a section that was not measured
    in one go is made of.
    """

    say: Say
    logs: Path
    unfinished: Path
    kept: Path
    skipped: list[str] = dataclass_field(default_factory=list)
    parts: list[Part] = dataclass_field(default_factory=list)


class Sizes(Struct, frozen=True):
    """How much is measured; times in seconds."""

    help_runs: int = 20
    setup_runs: int = 10
    arm_starts: int = 10
    database_starts: int = 6
    pairs: int = 30
    slot_s: float = 1.0
    machine_slot_s: float = 0.4
    rounds: int = 40
    start_ups: int = 3
    open_slots: int = 20
    open_slot_s: float = 3.0
    budget_s: float = 60.0
    connectors_s: float = 150.0
    sizing_s: float = 60.0
    sizing_sweep_s: float = 210.0
    sizing_paired_s: float = 45.0
    # How many pools the exhaustive sweep has, 0 for all.
    sizing_pools: int = 0
    explain_starts: int = 7
    idle_s: float = 5.0
    truth_comparisons: int = 200
    truth_parts: int = 5
    truth_wordpress: int = 16
    truth_rounds: int = 30
    truth_budget_s: float = 60.0
    truth_wordpress_budget_s: float = 240.0
    carry_hello_s: float = 120.0
    carry_wordpress_s: float = 480.0
    speed_s: float = 1500.0
    tune_exhaustive_s: float = 1500.0
    tune_pairs: int = 8
    tune_s: float = 420.0
    tune_seeds: int = 3
    build_app: str = "wordpress"
    build_options: tuple[str, ...] = ()
    # () for the ladder's usual ones.
    build_recipes: tuple[str, ...] = ()
    build_again: int = 6
    build_ladder_s: float = 1500.0
    best_study: str = "studies/best-build.toml"
    # Where the study's page goes, "" for nowhere.
    best_page: str = "docs/studies/best-build.md"
    bottle_blocks: int = 40
    bottle_requests: dict[str, int] = field(default_factory=lambda: {"hello": 300, "wordpress": 10})
    large_divisor: int = 1
    watch_windows: int = 20
    watch_window_s: float = 5.0
    newcomer: tuple[str, ...] = ("setup", "test-fast", "demo", "test")


QUICK = Sizes(
    bottle_blocks=4,
    bottle_requests={"hello": 30, "wordpress": 2},
    large_divisor=100,
    watch_windows=6,
    watch_window_s=0.5,
    help_runs=6,
    setup_runs=1,
    arm_starts=2,
    database_starts=1,
    pairs=2,
    slot_s=0.2,
    machine_slot_s=0.1,
    rounds=2,
    start_ups=1,
    open_slots=6,
    open_slot_s=0.3,
    budget_s=15.0,
    connectors_s=8.0,
    sizing_s=10.0,
    sizing_sweep_s=5.0,
    sizing_paired_s=5.0,
    sizing_pools=2,
    explain_starts=2,
    idle_s=1.0,
    truth_comparisons=2,
    truth_parts=1,
    truth_wordpress=1,
    truth_rounds=5,
    truth_budget_s=10.0,
    truth_wordpress_budget_s=20.0,
    carry_hello_s=15.0,
    carry_wordpress_s=30.0,
    speed_s=150.0,
    tune_exhaustive_s=120.0,
    tune_pairs=4,
    tune_s=150.0,
    tune_seeds=1,
    build_app="hello",
    build_options=("--standalone", "--extension", "none", "--training", "3s"),
    build_recipes=("pgo",),
    build_again=1,
    build_ladder_s=60.0,
    best_study="tools/bench/rehearsed-study.toml",
    best_page="",
    newcomer=(),
)
"""A rehearsal: every path is walked, no figure is worth anything."""


class Stamp(Struct, frozen=True):
    """What was measured, where. `code` is a digest of the measured code, uncommitted edits
    included; `edited` says that there were some. `package` is the digest that a selfcheck keeps of
    the code that it is of."""

    phpdyno: str
    commit: str
    edited: bool
    code: str
    cpu_model: str
    cores: int
    memory_kib: int
    kernel: str
    package: str = ""

    def same_code(self, other: "Stamp") -> bool:
        """Whether both measured the same code; commits that change nothing of it do not count."""
        return self.code == other.code

    def same_machine(self, other: "Stamp | HostFacts") -> bool:
        """As far as can be seen."""
        theirs = (other.cpu_model, other.cores, other.memory_kib, other.kernel)
        return theirs == (self.cpu_model, self.cores, self.memory_kib, self.kernel)


class SectionResult(Struct, frozen=True):
    """One finished section. `skipped` says in words what could not be measured; such a section is
    tried again. `parts` are those of a section that was measured bit by bit: stamp, date and
    background only tell when they were put together.

    `background` is what was running beside us: busy cores just before the section (0.1: a tenth of
    one core).
    """

    name: str
    stamp: Stamp
    sizes: Sizes
    date: str
    took_s: float
    background: float
    figures: tuple[Figure, ...]
    versions: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    schema: int = SCHEMA


class Store:
    """One JSON file per section in `sections`; logs and unfinished work of a section in
    `directory`."""

    def __init__(self, directory: Path, sections: Path | None = None) -> None:
        self.directory = directory
        self.sections = sections or directory

    def load(self, name: str) -> SectionResult | None:
        """What is kept of a section; None when there is nothing, or nothing that this version
        understands."""
        try:
            result = msgspec.json.decode(self._path(name).read_bytes(), type=SectionResult)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return result if result.schema == SCHEMA else None

    def save(self, result: SectionResult) -> None:
        """Keep it; the file appears whole or not at all."""
        self.sections.mkdir(parents=True, exist_ok=True)
        partial = self._path(result.name).with_suffix(".partial")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
        partial.replace(self._path(result.name))

    def room(self, name: str, say: Say) -> Room:
        """Where a section works."""
        return Room(say, self.directory / "logs" / name, self.directory / "work" / name, self.sections / name)

    def forget(self, name: str) -> None:
        """Start a section anew; what it has kept of unfinished work goes as well."""
        self._path(name).unlink(missing_ok=True)
        room = self.room(name, print)
        for place in (room.unfinished, room.kept):
            shutil.rmtree(place, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self.sections / f"{name}.json"


def still_holds(result: SectionResult, stamp: Stamp, sizes: Sizes) -> bool:
    """Whether a kept section need not be measured again: the same code on the same machine at the
    same sizes, and nothing left out."""
    here = result.stamp.same_code(stamp) and result.stamp.same_machine(stamp)
    return here and result.sizes == sizes and not result.skipped
