"""Every sentence of `size`. Pure."""

from collections.abc import Iterator

from msgspec.structs import replace

from phpdyno.commands.measure.view.shape import Estimate
from phpdyno.commands.size.decision.confirmation import open_visits
from phpdyno.commands.size.found import ConfirmedRow, ManagerRow, RecommendedPool, SizeFound
from phpdyno.commands.size.record import LimitsRead, ManagerFailed, SizeConcluded, SizeHost, SizeRun, Stopped, TargetsChosen
from phpdyno.commands.size.request import SizeRequest
from phpdyno.report.words import NOTHING, count

MIB = 1024
PROGRAM = "php-fpm"
MUCH = 0.3
"""Of a core: a database that needs so much of it is slowed down by who else keeps it busy."""
MATTERS = 0.03
"""Of throughput: what differs by less is called the same."""
KINDS = {
    "memory": "memory",
    "memory_worst": "memory, each worker having served the heaviest target,",
    "process_max": "php-fpm's process.max",
    "max_connections": "the database's max_connections",
    "asked": "--most",
}
HELPERS_FULL = frozenset({"web", "generator", "helpers", "stranger_beside_helpers"})
"""Limits of this measurement, none of the pool's."""


def told(found: SizeFound, run: SizeRun) -> SizeFound:
    """The same with its answer and its sentences."""
    concluded = run.last(SizeConcluded)
    kind = concluded.bottleneck.kind if concluded is not None and concluded.bottleneck is not None else ""
    own_rate = run.header.asked.objective.rate_per_s is None
    return replace(found, answer=answer_line(found, kind, own_rate=own_rate), sentences=tuple(_sentences(found, run, kind)))


def answer_line(found: SizeFound, kind: str = "", *, own_rate: bool = False) -> str:
    """`8 workers: 97 to 100 % of the best throughput, p99 180 ms at 50/s, 310 MiB; 4 workers
    (cores × 2): 20.1 to 23.5 % fewer requests/s`.

    `own_rate`: nobody asked for the rate, it is a share of the pool's own throughput.
    """
    pool = found.recommended
    times = pool.p99_ms or pool.predicted_p99_ms
    held = ""
    if times is not None:
        of = f" ({part(pool.rate_per_s / pool.per_s.value)} of what it serves)" if own_rate and pool.per_s is not None else ""
        held = f"p99 {ms(times.value)} at {rate(pool.rate_per_s)}/s{of}" + ("" if pool.p99_ms is not None else " (predicted)")
        held += " (asked for less)" if pool.meets is False else ""
    # What was asked comes first: throughput is not what such a pool was chosen for.
    parts = [held] if pool.reason in {"objective", "unsure"} and held else [share_words(pool), *([held] if held else [])]
    if pool.memory_kib is not None:
        parts.append(mib(pool.memory_kib))
    at_least = "at least " if kind in HELPERS_FULL and pool.reason in {"knee", "cap"} else ""
    twice = twice_words(found)
    return f"{at_least}{count(pool.workers, 'worker')}: {', '.join(parts)}" + (f"; {twice}" if twice else "")


def share_words(pool: RecommendedPool) -> str:
    """What part of the best throughput a pool has, its interval where there is one."""
    if pool.reason == "cap":
        return "the most that a limit allows" + ("" if pool.per_s is None else f", {rate(pool.per_s.value)} requests/s")
    share = pool.share
    if share is None:
        return "throughput not confirmed yet" if pool.per_s is None else f"{rate(pool.per_s.value)} requests/s"
    if share.low is None or share.high is None:
        return f"{100 * min(1.0, share.value):.0f} % of the best throughput"
    low, high = min(1.0, share.low), min(1.0, share.high)
    if round(100 * low) == round(100 * high):
        return "the best throughput" if low == 1.0 else f"{100 * low:.0f} % of the best throughput"
    return f"{100 * low:.0f} to {100 * high:.0f} % of the best throughput"


