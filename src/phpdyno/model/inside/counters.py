"""What the processor's own counters say of a request."""

from typing import Annotated

from msgspec import Meta, Struct


class CounterReading(Struct, frozen=True):
    """One event, counted in user space and in the kernel, while a worker served requests."""

    event: Annotated[str, Meta(description="Name of the event, as perf has it.")]
    rounds: Annotated[tuple[float, ...], Meta(description="Count per request, one figure for each round.")]
    median: Annotated[float, Meta(description="Median of the rounds.")]
    lowest: Annotated[float, Meta(description="Lowest of the rounds.")]
    highest: Annotated[float, Meta(description="Highest of the rounds.")]
    running: Annotated[float, Meta(description="Share of the time in which the processor really counted it, 0 to 1; the rest is reckoned.")]


class HardwareCounters(Struct, frozen=True):
    """Counts per request of one arm's worker."""

    arm: Annotated[str, Meta(description="Name of the arm.")]
    requests: Annotated[int, Meta(description="Requests of all rounds together.")]
    readings: Annotated[tuple[CounterReading, ...], Meta(description="Events that this machine counts, in a fixed order.")]
    absent: Annotated[tuple[str, ...], Meta(description="Events that it does not count.")]
