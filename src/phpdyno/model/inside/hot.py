"""Where the time of a request goes, function by function, before and after a change."""

from typing import Annotated

from msgspec import Meta, Struct


class HotFunction(Struct, frozen=True):
    """One function and what it takes of a request."""

    name: Annotated[str, Meta(description="Its symbol, without what the compiler adds to the parts that it splits off.")]
    place: Annotated[str, Meta(description="The file that it is in: a program, a module, a library, `kernel`.")]
    before_us: Annotated[float, Meta(description="Microseconds of CPU per request in the first arm.")]
    after_us: Annotated[float, Meta(description="The same in the second arm.")]


class HotPass(Struct, frozen=True):
    """Two arms driven in turns while perf sampled their workers' CPU clock. To describe, not to
    compare: there is no interval."""

    before: Annotated[str, Meta(description="Name of the first arm.")]
    after: Annotated[str, Meta(description="Name of the second arm.")]
    requests: Annotated[int, Meta(description="Requests to each arm.")]
    samples: Annotated[int, Meta(description="Samples taken of both.")]
    functions: Annotated[tuple[HotFunction, ...], Meta(description="Functions, the one that takes most of the first arm first.")]
    places: Annotated[tuple[HotFunction, ...], Meta(description="The same by file.")]
    notes: Annotated[tuple[str, ...], Meta(description="What could not be named, in words.")] = ()
