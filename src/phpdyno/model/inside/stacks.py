"""Where the time of a request goes, by what called what: stacks sampled while requests ran."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Clock = Literal["wall", "cpu"]


class Stack(Struct, frozen=True):
    """One stack and how often it was met."""

    frames: Annotated[tuple[str, ...], Meta(description="Functions and files, the outermost first.")]
    samples: Annotated[int, Meta(description="Samples in which this was the whole stack.")]


class SampledFunction(Struct, frozen=True):
    """One function's share of the samples."""

    name: Annotated[str, Meta(description="Function, method, or file whose code outside of functions runs.")]
    own: Annotated[float, Meta(description="Share of the samples in which it was innermost, 0 to 1.")]
    inclusive: Annotated[float, Meta(description="Share of the samples in which it was anywhere on the stack, 0 to 1.")]


class StackProfile(Struct, frozen=True):
    """Stacks of one arm by one clock: `wall` goes on while a request waits, `cpu` does not."""

    arm: Annotated[str, Meta(description="Name of the arm.")]
    clock: Annotated[Clock, Meta(description="Clock by which samples were taken: `wall` or `cpu`.")]
    period_us: Annotated[float, Meta(description="Microseconds of that clock from sample to sample.")]
    requests: Annotated[int, Meta(description="Requests that were sampled.")]
    samples: Annotated[int, Meta(description="Samples of all stacks together.")]
    stacks: Annotated[tuple[Stack, ...], Meta(description="Stacks, the one that was met most often first.")]
    functions: Annotated[tuple[SampledFunction, ...], Meta(description="Functions, the one with most samples of its own first.")]

    @property
    def request_us(self) -> float:
        """Microseconds of a request that the samples stand for; 0 without requests."""
        return self.samples * self.period_us / self.requests if self.requests else 0.0


class PhpProfile(Struct, frozen=True):
    """PHP functions of one arm by both clocks."""

    wall: Annotated[StackProfile, Meta(description="By wall time: where a request's time goes, waiting included.")]
    cpu: Annotated[StackProfile, Meta(description="By CPU time of the worker.")]
    notes: Annotated[tuple[str, ...], Meta(description="What to know when reading it, in words.")] = ()
