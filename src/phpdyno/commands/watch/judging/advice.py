"""How many workers fit what was seen: a range with its reasons and its confidence, never more than
the loads that were seen allow. Pure.

The range's ends, in words. Fewest: the busiest minute's demand `a` (workers in use, without waiting
for a core) and twice its root, which holds the chance to wait at a few per cent. Most: what was
asked at once, and no more workers than fill the cores (cores / CPU share of a busy worker). Where
all workers were busy the demand above them was not seen: at most twice as many are named then.
While cores are full nothing grows. Memory caps by PSS: what a worker holds alone, what all share
once; never by RSS.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from phpdyno.commands.watch.found import Advice, Confidence
from phpdyno.commands.watch.judging.history import SeenInterval

RESERVE = 0.10
"""Of the room in memory that stays free: a worker can be larger than those that were seen."""
SATURATED = 0.05
CORES_FULL = 0.20
HELD = 0.5
GROWTH = 2
SPARE = 1.25
SHORT_S, LONG_S = 600.0, 86_400.0
FEW = 1000


class Range(Struct, frozen=True):
    """Fewest and most workers."""

    low: int
    high: int


def advise(
    pool: str, master: int, seen: SeenInterval, directives: Mapping[str, str], *, process_max: int = 0, source: str = "scoreboard"
) -> Advice:
    """What follows for one pool. `directives` are those of its file."""
    reasons: list[str] = []
    found = _range(seen, reasons)
    if found is not None:
        found = _capped(found, seen, process_max, reasons)
    confidence, why = _confidence(seen, found, source)
    return Advice(
        pool=pool,
        master=master,
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        confidence=confidence,
        why_confidence=why,
        reasons=tuple(reasons),
        warnings=(*_of_the_load(seen, found), *faults_of_file(directives), *_running(seen, directives)),
        limits=seen.limits,
        watched_s=seen.watched_s,
        requests=seen.requests,
    )


def _range(seen: SeenInterval, reasons: list[str]) -> Range | None:
    """Before memory is asked."""
    if seen.busiest is None or seen.peak is None:
        reasons.append("how many workers are busy could not be read")
        return None
    if not seen.requests and seen.busiest < 0.01:
        reasons.append("no request was seen: an idle pool tells nothing")
        return None
    load = seen.busiest
    need = max(1, math.ceil(load + 2.0 * math.sqrt(load)))
    fills = None if not seen.cpu_per_busy else max(1, math.ceil(seen.cores / seen.cpu_per_busy - 0.05))
    reasons.append(f"the busiest minute kept {load:.1f} workers in use, {seen.peak} at once at most")
    if fills is not None and seen.cpu_per_busy is not None:
        reasons.append(f"a busy worker uses {_percent(seen.cpu_per_busy)} of a core, so {fills} fill {_cores(seen.cores)}")
    if seen.full >= CORES_FULL and seen.max_children:
        return _while_full(seen, need, fills, reasons)
    if seen.stuck >= HELD and seen.max_children:
        reasons.append(f"{seen.stuck:.1f} workers are held by requests that do not end; more workers would be held as well")
        high = min(seen.max_children, max(need, math.ceil(SPARE * seen.peak)))
        return Range(min(need, high), high)
    if seen.saturated >= SATURATED and seen.max_children:
        return _while_saturated(seen, need, fills, reasons)
    high = max(need, math.ceil(SPARE * seen.peak))
    if fills is not None:
        high = max(need, min(high, fills))
    return Range(need, high)


def _while_full(seen: SeenInterval, need: int, fills: int | None, reasons: list[str]) -> Range:
    most = seen.max_children or 1
    if seen.full_by_others:
        reasons.append(f"the cores were full {seen.full:.0%} of the time, mostly by others than this pool: more workers do not help")
        return Range(min(need, most), most)
    if fills is None:
        reasons.append(f"the cores were full {seen.full:.0%} of the time: no number of workers helps")
        return Range(min(need, most), most)
    reasons.append(f"the cores were full {seen.full:.0%} of the time: no number of workers helps, and more than {fills} only wait for one")
    high = min(most, max(fills, math.ceil(SPARE * fills)))
    return Range(min(fills, high), high)


def _while_saturated(seen: SeenInterval, need: int, fills: int | None, reasons: list[str]) -> Range:
    most = seen.max_children or 1
    reasons.append(
        f"all {most} workers were busy {seen.saturated:.0%} of the time while cores were free: what would be asked of more was not seen, "
        f"so no more than {GROWTH * most} are named; watch again with them"
    )
    high = GROWTH * most if fills is None else max(1, min(GROWTH * most, max(fills, need)))
    return Range(min(max(most, need), high), high)


def _capped(found: Range, seen: SeenInterval, process_max: int, reasons: list[str]) -> Range:
    high = found.high
    if seen.private_kib and seen.room_kib is not None:
        fits = max(1, int(((1.0 - RESERVE) * seen.room_kib - seen.shared_kib) / seen.private_kib))
        each = f"a worker holds {seen.private_kib / 1024:.0f} MiB alone, {seen.shared_kib / 1024:.0f} MiB are shared (PSS)"
        if fits < high:
            reasons.append(f"{each}: {seen.room_is} has room for {fits}")
            high = fits
        else:
            reasons.append(f"{each}: {fits} would fit {seen.room_is}")
    if 0 < process_max < high:
        reasons.append(f"process.max allows {process_max} in all pools of its master")
        high = process_max
    return Range(min(found.low, high), high)


def _confidence(seen: SeenInterval, found: Range | None, source: str) -> tuple[Confidence, str]:
    for wrong, why in (
        (found is None, "nothing to go by"),
        (seen.watched_s < SHORT_S, f"watched for less than {SHORT_S / 60:.0f} minutes"),
        ((seen.requests or 0) < FEW, f"fewer than {FEW:,} requests"),
        (seen.saturated >= HELD / 2, "the pool was full for a good part of it, so the load above was not seen"),
        (seen.private_kib is None, "its memory could not be read (run phpdyno as root)"),
    ):
        if wrong:
            return "low", why
    varied = seen.busiest is not None and seen.quietest is not None and seen.busiest >= 2.0 * seen.quietest
    if seen.watched_s >= LONG_S and varied and source == "scoreboard":
        return "high", ""
    return "medium", "less than a day was seen" if seen.watched_s < LONG_S else "the load hardly varied"


def _of_the_load(seen: SeenInterval, found: Range | None) -> Iterator[str]:
    if seen.overflows:
        limit = "" if seen.queue_limit is None else f" of {seen.queue_limit}"
        yield f"the queue{limit} overflowed: connections were turned away; listen.backlog and net.core.somaxconn limit it together"
    if seen.swapped:
        yield "the host reads from swap: fewer workers first, whatever the load asks for"
    if seen.stuck >= 1.0:
        yield "requests hang: set request_terminate_timeout and timeouts of what they call, rather than more workers"
    if found is not None and seen.max_children and found.high > seen.max_children:
        yield f"each worker may hold a connection: the database must allow {found.high} from this pool (max_connections)"


def faults_of_file(directives: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with spares in a pool's file: php-fpm refuses some of it at its next start or
    reload."""
    if directives.get("pm", "").lower() != "dynamic":
        return
    values = {
        name: _number(directives.get(f"pm.{name}")) for name in ("max_children", "start_servers", "min_spare_servers", "max_spare_servers")
    }
    most, start, low, high = values.values()
    refused = "php-fpm will refuse to start with this file"
    if low is not None and high is not None and low > high:
        yield f"pm.min_spare_servers {low} is above pm.max_spare_servers {high}: {refused}"
    if most is not None and high is not None and high > most:
        yield f"pm.max_spare_servers {high} is above pm.max_children {most}: {refused}"
    if most is not None and low is not None and low > most:
        yield f"pm.min_spare_servers {low} is above pm.max_children {most}: {refused}"
    if None not in {start, low, high} and not (low or 0) <= (start or 0) <= (high or 0):
        yield f"pm.start_servers {start} is not between {low} and {high}: {refused}"
    if low == 1 and most is not None and most > 2:
        yield (
            "pm.min_spare_servers = 1 starts one worker a second, whatever the load (php-fpm adds min_spare − idle a second): "
            f"{most - 1} s from one to {most}"
        )


