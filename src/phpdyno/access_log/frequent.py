"""The most frequent of a stream of keys, in bounded memory and with a bounded error."""

from collections import Counter

from msgspec import Struct

MOST_TARGETS = 10_000
MOVED = frozenset({301, 308})
"""Statuses of a redirect for good: to https, or to the name that the site wants to be called by."""
_GOOD = range(200, 400)


class Answered(Struct, frozen=True):
    """How a key is mostly answered: `hits` of it, without the `moved` ones that were redirected for
    good while others were answered whole."""

    status: int
    hits: int
    moved: int = 0


class Frequent:
    """Counts of at least the `capacity` most frequent keys, with how often each was answered with
    which status.

    Misra and Gries (1982), in batches as in Agarwal et al., Mergeable Summaries (2012): when 2 x
    capacity keys are held, what the (capacity + 1)-th largest has is taken from all, and those left
    with nothing are forgotten. `undercount` is the sum of what was taken: no count is too high,
    none is too low by more, and it is at most all hits / (capacity + 1); 0 until so many keys were
    seen.
    """

    def __init__(self, capacity: int = MOST_TARGETS) -> None:
        self.capacity = capacity
        self.undercount = 0
        self._counts: dict[str, int] = {}
        self._statuses: dict[str, Counter[int]] = {}

    def add(self, key: str, status: int) -> None:
        """One hit."""
        self._counts[key] = self._counts.get(key, 0) + 1
        self._note(key, status)
        if len(self._counts) > 2 * self.capacity:
            self._shrink()

    def note(self, key: str, status: int) -> None:
        """An answer that is no hit, remembered for a key that is held."""
        if key in self._counts:
            self._note(key, status)

    def ranked(self) -> list[tuple[str, int]]:
        """Keys and counts, most frequent first."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))

    def answered_whole(self, key: str) -> bool:
        """Whether a held key was answered 200 before."""
        return 200 in self._statuses.get(key, ())

    def answered(self, key: str, hits: int) -> Answered:
        """What a held key was answered most often, the smaller of equals; a 200 beats redirects for
        good."""
        statuses = self._statuses[key]
        moved = sum(count for status, count in statuses.items() if status in MOVED)
        if not moved or 200 not in statuses:
            return Answered(_most(statuses), hits)
        others = Counter({status: count for status, count in statuses.items() if status not in MOVED})
        left = min(hits, sum(count for status, count in others.items() if status in _GOOD))
        return Answered(_most(others), left, hits - left)

    def _note(self, key: str, status: int) -> None:
        statuses = self._statuses.get(key)
        if statuses is None:
            statuses = self._statuses[key] = Counter()
        statuses[status] += 1

    def _shrink(self) -> None:
        taken = sorted(self._counts.values(), reverse=True)[self.capacity]
        self.undercount += taken
        self._counts = {key: count - taken for key, count in self._counts.items() if count > taken}
        self._statuses = {key: self._statuses[key] for key in self._counts}


def _most(statuses: Counter[int]) -> int:
    return min(statuses, key=lambda status: (-statuses[status], status))
