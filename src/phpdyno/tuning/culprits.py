"""Which changes are to blame when combinations of a screening do not work, although each change
works alone."""

from collections.abc import Mapping, Sequence

from phpdyno.tuning.factors import Entry, Factor, changes_at


def culprits(
    factors: Sequence[Factor], works: Sequence[Entry], broken: Sequence[Entry], idle: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Names of the candidates without which no row would have been broken, as far as the rows tell.

    `idle`: by row, settings that were not seen at work; what makes them is to blame. Rows that
    broke in another way are explained one candidate after the other by the one that is in most of
    them and in fewest that work; of several the least promising.
    """
    found: dict[str, None] = {}
    for row in broken:
        for each in changes_at(factors, row.levels).values():
            if any(name in each.settings for name in idle.get(row.name, ())):
                found[each.name] = None
    left = [row for row in broken if not _any_of(factors, row, found)]
    while left:
        choices = {each.name: None for row in left for each in changes_at(factors, row.levels).values()}
        if not choices:
            break
        counted = [(_count(factors, left, name), -_count(factors, works, name), place, name) for place, name in enumerate(choices)]
        found[max(counted)[-1]] = None
        left = [row for row in left if not _any_of(factors, row, found)]
    return tuple(found)


def without(factors: Sequence[Factor], names: Sequence[str]) -> tuple[Factor, ...]:
    """The factors without these candidates; one without a level is left out."""
    kept = [
        Factor(
            each.name,
            tuple(one for one in each.levels if one.name not in names),
            tuple(one for one in each.later if one.name not in names),
        )
        for each in factors
    ]
    return tuple(each for each in kept if each.levels)


def _any_of(factors: Sequence[Factor], row: Entry, names: Mapping[str, None]) -> bool:
    return any(each.name in names for each in changes_at(factors, row.levels).values())


def _count(factors: Sequence[Factor], rows: Sequence[Entry], name: str) -> int:
    return sum(1 for row in rows if any(each.name == name for each in changes_at(factors, row.levels).values()))
