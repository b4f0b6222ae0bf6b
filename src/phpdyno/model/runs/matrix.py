"""A matrix: profiles of several apps, each tried on all of them."""

from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.model.runs.tune import TunedRatio
from phpdyno.model.verdict import Relevance, VerdictKind

ALL = "all together"
"""The profile that all apps share."""


class Cell(Struct, frozen=True):
    """A build that one profile was used for, on one app, against the same PHP compiled without any
    profile."""

    profile: Annotated[str, Meta(description="The app that the build was trained on, or `all together`.")]
    app: Annotated[str, Meta(description="The app that it was measured on.")]
    ratio: Annotated[TunedRatio | None, Meta(description="Cost without a profile / with it; null where there is no interval.")]
    kind: Annotated[VerdictKind, Meta(description="The verdict.")]
    relevance: Annotated[Relevance, Meta(description="Whether the difference matters.")]
    reason: Annotated[str, Meta(description="Why there is no number; empty otherwise.")] = ""


class ProfileFound(Struct, frozen=True):
    """What a profile is good for, over all apps."""

    name: Annotated[str, Meta(description="The profile.")]
    build: Annotated[str, Meta(description="The build that was made by it.")]
    hurts: Annotated[tuple[str, ...], Meta(description="Apps that it certainly makes slower.")]
    unsafe: Annotated[tuple[str, ...], Meta(description="Apps on which a loss that matters cannot be ruled out.")]
    worst: Annotated[float | None, Meta(description="The lowest end of all its intervals; null where one is missing.")]

    @property
    def safe(self) -> bool:
        """Whether no app loses by it what matters."""
        return not self.unsafe
