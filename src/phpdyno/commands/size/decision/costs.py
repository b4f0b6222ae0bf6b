"""What each target costs by itself, from what was measured of it. Pure."""

from collections.abc import Sequence

from phpdyno.commands.size.found import TargetCost
from phpdyno.commands.size.record import TargetMeasured
from phpdyno.commands.size.words import part
from phpdyno.stats.capacity.growth import Growth, growth
from phpdyno.stats.capacity.memory import heavy_targets

MOST_GROWTH = 0.5
"""A worker that leaks is replaced before it has grown by half."""
THOUSAND = 1_000
WAITS, NOTABLE_NS = 0.5, 1_000_000
"""A part of an answer's time that is told, if it is a millisecond at least: below that it is nginx
and the way there."""


def target_costs(measured: Sequence[TargetMeasured]) -> tuple[TargetCost, ...]:
    """A row for each target, in the order in which they were measured."""
    held = {each.label: float(max(1, each.steps[-1].private_kib)) for each in measured}
    heavy = heavy_targets(held) if len(held) > 1 else ()
    return tuple(_cost(each, heavy=each.label in heavy) for each in measured)


def growth_of_target(each: TargetMeasured) -> Growth:
    """How the memory of its worker grew. Raises ValueError where it was read too seldom."""
    return growth([step.requests for step in each.steps], [max(1, step.private_kib) for step in each.steps])


def _cost(each: TargetMeasured, *, heavy: bool) -> TargetCost:
    grows = growth_of_target(each)
    leaks = grows.kind == "leaks"
    waiting = min(1.0, max(0.0, 1.0 - each.cpu_ns / max(1, each.wall_ns)))
    last = each.steps[-1]
    most = grows.max_requests(MOST_GROWTH)
    said = [f"a worker that serves it holds {last.private_kib / 1024:.1f} MiB"]
    if leaks:
        said.append(f"and grows by {grows.kib_per_request * THOUSAND:.0f} KiB with each thousand requests: pm.max_requests = {most}")
    elif grows.kind == "settling":
        said.append("and still grows, more and more slowly: no leak")
    elif grows.kind == "unclear":
        said.append(f"and whether it grows was not to be told in {last.requests:,} requests")
    if heavy:
        said.append("(much more than the lightest target: a pool of its own keeps the other workers small)")
    if waiting >= WAITS and each.wall_ns - each.cpu_ns >= NOTABLE_NS:
        said.append(f"; in {part(waiting)} of an answer's time PHP does not compute")
    return TargetCost(
        label=each.label,
        cpu_ms=each.cpu_ns / 1e6,
        wall_ms=each.wall_ns / 1e6,
        waiting=waiting,
        private_kib=last.private_kib,
        growth_kib=grows.kib_per_request * THOUSAND if leaks else None,
        max_requests=most,
        heavy=heavy,
        words=" ".join(said).replace(" ;", ";"),
    )
