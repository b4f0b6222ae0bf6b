"""Stacks with their counts: shortened, and summed up by function. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from phpdyno.model.inside.stacks import Clock, SampledFunction, Stack, StackProfile

Frames = tuple[str, ...]
MOST_FUNCTIONS = 60


def shortened(stacks: Mapping[Frames, int], roots: Sequence[str]) -> Counter[Frames]:
    """The same with paths below `roots` relative to them; stacks that are equal then together."""
    found: Counter[Frames] = Counter()
    heads = [root.rstrip("/") + "/" for root in roots]
    for frames, count in stacks.items():
        found[tuple(_short(frame, heads) for frame in frames)] += count
    return found


def _short(frame: str, heads: Iterable[str]) -> str:
    for head in heads:
        frame = frame.replace(head, "")
    return frame


def profile_of(arm: str, clock: Clock, stacks: Mapping[Frames, int], *, period_us: float, requests: int) -> StackProfile:
    """The profile that these samples make; the functions that have most of their own, and those
    with most in them."""
    total = sum(stacks.values())
    own: Counter[str] = Counter()
    inclusive: Counter[str] = Counter()
    for frames, count in stacks.items():
        own[frames[-1]] += count
        for name in set(frames):
            inclusive[name] += count
    rows = [SampledFunction(name, own[name] / total, count / total) for name, count in inclusive.items()]
    by_own = sorted(rows, key=lambda row: (-row.own, -row.inclusive, row.name))
    by_inclusive = sorted(rows, key=lambda row: (-row.inclusive, row.name))
    kept = {row.name for row in (*by_own[:MOST_FUNCTIONS], *by_inclusive[:MOST_FUNCTIONS])}
    ordered = sorted(stacks.items(), key=lambda item: (-item[1], item[0]))
    return StackProfile(
        arm=arm,
        clock=clock,
        period_us=period_us,
        requests=requests,
        samples=total,
        stacks=tuple(Stack(frames, count) for frames, count in ordered),
        functions=tuple(row for row in by_own if row.name in kept),
    )