def _running(seen: SeenInterval, directives: Mapping[str, str]) -> Iterator[str]:
    if seen.configured and seen.max_children and seen.configured != seen.max_children:
        yield f"its file says pm.max_children {seen.configured}, {seen.max_children} are in effect: it was edited since the last reload"
    if seen.pm and (asked := directives.get("pm", "").lower()) and asked != seen.pm:
        yield f"its file says pm = {asked}, {seen.pm} is in effect"


def crowd(pools: Sequence[tuple[str, SeenInterval]], ram_kib: float | None) -> str:
    """Whether all pools together fit the host's RAM when each has all its workers; '' where they
    do, or it is not known."""
    known = [(name, seen) for name, seen in pools if seen.private_kib and seen.max_children]
    if not known or not ram_kib:
        return ""
    whole = sum((seen.max_children or 0) * (seen.private_kib or 0.0) + seen.shared_kib for _, seen in known)
    if whole <= ram_kib:
        return ""
    children = sum(seen.max_children or 0 for _, seen in known)
    return (
        f"{len(known)} pool{'s' if len(known) > 1 else ''} may start {children} workers, {whole / (1 << 20):.1f} GiB (PSS) where this host "
        f"has {ram_kib / (1 << 20):.1f} GiB of RAM: pools share it; process.max bounds them together"
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None


def _cores(cores: float) -> str:
    return f"{cores:g} core{'' if cores == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
