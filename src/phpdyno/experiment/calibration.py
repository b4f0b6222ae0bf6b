"""Slot length, pairs per block and length of a block, from what a request of each arm costs. Pure."""

import math
from collections.abc import Mapping

from phpdyno.journal.records import Calibrated

SLOT_NS = 15_000_000
SINGLE_REQUEST_NS = 10_000_000
LEAST_PAIRS = 4
REQUESTS_PER_FLIGHT = 20
SPARE_BLOCKS = 6
LEAST_BLOCK_S = 1.0
MOST_BLOCK_S = 12.0


def slot_length(request_wall_ns: int, concurrency: int = 1) -> int:
    """Requests per slot: one when a request takes 10 ms or more, else about 15 ms of them. The noise is slow, so short slots win.

    With more than one request in flight a slot holds at least 20 for each, so that filling and draining weigh little.
    """
    alone = 1 if request_wall_ns >= SINGLE_REQUEST_NS else max(1, math.ceil(SLOT_NS / max(1, request_wall_ns)))
    return alone if concurrency == 1 else max(alone, REQUESTS_PER_FLIGHT * concurrency)


def calibrate(
    *,
    request_wall_ns: Mapping[str, int],
    control: str,
    control_cpu_ns: int,
    overhead_s: float,
    budget_s: float,
    least_blocks: int,
    slot_requests: int | None,
    concurrency: int = 1,
) -> Calibrated:
    """Plan blocks so that the budget holds a few more than the interval needs, and share a block's time equally among the treatments.

    `request_wall_ns` is the time of one request per arm; equal time means that an arm with dear requests gets fewer pairs.
    """
    treatments = [name for name in request_wall_ns if name != control]
    slot = slot_requests or slot_length(request_wall_ns[control], concurrency)
    wanted = least_blocks + SPARE_BLOCKS
    block_s = min(MOST_BLOCK_S, max(LEAST_BLOCK_S, budget_s / wanted - overhead_s))
    share_s = block_s / max(1, len(treatments))
    pairs = {
        name: max(LEAST_PAIRS, round(share_s * 1e9 / (slot * (request_wall_ns[control] + request_wall_ns[name])))) for name in treatments
    }
    planned_s = sum(count * slot * (request_wall_ns[control] + request_wall_ns[name]) for name, count in pairs.items()) / 1e9
    fitting = int(budget_s / (planned_s + overhead_s)) if planned_s + overhead_s > 0 else 0
    note = (
        f"{slot} request(s) per slot, blocks of about {planned_s:.1f} s + {overhead_s:.1f} s to start and warm up; "
        f"about {fitting} fit in the budget"
    )
    if fitting < least_blocks:
        enough_s = least_blocks * (planned_s + overhead_s)
        note += f", but no interval is finite below {least_blocks} blocks: nothing can be decided in less than about {enough_s:.0f} s"
    return Calibrated(
        slot_requests=slot,
        request_wall_ns=request_wall_ns[control],
        request_cpu_ns=control_cpu_ns,
        pairs=pairs,
        block_s=planned_s,
        overhead_s=overhead_s,
        note=note,
    )
