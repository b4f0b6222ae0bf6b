"""What the load core holds bodies against: the masks learnt from the control, as patterns."""

from typing import Literal

from phpdyno._native import BodyPattern
from phpdyno.answers.check import Expectation

Compared = Literal["exact", "masked", "by_length"]
"""How answers under load are compared: byte for byte, byte for byte but for what moves, or by
status and length alone."""

LONGEST_BYTES = 4 << 20
"""The load core holds what may move of a body until it is complete, and no more than this of
it."""


def compared(known: Expectation, index: int) -> Compared:
    """How a target's answers can be compared while the arm is driven.

    By length where it was declared that bodies move, where they are sent encoded (equal pages may
    be packed differently), and where they are very long.
    """
    mask = known.masks[index]
    if known.targets[index].answers != "body" or mask.length_range[1] > LONGEST_BYTES:
        return "by_length"
    if any(name.lower() == "content-encoding" for answer in known.answers[index] for name, _ in answer.headers):
        return "by_length"
    return "masked" if mask.gaps else "exact"


def patterns_of(known: Expectation) -> dict[str, BodyPattern]:
    """The pattern of each target whose bodies can be compared whole, by its label."""
    found = {}
    for index, target in enumerate(known.targets):
        if compared(known, index) != "by_length":
            mask = known.masks[index]
            found[target.label] = BodyPattern(mask.literals, [(gap.low, gap.high, bytes(sorted(gap.allowed))) for gap in mask.gaps])
    return found
