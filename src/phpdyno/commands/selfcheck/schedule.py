"""Which comparison of a selfcheck comes when, with which seed and which arm the dearer one.
Pure."""

import numpy as np
from msgspec import Struct

from phpdyno.journal.checks import CheckKind, SelfcheckRequest

_SEEDS_PER_SELFCHECK = 1 << 20


class Job(Struct, frozen=True):
    """One comparison to be made; `swapped`: the treatment is the cheaper arm."""

    number: int
    kind: CheckKind
    swapped: bool
    seed: int


def jobs_of(wish: SelfcheckRequest) -> tuple[Job, ...]:
    """All comparisons in random order, so that a drift of the host meets every kind alike; half of
    the planted ones are swapped."""
    counts: dict[CheckKind, int] = {"A/A": wish.aa - wish.long, "long A/A": wish.long, "zero": wish.zero, "planted": wish.planted}
    kinds = [(kind, kind == "planted" and turn % 2 == 1) for kind, count in counts.items() for turn in range(count)]
    order = np.random.Generator(np.random.PCG64(wish.seed)).permutation(len(kinds))
    first = wish.seed * _SEEDS_PER_SELFCHECK + 1
    return tuple(Job(number, kinds[index][0], kinds[index][1], first + number) for number, index in enumerate(order))
