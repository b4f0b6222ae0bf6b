"""Which pair comes when, with which coin and which requests. Pure: everything follows from seed and block number."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

STRETCH_PAIRS = 20


class Pair(Struct, frozen=True):
    """Two adjacent slots: the control and one treatment drive the same requests, in the order that a coin gave.

    `sequence` holds indices of targets, one per request of a slot. `opens` marks the first pair of a stretch: both instances get a
    discarded request before it, because both may have been idle for longer than the pairs that follow will let them be.
    """

    treatment: str
    control_first: bool
    sequence: NDArray[np.uint32]
    opens: bool = False


def schedule_block(*, seed: int, block: int, pairs: Mapping[str, int], weights: Sequence[float], slot_requests: int) -> list[Pair]:
    """The pairs of one block, `pairs[t]` of each treatment t, in stretches of one treatment each, the stretches in random order.

    Within a stretch control and treatment are driven equally often and equally recently. Pairs of different treatments mixed freely would
    drive the control, which is in all of them, more recently than each treatment: its warmer caches were worth 1 % on WordPress.
    Within a treatment the block's requests hold every target in proportion to its weight (systematic sampling from a random start, so
    that the rounding is unbiased over blocks), in random order.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, block])))
    stretches: list[list[Pair]] = []
    for treatment, count in pairs.items():
        deck = deal(generator, weights, count * slot_requests).reshape(count, slot_requests)
        coins = generator.random(count) < 0.5
        made = [Pair(treatment, bool(coin), requests) for coin, requests in zip(coins, deck, strict=True)]
        parts = max(1, round(count / STRETCH_PAIRS)) if len(pairs) > 1 else 1
        for part in np.array_split(np.arange(count), parts):
            stretch = [made[index] for index in part]
            stretches.append([structs.replace(stretch[0], opens=True), *stretch[1:]])
    generator.shuffle(stretches)
    return [pair for stretch in stretches for pair in stretch]


def deal(generator: np.random.Generator, weights: Sequence[float], count: int) -> NDArray[np.uint32]:
    """`count` targets in proportion to their weights, systematically sampled from a random start, in random order."""
    bounds = np.cumsum(np.asarray(weights, dtype=np.float64))
    points = (np.arange(count) + generator.random()) * (bounds[-1] / max(1, count))
    deck: NDArray[np.uint32] = np.minimum(np.searchsorted(bounds, points, side="right"), len(weights) - 1).astype(np.uint32)
    generator.shuffle(deck)
    return deck
