"""Sections of a page that rest on one look at each arm: instructions, functions, counters. Pure."""

from collections.abc import Mapping, Sequence

from phpdyno.explain.functions.native import Samples
from phpdyno.model.inside.counters import CounterReading, HardwareCounters
from phpdyno.model.inside.explained import Figure, Reading, Section, Unit
from phpdyno.model.inside.instructions import Instructions
from phpdyno.model.inside.stacks import PhpProfile

WHOLE = "all of it"
MOST_ROWS = 25
ONE_LOOK = "the spread is the widest range of an arm's own rounds"
ONE_START = "functions are of one look: their differences have no spread"
RANGE_OF_STARTS = "the spread is the widest of the arms' own rounds and of what a second start of A differs by"


def instructions_section(
    section: Section, found: Sequence[Instructions], again: Instructions | None, programs: Mapping[str, str]
) -> Section:
    """Instructions of a request and of its functions; `again` is a second start of the first arm,
    `programs` gives files one name."""
    ranges = [each.highest - each.lowest for each in found]
    if again is not None:
        ranges.append(abs(again.median - found[0].median))
    whole = _figure(WHOLE, "instructions", [Reading(each.median, each.lowest, each.highest, 1) for each in found], max(ranges), part=False)
    own = [{_named(each.name, each.place, programs): each.own for each in one.functions} for one in found]
    said = [f"{one.arm}: {note}" for one in found for note in one.notes]
    notes = (*((RANGE_OF_STARTS,) if again else ()), ONE_START, *said)
    return _with(section, (*_largest(own, "instructions"), whole), notes)


def native_section(section: Section, costs: Sequence[tuple[Samples, float]], programs: Mapping[str, str], notes: Sequence[str]) -> Section:
    """Functions of the server by CPU time: samples of each arm and microseconds of CPU per
    request."""
    own = []
    for samples, cpu_us in costs:
        total = max(1, sum(samples.values()))
        own.append({_named(name, place, programs): cpu_us * count / total / 1e3 for (place, name), count in samples.items()})
    whole = _figure(WHOLE, "ms", [_once(cpu_us / 1e3) for _, cpu_us in costs], None, part=False)
    return _with(section, (*_largest(own, "ms"), whole), (ONE_START, *notes))


def php_section(section: Section, profiles: Sequence[PhpProfile]) -> Section:
    """PHP functions by their own share of a request's time."""
    own = [{each.name: 100 * each.own for each in profile.wall.functions} for profile in profiles]
    counted = (f"{profile.wall.arm}: {profile.wall.samples:,} samples in {profile.wall.requests:,} requests" for profile in profiles)
    notes = dict.fromkeys(note for profile in profiles for note in profile.notes)
    return _with(section, _largest(own, "percent"), (*counted, *notes))


def counters_section(section: Section, found: Sequence[HardwareCounters]) -> Section:
    """The processor's counters."""
    events = dict.fromkeys(reading.event for each in found for reading in each.readings)
    figures = []
    for event in events:
        mine = [next((reading for reading in each.readings if reading.event == event), None) for each in found]
        spread = max((each.highest - each.lowest for each in mine if each is not None), default=0.0)
        figures.append(_figure(event, "count", [_counted(each) for each in mine], spread))
    absent = dict.fromkeys(event for each in found for event in each.absent)
    notes = (ONE_LOOK, *((f"not counted by this machine: {', '.join(absent)}",) if absent else ()))
    return _with(section, tuple(figures), notes)


def _counted(reading: CounterReading | None) -> Reading | None:
    return None if reading is None else Reading(reading.median, reading.lowest, reading.highest, 1)


def _named(name: str, place: str, programs: Mapping[str, str]) -> str:
    file = programs.get(place, place)
    return f"{name} ({file})" if file else name


def _largest(own: Sequence[Mapping[str, float]], unit: Unit) -> tuple[Figure, ...]:
    """The functions that take most in any arm; what an arm does not have it has none of."""
    names = dict.fromkeys(name for each in own for name in each)
    figures = [_figure(name, unit, [_once(each.get(name, 0.0)) for each in own], None) for name in names]
    return tuple(sorted(figures, key=lambda each: -max(reading.value for reading in each.arms if reading is not None))[:MOST_ROWS])


def _once(value: float) -> Reading:
    return Reading(value, value, value, 1)


def _figure(name: str, unit: Unit, arms: Sequence[Reading | None], spread: float | None, *, part: bool = True) -> Figure:
    difference = None
    if len(arms) == 2 and arms[0] is not None and arms[1] is not None:
        difference = arms[1].value - arms[0].value
    return Figure(name, unit, tuple(arms), difference, None if difference is None else spread, part)


def _with(section: Section, figures: tuple[Figure, ...], notes: Sequence[str]) -> Section:
    return Section(key=section.key, title=section.title, read_by=section.read_by, figures=figures, notes=tuple(notes))