def twice_words(found: SizeFound) -> str:
    """What cores × 2 would have brought; '' where nobody knows."""
    row = next((each for each in found.confirmed if each.workers == 2 * found.cores), None)
    if row is None or row.over is None:
        return ""
    if row.workers == found.recommended.workers:
        return "that is cores × 2"
    cost = 1.0 - 1.0 / row.over.value
    named = f"{count(row.workers, 'worker')} (cores × 2)"
    if row.over.low is None or row.over.high is None:
        return f"{named}: about the same, without an interval" if abs(cost) < MATTERS else f"{named}: not told apart from that"
    if row.over.low < 1.0 < row.over.high:
        return f"{named}: not told apart from that"
    least, most = sorted(100 * abs(1.0 - 1.0 / end) for end in (row.over.low, row.over.high))
    return f"{named}: {least:.1f} to {most:.1f} % {'fewer' if cost > 0.0 else 'more'} requests/s"


def with_words(row: ConfirmedRow, recommended: int) -> ConfirmedRow:
    """The same with what it says."""
    if row.over is None or row.workers == recommended:
        return row
    share = 1.0 / row.over.value
    if row.over.low is None or row.over.high is None:
        return replace(row, words=f"{100 * share:.0f} % of the recommended pool's throughput")
    low, high = 1.0 / row.over.high, 1.0 / row.over.low
    told = f"{100 * low:.0f} to {100 * high:.0f} % of the recommended pool's throughput"
    return replace(row, words=told + (": not told apart" if low < 1.0 < high else ""))


def _sentences(found: SizeFound, run: SizeRun, kind: str) -> Iterator[str]:
    pool = found.recommended
    yield from _limit_sentences(found, kind)
    yield from _cap_sentences(found)
    yield from _few_sentences(found)
    yield from _own_sentences(found)
    yield from _objective_sentences(pool, run.header.asked)
    yield from _trouble_sentences(found, run)
    if found.idle:
        yield f"Idle workers: {found.idle}."
    for cost in found.costs:
        if cost.max_requests is not None or cost.heavy or len(found.costs) > 1:
            yield f"{cost.label}: {cost.words}."
    chosen = run.last(TargetsChosen)
    if chosen is not None and chosen.left_out:
        yield f"{count(chosen.left_out, 'target')} were not looked at by themselves: less frequent, and cheaper at a first look."
    yield from _memory_sentences(found)
    yield from _other_sentences(run.last(LimitsRead))
    yield from _manager_sentences(found.managers)


def _limit_sentences(found: SizeFound, kind: str) -> Iterator[str]:
    """What is full when the pool is saturated, and whether workers help against it."""
    if not found.limit:
        return
    told = f"When saturated: {found.limit}"
    reason = found.recommended.reason
    if kind == "workers" and reason != "cap":
        # Every pool but the largest has all of its workers busy then.
        return
    if kind in {"php", "all_full", "shared_core"}:
        yield f"{told}. The cores are full: no number of workers helps beyond these."
    elif kind == "database":
        yield f"{told}. The database is the limit here: no number of workers helps beyond these, unless production's has more cores."
    elif kind in HELPERS_FULL:
        yield f"{told}. That is a limit of this measurement: on more cores a larger pool may do more."
    else:
        yield f"{told}."


def _shares_the_generators_core(found: SizeFound, run: SizeRun) -> bool:
    """Whether the database needs much of the one core that it has together with an open loop's
    generator."""
    host, visits = run.last(SizeHost), open_visits(run, found.recommended.workers)
    wall_ns = sum(visit.cpu.wall_ns for visit in visits)
    used_ns = sum((visit.cpu.database_ns or 0) + sum(visit.cpu.services_ns.values()) for visit in visits)
    return host is not None and len(host.host.helper_cores) == 1 and wall_ns > 0 and used_ns >= MUCH * wall_ns


