"""Which pair comes when, with which coin and which requests. Pure: everything follows from seed and
block number."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

STRETCH_PAIRS = 40
OPENING = 6
"""Requests that each of both instances makes before a stretch among others. The control has just
been at work in the stretch before, the treatment rested for as long as all others took. On
WordPress that made a treatment's first measured requests dearer by 6.7, 4.6, 1.6 and 1.6 %, and
then none (103 blocks of an A/A beside six other arms, one request before each stretch: 0.993
instead of 1)."""


class Pair(Struct, frozen=True):
    """Two adjacent slots: the control and one treatment drive the same requests, in the order that
    a coin gave.

    `sequence` holds indices of targets, one per request of a slot. `opening`: slots that both drive
    in turn before this one, and that count for nothing, because both may have been idle for longer
    than the pairs that follow will let them be, and not equally long. The first pair of a stretch
    has one.
    """

    treatment: str
    control_first: bool
    sequence: NDArray[np.uint32]
    opening: tuple[NDArray[np.uint32], ...] = ()


def stretches_of(pairs: int, treatments: int) -> int:
    """Stretches of a treatment with so many pairs in a block; alone it needs one."""
    return max(1, round(pairs / STRETCH_PAIRS)) if treatments > 1 else 1


def opening_requests(treatments: int, concurrency: int) -> int:
    """Requests that open a stretch, one after the other. Alone, a treatment has rested for as long
    as the control; of slots with several requests in flight, which are long, one for each opens
    it."""
    return OPENING if treatments > 1 and concurrency == 1 else 1


def schedule_block(
    *, seed: int, block: int, pairs: Mapping[str, int], weights: Sequence[float], slot_requests: int, concurrency: int = 1
) -> list[Pair]:
    """The pairs of one block, `pairs[t]` of each treatment t, in stretches of one treatment each,
    the stretches in random order, with so many requests in flight.

    Within a stretch control and treatment are driven equally often and equally recently. Pairs of
    different treatments mixed freely would drive the control, which is in all of them, more
    recently than each treatment: its warmer caches were worth 1 % on WordPress. Within a treatment
    the block's requests hold every target in proportion to its weight (systematic sampling from a
    random start, so that the rounding is unbiased over blocks), in random order.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, block])))
    stretches: list[list[Pair]] = []
    for treatment, count in pairs.items():
        deck = deal(generator, weights, count * slot_requests).reshape(count, slot_requests)
        coins = generator.random(count) < 0.5
        made = [Pair(treatment, bool(coin), requests) for coin, requests in zip(coins, deck, strict=True)]
        for part in np.array_split(np.arange(count), stretches_of(count, len(pairs))):
            first, *rest = (made[index] for index in part)
            turns = opening_requests(len(pairs), concurrency)
            opening = deal(generator, weights, turns).reshape(turns, 1) if concurrency == 1 else first.sequence[np.newaxis, :concurrency]
            stretches.append([structs.replace(first, opening=tuple(opening)), *rest])
    generator.shuffle(stretches)
    return [pair for stretch in stretches for pair in stretch]


def draw_order(count: int, *, seed: int, block: int, stage: int) -> list[int]:
    """The numbers below `count` in an order that is drawn for a block and a `stage` of its starts.

    Instances that start, or compile their scripts, later in a block find other memory, and were
    cheaper for as long as they lived: of seven identical arms the three last ones by 0.7 % beside
    the three first (WordPress, 29 blocks). Drawn anew for every block it is noise of starts, and no
    arm's.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, block, stage])))
    return [int(place) for place in generator.permutation(count)]


def deal(generator: np.random.Generator, weights: Sequence[float], count: int) -> NDArray[np.uint32]:
    """`count` targets in proportion to their weights, systematically sampled from a random start,
    in random order."""
    bounds = np.cumsum(np.asarray(weights, dtype=np.float64))
    points = (np.arange(count) + generator.random()) * (bounds[-1] / max(1, count))
    deck: NDArray[np.uint32] = np.minimum(np.searchsorted(bounds, points, side="right"), len(weights) - 1).astype(np.uint32)
    generator.shuffle(deck)
    return deck
