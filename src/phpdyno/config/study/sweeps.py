"""The sweeps of a study file, and the reference's figures beside them."""

from collections.abc import Callable, Collection, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from phpdyno.config.nearest import suggestion
from phpdyno.config.study.values import Name, Positive
from phpdyno.model.runs.study import ReferenceSweep, StudySweep

MOST_POINTS = 20
DEFAULT_LOADS = (1, 3, 5, 10, 20, 30, 40, 50)
Refuse = Callable[[str, str, str], None]
"""Raises UsageError: key, what, next step."""

Flight = Annotated[int, Meta(ge=1, le=1000)]


class RawSweep(Struct, frozen=True, forbid_unknown_fields=True):
    """A sweep as the file has it; without `arms` all arms are in it."""

    name: Name
    app: str
    budget_s: Positive
    arms: tuple[str, ...] | None = None
    concurrency: Annotated[tuple[Flight, ...], Meta(min_length=1, max_length=MOST_POINTS)] = DEFAULT_LOADS
    open_share: Annotated[float, Meta(gt=0, le=1.5)] | None = None


class RawReferenceSweep(Struct, frozen=True, forbid_unknown_fields=True):
    """Figures of one machine by arm, and then by requests in flight."""

    machine: str
    per_s: dict[str, dict[str, Positive]]


def complete_sweep(key: str, raw: RawSweep, arms: Collection[str], refuse: Refuse) -> StudySweep:
    """The sweep with every name checked; `refuse` raises for what cannot be."""
    chosen = tuple(arms) if raw.arms is None else raw.arms
    if not chosen:
        refuse(f"{key}.arms", "there is no arm to sweep", "name one, or leave arms out for all of them")
    for position, name in enumerate(chosen):
        if name not in arms:
            refuse(f"{key}.arms[{position}]", f"there is no arm {name!r}", suggestion(name, arms))
        if name in chosen[:position]:
            refuse(f"{key}.arms[{position}]", f"{name!r} is listed twice", "keep one of the two")
    if len(set(raw.concurrency)) < len(raw.concurrency):
        refuse(f"{key}.concurrency", "a number of requests in flight is listed twice", "keep one of the two")
    return StudySweep(raw.name, raw.app, chosen, tuple(sorted(raw.concurrency)), raw.budget_s, raw.open_share or 0.0)


def complete_reference(
    key: str, raw: RawReferenceSweep, arms: Collection[str], sweeps: Sequence[StudySweep], refuse: Refuse
) -> ReferenceSweep:
    """The figures of one machine; each is of an arm and a load that some sweep measures, so that it
    stands beside ours."""
    for name, by_load in raw.per_s.items():
        if name not in arms:
            refuse(f"{key}.per_s.{name}", f"there is no arm {name!r}", suggestion(name, arms))
        measured = {str(load) for sweep in sweeps if name in sweep.arms for load in sweep.concurrency}
        for load in by_load:
            if load not in measured:
                refuse(f"{key}.per_s.{name}.{load}", f"no sweep measures {name!r} with {load} in flight", "add it to a sweep's concurrency")
    return ReferenceSweep(raw.machine, raw.per_s)
