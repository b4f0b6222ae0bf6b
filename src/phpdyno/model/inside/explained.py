"""What a request's time goes into, of one arm or of two beside each other. It is also what `--json`
prints and what a journal keeps."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from phpdyno.model.inside.stacks import PhpProfile

SCHEMA = "phpdyno.explain/1"

Unit = Literal["ms", "KiB", "calls", "count", "percent", "instructions"]
"""`calls` are per request, `percent` is of 100."""

SectionKey = Literal["cpu", "wall", "database", "syscalls", "memory", "opcache", "instructions", "php_functions", "functions", "counters"]
"""The sections in the order of the page; `SectionKey.__args__` is that order."""

ON_CPU = "on a CPU"
"""The part of a worker's time that is PHP's CPU once more, by the scheduler's account."""


class Reading(Struct, frozen=True):
    """One quantity of one arm over several fresh starts of it."""

    value: Annotated[float, Meta(description="Median over the starts.")]
    low: Annotated[float, Meta(description="Least of the starts.")]
    high: Annotated[float, Meta(description="Greatest of the starts.")]
    starts: Annotated[int, Meta(description="How many starts it rests on.")]


class Figure(Struct, frozen=True):
    """One quantity of every arm, and with two arms the difference."""

    name: Annotated[str, Meta(description="What it is of.")]
    unit: Annotated[Unit, Meta(description="Unit of all its values; `calls` per request, `percent` of 100.")]
    arms: Annotated[tuple[Reading | None, ...], Meta(description="Each arm's, in the order of `arms`; null where an arm has none.")]
    difference: Annotated[float | None, Meta(description="Second arm minus first, mean over the starts; null without two values.")] = None
    spread: Annotated[
        float | None,
        Meta(description="What chance alone makes of the difference: half the width of its interval. Null where it rests on one start."),
    ] = None
    part: Annotated[bool, Meta(description="Whether it is a part of the section's whole, not the whole or something beside it.")] = True

    @property
    def clear(self) -> bool:
        """Whether the difference is more than the spread."""
        return self.difference is not None and self.spread is not None and abs(self.difference) > self.spread


class Section(Struct, frozen=True, kw_only=True):
    """One view of what a request does. Where it could not be looked at, `unread` says why and there
    are no figures."""

    key: Annotated[SectionKey, Meta(description="Which section it is.")]
    title: Annotated[str, Meta(description="The same in words, with the unit.")]
    read_by: Annotated[str, Meta(description="What it was read by.")]
    figures: Annotated[tuple[Figure, ...], Meta(description="Its quantities.")] = ()
    notes: Annotated[tuple[str, ...], Meta(description="Remarks: patterns that show, parts that could not be read, with the reason.")] = ()
    unread: Annotated[str, Meta(description="Why nothing of it could be read; empty where it was.")] = ""


class Explained(Struct, frozen=True, kw_only=True):
    """Where a request's time goes in one arm, or in two and what differs between them."""

    schema: Annotated[str, Meta(description="Name and version of this format.")] = SCHEMA
    app: Annotated[str, Meta(description="Name of the app.")]
    app_version: Annotated[str, Meta(description="Its version; empty where it has none.")]
    arms: Annotated[tuple[str, ...], Meta(description="Names of the arms: one, or two of which the second is compared with the first.")]
    targets: Annotated[tuple[str, ...], Meta(description="What was asked for.")]
    starts: Annotated[int, Meta(description="Fresh starts of every arm.")]
    requests: Annotated[int, Meta(description="Measured requests to each arm, all starts together, without those that were traced.")]
    concurrency: Annotated[int, Meta(description="Requests in flight, and workers.")]
    transport: Annotated[str, Meta(description="How requests came to php-fpm: `http` through nginx, or `fastcgi`.")]
    sections: Annotated[tuple[Section, ...], Meta(description="What was looked at.")]
    warnings: Annotated[tuple[str, ...], Meta(description="What must be known before all else; empty where there is nothing.")] = ()
    profiles: Annotated[tuple[PhpProfile, ...], Meta(description="Sampled stacks of PHP functions of each arm; empty without them.")] = ()

    def section(self, key: SectionKey) -> Section | None:
        """The section of that key, None where there is none."""
        return next((each for each in self.sections if each.key == key), None)
