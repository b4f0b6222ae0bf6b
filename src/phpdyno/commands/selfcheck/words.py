"""A selfcheck in words."""

import math

from phpdyno.journal.checks import LoopCost


def ground_in_words(ground: LoopCost) -> str:
    """What is planted on what."""
    cost_ns, unit_ns = ground.line.cost_ns(ground.turns), ground.line.unit_ns
    return (
        f"a request costs {cost_ns / 1e3:.0f} µs of CPU; a turn of the loop in front of it costs {unit_ns:.2f} ns, so requests with "
        f"{ground.turns} and with {ground.more_turns} turns differ by {100 * math.expm1(ground.effect):.3f} %"
    )
