"""What goes on top of the best build of a ladder: looked at on servers of its own, before it is
measured."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from phpdyno.apps.registry import open_app
from phpdyno.experiment.common.progress import Progress
from phpdyno.host.checkup.readings import read_memory
from phpdyno.host.files.small_files import SmallFiles
from phpdyno.host.lock import MeasuringLock
from phpdyno.knobs.catalogue.host import MOST_SHARE_OF_MEMORY, PAGE_KIB
from phpdyno.knobs.catalogue.opcache import pages_for
from phpdyno.model.facts import WorkerFacts
from phpdyno.model.plan import Plan
from phpdyno.model.runs.ladder import LadderStep
from phpdyno.php_build.compile.elf import code_kib
from phpdyno.php_build.rungs import JIT_KIB, knob_steps
from phpdyno.php_build.train.beside import Beside, WrongAnswer
from phpdyno.servers.host_settings import PAGES, can_set
from phpdyno.servers.instance import ArmFailed
from phpdyno.session.app_servers import serving
from phpdyno.session.arms import make_arms
from phpdyno.tuning.preloading import LEAST_SCRIPTS, MOST_TESTS, PRELOAD, can_preload, left_out_words, name_of, place
from phpdyno.tuning.safe import Subset, safe_subset


class Top(Struct, frozen=True):
    """Steps on top of a build, and what is to be told of them."""

    steps: tuple[LadderStep, ...]
    notes: tuple[str, ...]


class BuildSeen(Struct, frozen=True):
    """What was seen of the build that all stands on: KiB of code in its mappings, a worker's facts,
    the scripts of the app that it loads, and those of them that can be preloaded, none where
    nothing can."""

    code_kib: tuple[int, ...]
    facts: WorkerFacts
    loaded: tuple[str, ...] = ()
    safe: Subset = Subset((), 0)


def find_top(below: LadderStep, plan: Plan, *, memory_kib: int, logs: Path, progress: Progress) -> Top:
    """What can go on top of a step with the app of a plan, on a host of so much memory. Raises
    DynoError."""
    return top_of(below, look_at(below, plan, logs=logs, progress=progress), memory_kib=memory_kib, reservable=_reservable())


def look_at(below: LadderStep, plan: Plan, *, logs: Path, progress: Progress) -> BuildSeen:
    """Start the build beside itself, once more for each set of scripts that is tried. Raises
    DynoError."""
    definition = open_app(plan.source.reference)
    alike = make_arms(below.spec, (), aa=True, app=definition)
    (build,) = alike.treatments
    code = code_kib(Path(build.php.fpm))
    with MeasuringLock(), serving(definition, logs=logs, progress=progress) as stand:
        progress.phase("looking at what goes on top")
        beside = Beside(stand.bench, alike.control, plan.workload)
        facts, loaded = beside.look_into(build)
        if not can_preload(facts) or len(loaded) < LEAST_SCRIPTS:
            return BuildSeen(code, facts)

        def is_safe(files: Sequence[str]) -> bool:
            (preloading,) = make_arms(below.spec, (f"{PRELOAD}={place(files)}",), app=definition).treatments
            progress.tick(0.0, 1.0, name_of(files))
            try:
                beside.look_at(preloading)
            except WrongAnswer:
                return False
            except ArmFailed as error:
                if error.arm != preloading:
                    raise
                return False
            return True

        return BuildSeen(code, facts, loaded, safe_subset(loaded, is_safe, MOST_TESTS))


def _reservable() -> bool:
    """Whether huge pages of the size that PHP puts its code on can be reserved here."""
    return can_set(PAGES) and read_memory(SmallFiles()).hugepage_kib in {PAGE_KIB, None}


def top_of(below: LadderStep, seen: BuildSeen, *, memory_kib: int, reservable: bool) -> Top:
    """The steps that this allows; `reservable`: huge pages can be reserved here."""
    first, *behind = seen.code_kib
    notes = []
    if behind:
        notes.append(
            f"{below.name}: opcache.huge_code_pages moves the code as it lay before BOLT ({first:,} KiB, of which only what BOLT left in "
            f"place still runs), and not the {sum(behind):,} KiB that BOLT laid out, which are another mapping"
        )
    if seen.loaded and (said := left_out_words(seen.loaded, seen.safe)):
        notes.append(said)
    shared_kib = PAGE_KIB * pages_for(seen.facts.opcache, 0, 1) + JIT_KIB
    affordable = shared_kib < MOST_SHARE_OF_MEMORY * memory_kib
    if not reservable:
        notes.append("no huge pages can be reserved here, so the kernel is asked to make some of the code's pages")
    elif not affordable:
        notes.append(
            f"huge pages are reserved for the code alone: this host has too little memory for opcache's too ({shared_kib >> 10} MiB)"
        )
    steps = knob_steps(
        below,
        text_pages=-(-first // PAGE_KIB) if reservable else 0,
        shared_pages=shared_kib // PAGE_KIB if reservable and affordable else 0,
        preload=place(seen.safe.passed) if len(seen.safe.passed) >= LEAST_SCRIPTS else "",
    )
    return Top(steps, tuple(notes))
