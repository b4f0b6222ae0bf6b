"""From single changes to the factors of a screening: changes that cannot stand beside each other
become levels of one factor."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from phpdyno.knobs.catalogue.host import PAGE_KIB, with_room
from phpdyno.knobs.knob import Knob, with_needs
from phpdyno.stats.screening.factorial import CONTROL, Design, Levels

MOST_LEVELS = 3
"""A level is tried in one row out of twice the number of its factor's levels; with more, each is
seen too seldom to be judged."""


class Candidate(Struct, frozen=True):
    """One change to try: all settings that it makes, and `needs` that the control fulfils already
    (another change might undo them); `huge_kib` is the size of the host's reserved pages."""

    name: str
    settings: dict[str, str]
    needs: dict[str, str] = field(default_factory=dict)
    huge_kib: int = PAGE_KIB


Clash = Callable[[Candidate, Candidate], bool]
"""Whether two changes cannot be on together although they make different settings."""


def nothing_clashes(_: Candidate, __: Candidate) -> bool:
    """Every two can be on together."""
    return False


class Factor(Struct, frozen=True):
    """Changes of which an arm has one at most. `levels` are screened; `later` are tried in the race
    when a level was not rejected."""

    name: str
    levels: tuple[Candidate, ...]
    later: tuple[Candidate, ...] = ()

    @property
    def choices(self) -> tuple[Candidate, ...]:
        """The levels and what comes later, in this order: level n is number n - 1."""
        return (*self.levels, *self.later)


class Entry(Struct, frozen=True):
    """An arm to be measured: its name, which level of each factor it has (0: the control's), and
    its changes from the control."""

    name: str
    levels: Levels
    settings: dict[str, str]

    @property
    def parts(self) -> int:
        """How many factors are on: fewer are simpler."""
        return sum(1 for level in self.levels if level)


def candidates_of(
    tried: Mapping[str, Sequence[str]], base: Mapping[str, str], knob_of: Callable[[str], Knob], *, huge_kib: int = PAGE_KIB
) -> tuple[Candidate, ...]:
    """The values to try (by full knob name) as candidates, each with what it needs; `base` is what
    the control has, `huge_kib` the size of the host's reserved pages.

    Raises DynoError where a value needs what it switches off.
    """
    found = []
    for name, values in tried.items():
        for value in values:
            whole = with_needs({name: value}, base, knob_of)
            found.append(Candidate(f"{name}={value}", whole.settings, whole.held, huge_kib))
    return tuple(found)


def factors_of(candidates: Sequence[Candidate], most_levels: int = MOST_LEVELS, clash: Clash = nothing_clashes) -> tuple[Factor, ...]:
    """The candidates as factors, both in the order given (most promising first).

    Two belong to one factor when one makes a setting that the other makes or needs: two values of a
    setting, or a JIT buffer, which means nothing where the JIT is off; and where they `clash`: a
    row of a factorial with both would be no arm at all. Raises ValueError: a name twice, a
    candidate without a setting.
    """
    if len({each.name for each in candidates}) < len(candidates) or not all(each.settings for each in candidates):
        raise ValueError("every candidate needs a name of its own and a setting")
    groups: list[list[Candidate]] = []
    for candidate in candidates:
        tied = [group for group in groups if any(_tied(candidate, other) or clash(candidate, other) for other in group)]
        apart = [group for group in groups if not any(group is each for each in tied)]
        merged = [*(each for group in tied for each in group), candidate]
        groups = [*apart, merged]
    place = {each.name: index for index, each in enumerate(candidates)}
    ordered = [sorted(group, key=lambda each: place[each.name]) for group in groups]
    ordered.sort(key=lambda group: place[group[0].name])
    return tuple(Factor(_name(group), tuple(group[:most_levels]), tuple(group[most_levels:])) for group in ordered)


def narrowed(factors: Sequence[Factor], levels: Levels) -> tuple[Factor, ...]:
    """As many factors as there are `levels`, the first ones, each with so many levels; its others
    come later. Raises ValueError: more."""
    if len(levels) > len(factors) or any(not 1 <= level <= len(each.levels) for each, level in zip(factors, levels, strict=False)):
        raise ValueError(f"the factors have no {levels} levels")
    return tuple(Factor(each.name, each.choices[:level], each.choices[level:]) for each, level in zip(factors, levels, strict=False))


def entry(factors: Sequence[Factor], levels: Levels, name: str = "") -> Entry:
    """The arm that has these levels, with reserved pages enough for all of it. It is named by its
    changes unless it is given a name.

    Raises ValueError: a level that is not there.
    """
    if len(levels) != len(factors) or any(not 0 <= level <= len(each.choices) for level, each in zip(levels, factors, strict=True)):
        raise ValueError(f"the factors have no levels {levels}")
    chosen = changes_at(factors, levels)
    settings: dict[str, str] = {}
    for candidate in chosen.values():
        settings.update(candidate.settings)
    huge_kib = max((each.huge_kib for each in chosen.values()), default=PAGE_KIB)
    return Entry(name or " + ".join(each.name for each in chosen.values()) or "control", levels, with_room(settings, huge_kib))


def changes_at(factors: Sequence[Factor], levels: Levels) -> dict[int, Candidate]:
    """What is on at these levels, by the factor's number."""
    return {place: each.choices[level - 1] for place, (each, level) in enumerate(zip(factors, levels, strict=True)) if level}


def row_entries(factors: Sequence[Factor], design: Design) -> tuple[Entry, ...]:
    """One arm for each row of a design, named by its number from 1 on. Raises ValueError: a design
    for other factors."""
    if tuple(len(each.levels) for each in factors) != design.factors:
        raise ValueError("the design was made for other factors")
    return tuple(entry(factors, row, f"row {number}") for number, row in enumerate(design.rows, start=1))


def batches(design: Design, most_arms: int) -> tuple[tuple[int, ...], ...]:
    """The rows (their indices) in groups of `most_arms` or fewer, as many as can be up at once;
    mirror rows stay together, since they are compared within blocks. Groups are as equal as can be.
    Raises ValueError: fewer than two arms."""
    if most_arms < 2:
        raise ValueError("a batch holds two arms or more")
    units = [tuple(each for each in pair if each != CONTROL) for pair in design.mirrors] or [(row,) for row in range(len(design.rows))]
    number = max(1, -(-len(design.rows) // most_arms))
    while True:
        dealt: list[list[int]] = [[] for _ in range(number)]
        for unit in sorted(units, key=len, reverse=True):
            min(dealt, key=len).extend(unit)
        if max(len(each) for each in dealt) <= most_arms:
            return tuple(tuple(sorted(each)) for each in dealt if each)
        number += 1


def _tied(one: Candidate, other: Candidate) -> bool:
    return _touches(one.settings, other) or _touches(other.settings, one)


def _touches(made: Mapping[str, str], other: Candidate) -> bool:
    return any(name in other.settings or name in other.needs for name in made)


def _name(group: Sequence[Candidate]) -> str:
    """The setting that most of them make, of several the first."""
    counts: dict[str, int] = {}
    for candidate in group:
        for name in candidate.settings:
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name])
