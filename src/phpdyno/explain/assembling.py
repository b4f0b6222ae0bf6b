"""From what every start of every arm showed to the figures of a page. Pure."""

import statistics
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from phpdyno.model.inside.explained import Figure, Reading, Section, SectionKey, Unit
from phpdyno.stats.spread import spread_of

Values = Mapping[str, float]
"""What one start of one arm showed, by the name of the quantity."""


class GatheredValues(Struct):
    """What one section has so far: `starts` by start and then by arm.

    What an arm did not show it has none of: 0 where `absent_is_zero`, else nothing.
    """

    key: SectionKey
    title: str
    read_by: str
    units: dict[str, Unit] = field(default_factory=dict)
    unit: Unit = "ms"
    starts: list[list[Values]] = field(default_factory=list)
    wholes: frozenset[str] = frozenset()
    absent_is_zero: bool = True
    notes: list[str] = field(default_factory=list)
    unread: str = ""

    def take(self, start: int, values: Values) -> None:
        """Take in what the next arm of this start showed."""
        while len(self.starts) <= start:
            self.starts.append([])
        self.starts[start].append(values)


def sections_of(gathered: Sequence[GatheredValues], arms: int) -> tuple[Section, ...]:
    """All sections, the intervals of all their differences holding together."""
    named = [(each, names_of(each)) for each in gathered]
    together = max(1, sum(len(names) for _, names in named))
    return tuple(_section(each, names, arms, together) for each, names in named)


def names_of(gathered: GatheredValues) -> list[str]:
    """The quantities that any start of any arm showed, in the order in which they were first seen,
    the wholes behind their parts."""
    seen = dict.fromkeys(name for start in gathered.starts for values in start for name in values)
    return sorted(seen, key=lambda name: name in gathered.wholes)


def _section(gathered: GatheredValues, names: Sequence[str], arms: int, together: int) -> Section:
    figures = () if gathered.unread else tuple(_figure(gathered, name, arms, together) for name in names)
    return Section(
        key=gathered.key,
        title=gathered.title,
        read_by=gathered.read_by,
        figures=figures,
        notes=tuple(dict.fromkeys(gathered.notes)),
        unread=gathered.unread,
    )


def _figure(gathered: GatheredValues, name: str, arms: int, together: int) -> Figure:
    whole = [start for start in gathered.starts if len(start) == arms]
    per_arm = [[_value(gathered, start[arm], name) for start in whole] for arm in range(arms)]
    readings = tuple(reading_of([value for value in values if value is not None]) for values in per_arm)
    difference = spread = None
    if arms == 2:
        pairs = [(one, two) for one, two in zip(*per_arm, strict=True) if one is not None and two is not None]
        differences = [two - one for one, two in pairs]
        if differences:
            difference, spread = statistics.fmean(differences), spread_of(differences, together)
    unit = gathered.units.get(name, gathered.unit)
    return Figure(name, unit, readings, difference, spread, name not in gathered.wholes)


def _value(gathered: GatheredValues, values: Values, name: str) -> float | None:
    return values.get(name, 0.0 if gathered.absent_is_zero else None)


def reading_of(values: Sequence[float]) -> Reading | None:
    """Median and range of what several starts showed; None without any."""
    return Reading(statistics.median(values), min(values), max(values), len(values)) if values else None
