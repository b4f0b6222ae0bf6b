"""How many instructions a request executes, and in which functions of the server."""

from typing import Annotated

from msgspec import Meta, Struct

Counts = tuple[int, ...]


class FunctionInstructions(Struct, frozen=True):
    """One function and what it executes of a request of the mix."""

    name: Annotated[str, Meta(description="Its symbol, or its address in the file where that has none for it.")]
    place: Annotated[
        str,
        Meta(description="The file that it is in: a program, a module, a library; empty where none is known, as for code of the JIT."),
    ]
    own: Annotated[float, Meta(description="Instructions per request in the function itself.")]
    inclusive: Annotated[
        float | None,
        Meta(description="The same together with what it calls; null for a function that calls itself, directly or through others."),
    ]
    share: Annotated[float, Meta(description="Its own instructions as a share of the request's, 0 to 1.")]


class TargetInstructions(Struct, frozen=True):
    """One target's count, from request to request."""

    target: Annotated[str, Meta(description="Label of the target.")]
    weight: Annotated[float, Meta(description="Its share of the mix, 0 to 1.")]
    counts: Annotated[Counts, Meta(description="Instructions of each request, in the order in which they were made.")]


class Instructions(Struct, frozen=True):
    """Instructions per request of one arm, in user space: what the kernel does for it is not among
    them.

    Each count is the difference of two readings of one worker's counter, one request apart.
    """

    arm: Annotated[str, Meta(description="Name of the arm.")]
    rounds: Annotated[tuple[float, ...], Meta(description="Instructions per request of the mix, one figure for each round.")]
    median: Annotated[float, Meta(description="Median of the rounds.")]
    lowest: Annotated[float, Meta(description="Lowest of the rounds.")]
    highest: Annotated[float, Meta(description="Highest of the rounds.")]
    targets: Annotated[tuple[TargetInstructions, ...], Meta(description="The same by target.")]
    functions: Annotated[
        tuple[FunctionInstructions, ...], Meta(description="Functions of the round in the middle, the one with most of its own first.")
    ]
    requests: Annotated[int, Meta(description="Requests that were counted.")]
    warm_requests: Annotated[int, Meta(description="Requests before the first that was counted.")]
    notes: Annotated[tuple[str, ...], Meta(description="What differs from the arm as it is measured, in words.")] = ()

    @property
    def spread(self) -> float:
        """Highest less lowest round, as a share of the median."""
        return (self.highest - self.lowest) / self.median if self.median else 0.0