def _trouble_sentences(found: SizeFound, run: SizeRun) -> Iterator[str]:
    """Failed requests, visits that do not count, pools that were stopped, limits that could not be
    read, managers that failed."""
    failed = [f"{row.failed:,} with {count(row.workers, 'worker')}" for row in found.pools if row.failed]
    failed += [f"{row.failed:,} with {count(row.workers, 'worker')}" for row in found.confirmed if row.failed]
    if failed:
        yield f"Requests without a valid answer: {', '.join(dict.fromkeys(failed))}."
    if found.recommended.failed:
        yield f"At {rate(found.recommended.rate_per_s)}/s {part(found.recommended.failed)} of the requests got no valid answer."
    if _shares_the_generators_core(found, run):
        yield (
            "The database shares a core with the load generator, which keeps it busy while it waits for what is due next: "
            "response times at a rate come out too long here. Measure on more cores."
        )
    excluded = sum(row.excluded for row in found.confirmed) + sum(bool(row.excluded) for row in found.pools)
    if excluded:
        yield f"{count(excluded, 'visit')} did not count, for steal or a late generator."
    for each in run.all_of(Stopped):
        left = f"only {each.free_kib // 1024} MiB of memory were left"
        yield f"A pool of {count(each.workers, 'worker')} was stopped: {left}. No larger one was tried."
    limits = run.last(LimitsRead)
    for limit in limits.limits if limits is not None else ():
        if limit.unread:
            yield f"A limit could not be read: {limit.unread}."
    for one in run.all_of(ManagerFailed):
        if not any(row.manager == one.manager for row in found.managers):
            yield f"pm = {one.manager} could not be tried: {one.why}."


def _cap_sentences(found: SizeFound) -> Iterator[str]:
    """Which limit decided, where one did."""
    known = [row for row in found.limits if row.workers is not None]
    tightest = min(known, key=lambda row: row.workers or 0, default=None)
    if found.recommended.reason == "cap" and tightest is not None:
        yield f"A limit decides: {KINDS[tightest.kind]} allows {count(tightest.workers or 0, 'worker')} ({tightest.source})."


def _few_sentences(found: SizeFound) -> Iterator[str]:
    """Says that no more workers than cores leave nothing for requests that were not measured."""
    pool = found.recommended
    if pool.reason == "knee" and pool.workers <= found.cores:
        waiting = "a request that waits (for an API, a lock, a slow page that was not measured) leaves a core idle"
        yield f"With no more workers than cores, {waiting}: one or two more cost memory and hardly anything else."


def _own_sentences(found: SizeFound) -> Iterator[str]:
    """What the number of workers of the control does."""
    row = next((each for each in found.confirmed if "yours" in each.what), None)
    if row is None:
        return
    if row.workers == found.recommended.workers:
        yield f"Your {count(row.workers, 'worker')} are what is recommended."
    elif row.words:
        memory = f", {mib(row.memory_kib)}" if row.memory_kib is not None else ""
        yield f"Your {count(row.workers, 'worker')}: {row.words}{memory}."


def predicted_words(pool: RecommendedPool) -> str:
    """The response time that was predicted, beside the one that was measured; '' without a
    prediction."""
    if pool.predicted_p99_ms is None:
        return ""
    at, predicted = f"p99 at {rate(pool.rate_per_s)}/s", span(pool.predicted_p99_ms)
    if pool.p99_ms is None:
        why = "the load generator was late, or too few requests were answered"
        return f"{at} is predicted as {predicted}; it could not be measured ({why})."
    if pool.within is False:
        what = f"{at} was predicted as {predicted}, and {span(pool.p99_ms)} was measured: only that counts"
        return f"The prediction of response times fails for this app: {what}."
    agree = "they agree" if pool.within else "too unsure to be compared"
    return f"{at} was predicted as {predicted} and measured as {span(pool.p99_ms)}: {agree}."


def _objective_sentences(pool: RecommendedPool, asked: SizeRequest) -> Iterator[str]:
    objective = asked.objective
    if objective.rate_per_s is not None:
        wanted = f"{rate(objective.rate_per_s)} requests/s ({objective.rate_from})"
        wanted += f" with p99 within {ms(objective.p99_s * 1e3)}" if objective.p99_s is not None else ""
        if pool.reason == "nothing":
            yield f"No number of workers holds {wanted} here: {count(pool.workers, 'worker')} are what throughput asks for."
        elif pool.reason == "unsure" and pool.meets is None:
            yield f"{wanted}: {count(pool.workers, 'worker')} are predicted to hold it, but not for certain."
        elif pool.meets is not None:
            yield f"{wanted}: {'held' if pool.meets else 'not held for certain'} when it was measured."
    elif objective.p99_s is not None and pool.holds_to_per_s is not None:
        wanted = f"p99 within {ms(objective.p99_s * 1e3)}"
        if pool.holds_to_per_s:
            yield f"{wanted} is predicted to hold up to about {rate(pool.holds_to_per_s)} requests/s."
        else:
            yield f"{wanted} is not predicted to hold at any rate that was looked at."
    yield from filter(None, [predicted_words(pool)])
    if pool.waits is not None:
        yield f"At that rate {part(pool.waits)} of the requests find all workers busy (queue model)."


