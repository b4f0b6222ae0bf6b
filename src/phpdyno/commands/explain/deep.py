"""What is looked at once an arm, on instances of its own: instructions, PHP functions, functions of
the server, hardware counters."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs

from phpdyno.commands.explain.hot_pass import PROGRAM, WITH_SYMBOLS, sampled_in_turns
from phpdyno.errors import DynoError
from phpdyno.experiment.common.progress import Progress
from phpdyno.explain.counting.counters import count_events, need_counters
from phpdyno.explain.counting.instructions import count_instructions
from phpdyno.explain.deep_sections import counters_section, instructions_section, native_section, php_section
from phpdyno.explain.functions.native import find_perf
from phpdyno.explain.functions.php import refuse_unreadable, sample_functions
from phpdyno.model.arm import Arm
from phpdyno.model.inside.explained import Section, SectionKey
from phpdyno.model.inside.instructions import Instructions
from phpdyno.model.inside.stacks import PhpProfile
from phpdyno.session.app_servers import AppServers

NATIVE_S = 3.0
"""Of CPU for each arm: six thousand samples."""
NATIVE_WALL_S = 8.0
"""A page that mostly waits has fewer."""
PHP_S = 3.0
DEEP: tuple[SectionKey, ...] = ("php_functions", "functions", "counters", "instructions")


class Deep(Struct, frozen=True):
    """The arms and where they run; sections of `skipped` keys are not looked at."""

    stand: AppServers
    arms: tuple[Arm, ...]
    seed: int
    progress: Progress
    skipped: frozenset[SectionKey] = frozenset()

    @property
    def programs(self) -> dict[str, str]:
        """The arms' php-fpm by the names of their files: one name for all."""
        return {Path(arm.php.fpm).name: PROGRAM for arm in self.arms}


def look_deep(deep: Deep) -> tuple[tuple[Section, ...], tuple[PhpProfile, ...]]:
    """Each section, with the reason where it could not be read, and the profiles of PHP functions.
    Never a failure."""
    profiles: list[PhpProfile] = []

    def functions_of_php(section: Section) -> Section:
        for arm in deep.arms:
            refuse_unreadable(arm)
        found = [
            sample_functions(deep.stand.bench, arm, deep.stand.meters, seconds=PHP_S, seed=deep.seed, progress=deep.progress)
            for arm in deep.arms
        ]
        profiles.extend(found)
        return php_section(section, found)

    looks: tuple[tuple[Section, str, Callable[[Section], Section]], ...] = (
        (
            Section(
                key="php_functions",
                title="PHP functions: own share of a request's time",
                read_by="the worker's own stack, looked at by wall time",
            ),
            "sampling PHP functions",
            functions_of_php,
        ),
        (
            Section(key="functions", title="Functions of the server: CPU per request", read_by="perf's software clock"),
            "sampling the server's functions",
            lambda section: _native(deep, section),
        ),
        (
            Section(key="counters", title="Hardware counters per request", read_by="perf stat"),
            "reading hardware counters",
            lambda section: _counters(deep, section),
        ),
        (
            Section(key="instructions", title="Instructions per request in user space", read_by="callgrind, on php-fpm with one worker"),
            "counting instructions under callgrind",
            lambda section: _instructions(deep, section),
        ),
    )
    return tuple(_looked(deep, looks)), tuple(profiles)


def _looked(deep: Deep, looks: Sequence[tuple[Section, str, Callable[[Section], Section]]]) -> Iterator[Section]:
    for section, doing, look in looks:
        if section.key in deep.skipped:
            yield structs.replace(section, unread="left out by --skip")
            continue
        deep.progress.phase(doing)
        try:
            yield look(section)
        except DynoError as error:
            yield structs.replace(section, unread=str(error))


def _native(deep: Deep, section: Section) -> Section:
    find_perf()
    name, _, value = WITH_SYMBOLS.partition("=")
    arms = [structs.replace(arm, settings={**arm.settings, name: value}) for arm in deep.arms]
    bench = deep.stand.bench
    looks = sampled_in_turns(
        deep.stand, arms, bench.app.workload, seconds=NATIVE_S, most_s=NATIVE_WALL_S, seed=deep.seed, progress=deep.progress
    )
    notes = [f"{arm.name}: {look.seen.note}" for arm, look in zip(arms, looks, strict=True) if look.seen.note]
    return native_section(section, [(look.seen.samples, look.cpu_us) for look in looks], deep.programs, notes)


def _counters(deep: Deep, section: Section) -> Section:
    need_counters()
    bench, meters = deep.stand.bench, deep.stand.meters
    return counters_section(section, [count_events(bench, arm, meters, seed=deep.seed, progress=deep.progress) for arm in deep.arms])


def _instructions(deep: Deep, section: Section) -> Section:
    """Count instructions; the first of two arms is started twice, since what its starts differ by
    is no difference between arms."""
    found: list[Instructions] = []
    for arm in (*deep.arms, *deep.arms[:1]) if len(deep.arms) > 1 else deep.arms:
        deep.progress.phase(f"{arm.name}: counting instructions under callgrind")
        found.append(count_instructions(deep.stand.bench, arm, progress=deep.progress))
    arms = found[: len(deep.arms)]
    return instructions_section(section, arms, found[-1] if len(found) > len(arms) else None, deep.programs)
