"""Which pair comes when, with which coin and which requests. Pure: everything follows from seed and block number."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Pair(Struct, frozen=True):
    """Two adjacent slots: the control and one treatment drive the same requests, in the order that a coin gave."""

    treatment: str
    control_first: bool
    sequence: NDArray[np.uint32]
    """Indices of targets, one per request of a slot."""


def schedule_block(*, seed: int, block: int, pairs: Mapping[str, int], weights: Sequence[float], slot_requests: int) -> list[Pair]:
    """The pairs of one block, `pairs[t]` of each treatment t, spread evenly over the block.

    Within a treatment the block's requests hold every target in proportion to its weight (systematic sampling from a random start, so
    that the rounding is unbiased over blocks), in random order.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, block])))
    placed: list[tuple[float, Pair]] = []
    for treatment, count in pairs.items():
        deck = _deck(generator, weights, count * slot_requests).reshape(count, slot_requests)
        coins = generator.random(count) < 0.5
        places = (np.arange(count) + generator.random(count)) / max(1, count)
        placed += [(float(place), Pair(treatment, bool(coin), requests)) for place, coin, requests in zip(places, coins, deck, strict=True)]
    return [pair for _, pair in sorted(placed, key=lambda entry: entry[0])]


def _deck(generator: np.random.Generator, weights: Sequence[float], count: int) -> NDArray[np.uint32]:
    bounds = np.cumsum(np.asarray(weights, dtype=np.float64))
    points = (np.arange(count) + generator.random()) * (bounds[-1] / max(1, count))
    deck: NDArray[np.uint32] = np.minimum(np.searchsorted(bounds, points, side="right"), len(weights) - 1).astype(np.uint32)
    generator.shuffle(deck)
    return deck