def _memory_sentences(found: SizeFound) -> Iterator[str]:
    pool = found.recommended
    row = next((each for each in found.limits if each.kind == "memory"), None)
    if pool.memory_kib is None or row is None or row.value is None:
        return
    share = pool.memory_kib / row.value
    yield f"Memory: {mib(pool.memory_kib)} under load, {part(share)} of {mib(row.value)} ({row.source})."


def _other_sentences(limits: LimitsRead | None) -> Iterator[str]:
    """What other pools take of the memory."""
    if limits is not None and limits.others:
        names = ", ".join(f"{name} {mib(kib)}" for name, kib in limits.others.items())
        yield f"Of the memory others may take {mib(sum(limits.others.values()))} ({names})."


def _manager_sentences(managers: tuple[ManagerRow, ...]) -> Iterator[str]:
    static = next((row for row in managers if row.manager == "static"), None)
    if static is None:
        return
    for row in managers:
        if row.manager == "static":
            continue
        each = "" if row.forks_per_s is None else f"{row.forks_per_s:.2g}"
        grown = f", started {each} worker{'' if each == '1' else 's'} a second" if each else ""
        failed = f", {count(row.failed, 'request')} failed" if row.failed else ""
        saved = ""
        if row.idle_kib is not None and static.idle_kib is not None and static.idle_kib - row.idle_kib >= MIB:
            saved = f"; it holds {mib(static.idle_kib - row.idle_kib)} less while idle"
        burst = f"in a burst of {row.requests:,} requests ({rate(row.rate_per_s)}/s) after an idle spell"
        yield f"pm = {row.manager}: p99 {ms(row.p99_ms)} {burst}, static {ms(static.p99_ms)}{grown}{failed}{saved}."


def manager_cells(row: ManagerRow) -> tuple[str, ...]:
    """One manager as a row of a table: first answer, p50, p99, failed, workers started, a second,
    memory while idle."""
    return (
        row.manager,
        ms_or_none(row.first_ms),
        ms(row.p50_ms),
        ms(row.p99_ms),
        str(row.failed),
        str(row.forks),
        NOTHING if row.forks_per_s is None else f"{row.forks_per_s:.2g}",
        NOTHING if row.idle_kib is None else mib(row.idle_kib),
    )


# ---- numbers ------------------------------------------------------------------------------------


def ms(value: float) -> str:
    """Milliseconds as people read them: `0.82 ms`, `41 ms`, `14 s`."""
    if value >= 10_000.0:
        return f"{value / 1e3:.0f} s"
    return f"{value:,.0f} ms" if value >= 10.0 else f"{value:.2g} ms"


def mib(kib: float) -> str:
    """KiB as MiB, or GiB from ten of them on."""
    return f"{kib / 1024:.0f} MiB" if kib < 10 << 20 else f"{kib / (1 << 20):.1f} GiB"


def span(figure: Estimate) -> str:
    """`41 ms (38 to 44 ms)`."""
    if figure.low is None:
        return ms(figure.value)
    if figure.high is None:
        return f"{ms(figure.value)} ({ms(figure.low)} or more)"
    return f"{ms(figure.value)} ({ms(figure.low)} to {ms(figure.high)})"


def ms_or_none(value: float | None) -> str:
    """The same, `failed` without one."""
    return "failed" if value is None else ms(value)


def rate(value: float) -> str:
    """Requests per second: three digits below a thousand."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def part(share: float) -> str:
    """A share for people: `22 %`, `0.4 %`, `below 0.1 %`."""
    if 0.0 < share < 0.001:
        return "below 0.1 %"
    return f"{100 * share:.{1 if share < 0.0095 else 0}f} %"
