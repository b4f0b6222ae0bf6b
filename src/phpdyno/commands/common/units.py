"""Durations and percentages as people type them."""

import re

from phpdyno.errors import UsageError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
MOST_S = 1e9
"""As in a study file."""


def seconds(text: str, *, option: str) -> float:
    """`90`, `90s`, `5m`, `1.5h` in seconds."""
    match = _DURATION.fullmatch(text.strip())
    if not match or float(match[1]) == 0:
        raise UsageError(f"{text!r} is not a duration", where=option, next_step="write for example 90s, 5m or 1h")
    value = float(match[1]) * _SECONDS[match[2]]
    if value > MOST_S:
        raise UsageError(f"a duration is at most {MOST_S:.0f} s", where=option, next_step="write for example 90s, 5m or 1h")
    return value


def optional_seconds(text: str | None, *, option: str) -> float | None:
    """The same of an option that may be left out."""
    return None if text is None else seconds(text, option=option)


def checked_seed(seed: int) -> int:
    """The seed. Raises UsageError below 0."""
    if seed < 0:
        raise UsageError("a seed is a whole number from 0 on", where="--seed")
    return seed


def fraction(text: str, *, option: str, least: float, most: float) -> float:
    """`1%`, `0.5 %` or `0.01` as a fraction within bounds."""
    stripped = text.strip()
    try:
        value = float(stripped.removesuffix("%")) / (100.0 if stripped.endswith("%") else 1.0)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise UsageError(f"{text!r} is not a share from {least:.0%} to {most:.1%}", where=option, next_step="write for example 1%")
    return value
