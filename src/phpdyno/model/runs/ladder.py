"""A ladder: ways to make PHP faster, each step against the one that it stands on."""

from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.model.runs.tune import TunedRatio
from phpdyno.model.verdict import Relevance, VerdictKind

STOCK = "stock"
"""The PHP that is there."""


class LadderStep(Struct, frozen=True):
    """One step: `spec` is all of it, `on` the step that it stands on."""

    name: Annotated[str, Meta(description="What the step does.")]
    spec: Annotated[str, Meta(description="The arm as a SPEC, on top of its comparison's control; empty where its build failed.")]
    on: Annotated[str, Meta(description="The step that it is held against.")] = STOCK
    build: Annotated[str, Meta(description="The build that it runs.")] = ""
    failed: Annotated[str, Meta(description="Why there is no build for it; empty when there is one.")] = ""


class StepFound(Struct, frozen=True):
    """What a step came to."""

    step: Annotated[LadderStep, Meta(description="The step.")]
    ratio: Annotated[TunedRatio | None, Meta(description="Cost of what it stands on / its own; null where there is no interval.")]
    total: Annotated[TunedRatio | None, Meta(description="Cost of the stock PHP / its own.")]
    kind: Annotated[VerdictKind, Meta(description="The verdict against what it stands on.")]
    relevance: Annotated[Relevance, Meta(description="Whether the difference matters.")]
    earned: Annotated[bool, Meta(description="Whether it earned its place.")]
    reason: Annotated[str, Meta(description="Why it is not there, or what it is.")] = ""
